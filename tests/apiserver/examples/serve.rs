//! Serves the API until the process is ended: `serve [PORT] [--bare]`.
//!
//! With a pretend kubelet, and everybody an administrator; or bare, as recorded cases expect a
//! server: without controllers, with the tokens `admintoken` and `weaktoken`.

use std::net::SocketAddr;

use sanskube_apiserver::kubelet::KubeletConfig;
use sanskube_apiserver::{Config, Server, ServerConfig, Token};

fn main() -> std::io::Result<()> {
    let bare = std::env::args().any(|a| a == "--bare");
    let port = std::env::args().nth(1).and_then(|p| p.parse().ok()).unwrap_or(8001);
    let token = |token: &str, user: &str, admin| Token { token: token.to_owned(), user: user.to_owned(), admin };
    let api = if bare {
        let tokens = vec![token("admintoken", "admin", true), token("weaktoken", "weak", false)];
        Config {
            garbage_collector: false,
            namespace_controller: false,
            quota_controller: false,
            tokens,
            ..Config::default()
        }
    } else {
        Config::default()
    };
    let config = ServerConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], port)),
        api,
        kubelet: (!bare).then(KubeletConfig::default),
        ..ServerConfig::default()
    };
    let server = Server::start(config)?;
    println!("kubectl --server {} get pods --all-namespaces", server.url());
    loop {
        std::thread::park();
    }
}

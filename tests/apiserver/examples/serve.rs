//! Serves the API with a pretend kubelet until the process is ended: `serve [PORT]`.

use std::net::SocketAddr;

use sanskube_apiserver::kubelet::KubeletConfig;
use sanskube_apiserver::{Server, ServerConfig};

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|p| p.parse().ok()).unwrap_or(8001);
    let config = ServerConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], port)),
        kubelet: Some(KubeletConfig::default()),
        ..ServerConfig::default()
    };
    let server = Server::start(config)?;
    println!("kubectl --server {} get pods --all-namespaces", server.url());
    loop {
        std::thread::park();
    }
}

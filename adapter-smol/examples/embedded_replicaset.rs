//! The ReplicaSet controller inside a program that does other things on smol too: here, a page that says how many pods there are.
//! `cargo run -p sanskube-smol --example embedded_replicaset -- http://127.0.0.1:8080 127.0.0.1:9090`

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_io::Async;
use futures_lite::{AsyncWriteExt as _, future};
use sanskube::manager::{Config, Manager};
use sanskube_smol::{Driver, Server, Stopper};

/// A program with two tasks: the controller, and a server for people who wonder.
#[derive(Debug)]
pub struct Program {
    driver: Driver,
    page: Async<TcpListener>,
    pods: Arc<AtomicUsize>,
}

impl Program {
    /// Listens for those who wonder.
    pub fn new(api: &str, page: SocketAddr) -> std::io::Result<Self> {
        Ok(Self {
            driver: Driver::new(Server::new(api), 16),
            page: Async::<TcpListener>::bind(page)?,
            pods: Arc::default(),
        })
    }

    /// Where the page is, and what stops the program.
    pub fn handles(&self) -> std::io::Result<(SocketAddr, Stopper)> {
        Ok((self.page.get_ref().local_addr()?, self.driver.stopper()))
    }

    /// Does both on the thread that polls it, until the controller has stopped.
    pub async fn run(self) -> std::io::Result<()> {
        let Self { driver, page, pods } = self;
        let counted = pods.clone();
        let controller = async move {
            let mut manager = Manager::new(&Config::default());
            driver.run(&mut manager, |manager, _| counted.store(manager.pods().len(), Ordering::Relaxed)).await;
            Ok(())
        };
        let server = async move {
            loop {
                let (mut visitor, _) = page.accept().await?;
                let text = format!("{} pods\n", pods.load(Ordering::Relaxed));
                let answer = format!("HTTP/1.0 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len());
                visitor.write_all(answer.as_bytes()).await?;
            }
        };
        future::or(controller, server).await
    }
}

#[allow(dead_code, reason = "the tests use the rest")]
fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().expect("usage: embedded_replicaset API PAGE");
    let (api, page) = (next(), next().parse().expect("an address such as 127.0.0.1:9090"));
    smol::block_on(Program::new(&api, page)?.run())
}

//! The minimal controller on smol: what `sanskube run` of the blocking adapter is, without its options.
//! `cargo run -p sanskube-smol --features kubeconfig --example controller [-- http://127.0.0.1:8080]`

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use sanskube::manager::{Config, Manager};
use sanskube_smol::access::{Environment, Wish};
use sanskube_smol::{Driver, Server};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wish = Wish { server: std::env::args().nth(1), ..Wish::default() };
    let server = Server::from(wish.find(&Environment::read())?);
    println!("controllers of ReplicaSets at {}", server.url);
    let driver = Driver::new(server, 16);
    let (stopper, mut signals) = (driver.stopper(), Signals::new([SIGINT, SIGTERM])?);
    std::thread::spawn(move || signals.forever().for_each(|_| stopper.stop()));
    let seed = RandomState::new().build_hasher().finish();
    let mut manager = Manager::new(&Config { seed, ..Config::default() });
    futures_lite::future::block_on(driver.run(&mut manager, |_, _| {}));
    println!("stopped");
    Ok(())
}

//! The minimal controller on smol: what `sanskube run` of the blocking adapter is, without its options.
//! `cargo run -p sanskube-smol --features kubeconfig --example controller [-- http://127.0.0.1:8080]`

use std::error::Error;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use futures_lite::future;
use sanskube::manager::{Config, Manager};
use sanskube_smol::access::{Environment, Wish};
use sanskube_smol::{Driver, Stopper};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Controls the ReplicaSets of the cluster that is wished for. Whoever is to stop that is told how.
pub fn control(wish: &Wish, tell: impl FnOnce(Stopper)) -> Result<(), Box<dyn Error>> {
    let server = wish.find(&Environment::read())?;
    println!("controllers of ReplicaSets at {}", server.url);
    let driver = Driver::new(server, 16);
    tell(driver.stopper());
    let seed = RandomState::new().build_hasher().finish();
    let mut manager = Manager::new(&Config { seed, ..Config::default() });
    future::block_on(driver.run(&mut manager, |_, _| {}));
    println!("stopped");
    Ok(())
}

#[allow(dead_code, reason = "the tests use the rest")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    control(&Wish { server: std::env::args().nth(1), ..Wish::default() }, |stopper| {
        std::thread::spawn(move || signals.forever().for_each(|_| stopper.stop()));
    })
}

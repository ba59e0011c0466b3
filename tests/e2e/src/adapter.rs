//! Both adapters behind one function, so that one suite tests both.

use sanskube::machine::Machine;

/// Drives a machine against the server at this URL until it has stopped.
pub type Drive<M> = fn(url: &str, machine: &mut M);

/// Both adapters, by name.
pub fn adapters<M: Machine>() -> [(&'static str, Drive<M>); 2] {
    [("blocking", blocking), ("smol", smol)]
}

fn blocking<M: Machine>(url: &str, machine: &mut M) {
    let server = sanskube_blocking::Server::new(url);
    sanskube_blocking::Driver::new(server, 2).expect("threads can be started").run(machine, |_, _| {});
}

fn smol<M: Machine>(url: &str, machine: &mut M) {
    let driver = sanskube_smol::Driver::new(sanskube_smol::Server::new(url), 2);
    futures_lite::future::block_on(driver.run(machine, |_, _| {}));
}

//! A wire between a client and a server that can be cut, or that falls silent without being cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

/// A wire: what comes in at its own address goes to the server's, and back.
#[derive(Debug)]
pub struct Relay {
    /// `http://127.0.0.1:PORT`, the client's end.
    pub url: String,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Both ends of each connection there was, and whether it still carries anything.
    connections: Mutex<Vec<[TcpStream; 2]>>,
    /// Connections up to this number are silent.
    silent: AtomicUsize,
}

impl Relay {
    /// A wire to the server at this address.
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let url = format!("http://{}", listener.local_addr().expect("the socket is bound"));
        let shared = Arc::<Shared>::default();
        let ours = shared.clone();
        // Ends with the test's process.
        spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(server) else { continue };
                let copies = |stream: &TcpStream| stream.try_clone().expect("a socket can be cloned");
                let mut connections = ours.connections.lock().expect("nobody panics meanwhile");
                let number = connections.len() + 1;
                connections.push([copies(&client), copies(&server)]);
                drop(connections);
                for (from, to) in [(copies(&client), copies(&server)), (server, client)] {
                    let shared = ours.clone();
                    spawn(move || carry(number, from, to, &shared));
                }
            }
        });
        Self { url, shared }
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        for stream in self.shared.connections.lock().expect("nobody panics meanwhile").iter().flatten() {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Carries nothing on the connections that there are, in neither direction, and does not close them. New ones work.
    pub fn silence(&self) {
        let connections = self.shared.connections.lock().expect("nobody panics meanwhile").len();
        self.shared.silent.store(connections, Ordering::SeqCst);
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.shared.connections.lock().expect("nobody panics meanwhile").len()
    }
}

fn carry(number: usize, mut from: TcpStream, mut to: TcpStream, shared: &Shared) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if number > shared.silent.load(Ordering::SeqCst) && to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    if number > shared.silent.load(Ordering::SeqCst) {
        let _ = to.shutdown(Shutdown::Both);
    }
}

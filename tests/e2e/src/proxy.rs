//! A proxy between a program and its server that can stop to pass anything on.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// How long a silent connection is waited for before the switches are looked at again.
const TICK: Duration = Duration::from_millis(20);

/// Passes bytes on, both ways, until it is told not to.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    switches: Arc<Switches>,
}

#[derive(Debug, Default)]
struct Switches {
    accepted: AtomicUsize,
    /// Nothing is passed on while this holds, on any connection.
    frozen: AtomicBool,
    /// The connections that there are.
    connections: Mutex<Vec<Connection>>,
}

#[derive(Debug)]
struct Connection {
    /// Whether it is open, but never passes anything on again.
    dead: Arc<AtomicBool>,
    ends: [TcpStream; 2],
}

impl Proxy {
    /// A proxy before the server at this address.
    pub fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("the socket is bound");
        let switches = Arc::<Switches>::default();
        let ours = Arc::clone(&switches);
        spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                switches.accepted.fetch_add(1, Ordering::Relaxed);
                let Ok(upstream) = TcpStream::connect(server) else { continue };
                let dead = Arc::<AtomicBool>::default();
                let (Ok(near), Ok(far)) = (client.try_clone(), upstream.try_clone()) else { continue };
                let connection = Connection { dead: Arc::clone(&dead), ends: [near, far] };
                switches.connections().push(connection);
                for (from, to) in [(&client, &upstream), (&upstream, &client)] {
                    let (from, to) = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = (from, to) else { continue };
                    let (switches, dead) = (Arc::clone(&switches), Arc::clone(&dead));
                    spawn(move || pass(from, to, &switches, &dead));
                }
            }
        });
        Self { address, switches: ours }
    }

    /// Where a program is to connect.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many connections there were so far.
    pub fn accepted(&self) -> usize {
        self.switches.accepted.load(Ordering::Relaxed)
    }

    /// Passes nothing on any more, or again. Connections can be made all the same, as to a process that is stopped.
    pub fn set_frozen(&self, frozen: bool) {
        self.switches.frozen.store(frozen, Ordering::Relaxed);
    }

    /// Leaves every connection that there is half open: nothing comes through it again, and it never ends.
    pub fn leave_half_open(&self) {
        for connection in self.switches.connections().drain(..) {
            connection.dead.store(true, Ordering::Relaxed);
        }
    }

    /// Closes every connection that there is.
    pub fn cut(&self) {
        for end in self.switches.connections().drain(..).flat_map(|connection| connection.ends) {
            // It may be closed already.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Switches {
    fn connections(&self) -> MutexGuard<'_, Vec<Connection>> {
        // Nothing can panic while the lock is held.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, switches: &Switches, dead: &AtomicBool) {
    let _ = from.set_read_timeout(Some(TICK));
    let mut bytes = [0; 16 << 10];
    loop {
        if switches.frozen.load(Ordering::Relaxed) || dead.load(Ordering::Relaxed) {
            sleep(TICK);
            continue;
        }
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(length) => {
                while switches.frozen.load(Ordering::Relaxed) {
                    sleep(TICK);
                }
                // What came while it died is lost with it.
                if dead.load(Ordering::Relaxed) {
                    continue;
                }
                if to.write_all(&bytes[..length]).is_err() {
                    break;
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(_) => break,
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

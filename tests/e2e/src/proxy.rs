//! A proxy between a program and its server that can stop to pass anything on.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
    /// The connections that there are, each with what becomes of it.
    connections: Mutex<Vec<Arc<AtomicU8>>>,
}

/// It passes bytes on.
const ALIVE: u8 = 0;
/// It is to be closed on both sides.
const CUT: u8 = 1;
/// It is open, but never passes anything on again.
const DEAD: u8 = 2;

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
                let fate = Arc::new(AtomicU8::new(ALIVE));
                switches.connections.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&fate));
                for (from, to) in [(&client, &upstream), (&upstream, &client)] {
                    let (from, to) = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = (from, to) else { continue };
                    let (switches, fate) = (Arc::clone(&switches), Arc::clone(&fate));
                    spawn(move || pass(from, to, &switches, &fate));
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
        self.decide(DEAD);
    }

    /// Closes every connection that there is, whatever is under way.
    pub fn cut(&self) {
        self.decide(CUT);
    }

    fn decide(&self, fate: u8) {
        for connection in self.switches.connections.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            connection.store(fate, Ordering::Relaxed);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, switches: &Switches, fate: &AtomicU8) {
    let _ = from.set_read_timeout(Some(TICK));
    let mut bytes = [0; 16 << 10];
    loop {
        match fate.load(Ordering::Relaxed) {
            CUT => break,
            ALIVE if !switches.frozen.load(Ordering::Relaxed) => {}
            _ => {
                sleep(TICK);
                continue;
            }
        }
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(length) => {
                while switches.frozen.load(Ordering::Relaxed) {
                    sleep(TICK);
                }
                if to.write_all(&bytes[..length]).is_err() {
                    break;
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(_) => break,
        }
    }
    let both = fate.load(Ordering::Relaxed) == CUT;
    let _ = to.shutdown(if both { Shutdown::Both } else { Shutdown::Write });
}

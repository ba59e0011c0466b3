//! A forwarder between a client and a server that holds back every request of one method, so that its answer never comes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::spawn;

/// Starts a forwarder to `server`. Returns its URL, and where each request that is held back is told of.
pub fn hold_back(method: &'static str, server: SocketAddr) -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    let url = format!("http://{}", listener.local_addr().expect("the socket is bound"));
    let (held, told) = channel();
    spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let server = TcpStream::connect(server).expect("the server listens");
            let (answers, to_client) = (copy_of(&server), copy_of(&client));
            let held = held.clone();
            spawn(move || forward(client, server, |bytes| bytes.starts_with(method.as_bytes()), Some(&held)));
            spawn(move || forward(answers, to_client, |_| false, None));
        }
    });
    (url, told)
}

fn copy_of(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("there are descriptors left")
}

/// Passes bytes on until either end closes its connection, or until `stop` says so of a piece: then nothing more is passed on. A client writes the head of
/// a request in one piece.
fn forward(mut from: TcpStream, mut to: TcpStream, stop: impl Fn(&[u8]) -> bool, held: Option<&Sender<()>>) {
    let mut piece = [0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        if stop(&piece[..length]) {
            // The test may have seen enough.
            let _ = held.map(|held| held.send(()));
            while let Ok(1..) = from.read(&mut piece) {}
            break;
        }
        if to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    // They may be closed already.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

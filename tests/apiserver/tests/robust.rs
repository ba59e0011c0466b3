//! What strangers send to the HTTP front: nonsense, too much, too slowly, or nothing at all.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sanskube_apiserver::{Server, ServerConfig};

/// Waits until something holds; it will, however busy the machine is.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server works if it answers a newcomer, and has let go of the others.
fn works(server: &Server) {
    let answer = talk(server, b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert!(answer.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&answer));
    wait_until("every connection is closed", || server.open_connections() == 0);
    assert_eq!(server.with_api(|api, _| api.open_watches()), 0);
}

/// Sends bytes and nothing more, and reads what comes until the end.
fn talk(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.addr()).expect("the server listens");
    // The server may close before it has read all: that is an answer too.
    let _ = stream.write_all(bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Numbers without a pattern, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).expect("it is below a usize")
    }
}

const REQUESTS: [&str; 6] = [
    "GET /api/v1/pods?watch=1&timeoutSeconds=1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    "GET /api/v1/namespaces/default/pods?limit=3&labelSelector=a%3Db HTTP/1.1\r\nhost: x\r\naccept: application/json;as=Table;g=meta.k8s.io;v=v1\r\n\r\n",
    "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 25\r\n\r\n{\"metadata\":{\"name\":\"a\"}}",
    "POST /api/v1/namespaces/default/pods HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n3\r\n1}\n\r\n0\r\n\r\n",
    "PATCH /apis/apps/v1/namespaces/default/replicasets/a?fieldManager=m HTTP/1.1\r\nhost: x\r\ncontent-type: application/apply-patch+yaml\r\ncontent-length: 12\r\n\r\nkind: [a, b]",
    "DELETE /api/v1/namespaces/default/pods/a HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}",
];

#[test]
fn bytes_at_random_and_requests_gone_bad_get_an_error_or_a_close() {
    let config = ServerConfig { request_deadline: Duration::from_secs(5), ..ServerConfig::default() };
    let server = Server::start(config).expect("a port is free");
    let mut numbers = Numbers(7);
    for round in 0..600 {
        let mut bytes: Vec<u8> = if round % 3 == 0 {
            (0..numbers.below(300)).map(|_| numbers.next().to_le_bytes()[0]).collect()
        } else {
            REQUESTS[numbers.below(REQUESTS.len())].as_bytes().to_vec()
        };
        for _ in 0..numbers.below(6) {
            let at = numbers.below(bytes.len());
            match numbers.below(4) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => bytes[at] = numbers.next().to_le_bytes()[0],
                2 => bytes.insert(at, numbers.next().to_le_bytes()[0]),
                _ => bytes.extend_from_within(at..),
            }
        }
        let answer = talk(&server, &bytes);
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 "),
            "{bytes:?}: {}",
            String::from_utf8_lossy(&answer)
        );
    }
    works(&server);
}

#[test]
fn a_body_that_is_promised_too_large_is_refused_before_it_comes() {
    let server = Server::start(ServerConfig::default()).expect("a port is free");
    for length in ["100000000000", "18446744073709551615"] {
        let head = format!("POST /api/v1/namespaces/default/pods HTTP/1.1\r\ncontent-length: {length}\r\n\r\n");
        let answer = talk(&server, head.as_bytes());
        assert!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    }
    works(&server);
}

#[test]
fn a_body_without_an_end_is_cut_off() {
    let config = ServerConfig { request_deadline: Duration::from_secs(30), ..ServerConfig::default() };
    let server = Server::start(config).expect("a port is free");
    let mut stream = TcpStream::connect(server.addr()).expect("the server listens");
    stream
        .write_all(b"POST /api/v1/namespaces/default/pods HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")
        .expect("it reads");
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x1_0000], b"\r\n"].concat();
    let mut sent = 0usize;
    // Far beyond what it drains it must have stopped reading.
    while stream.write_all(&chunk).is_ok() {
        sent += chunk.len();
        assert!(sent < 256 << 20, "it reads on and on");
    }
    drop(stream);
    works(&server);
}

#[test]
fn a_hundred_slow_loris_get_a_timeout_each() {
    let config = ServerConfig { request_deadline: Duration::from_millis(100), ..ServerConfig::default() };
    let server = Server::start(config).expect("a port is free");
    let begin = |_| {
        let mut stream = TcpStream::connect(server.addr()).expect("the server listens");
        stream.write_all(b"GET /api/v1/pods HTTP/1.1\r\nhost:").expect("it reads");
        stream
    };
    let streams: Vec<TcpStream> = (0..100).map(begin).collect();
    for mut stream in streams {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        assert!(answer.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer));
    }
    works(&server);
}

#[test]
fn ten_thousand_idle_connections_cost_little_and_stall_nobody() {
    const IDLE: usize = 10_000;
    let server = Server::start(ServerConfig::default()).expect("a port is free");
    let before = resident();
    // In a process of their own, since one process may not have the files for both ends.
    let mut clients = Command::new(std::env::current_exe().expect("this test has a path"))
        .args(["--exact", "the_clients_of_another_test", "--ignored", "--nocapture"])
        .env("ADDRESS", server.addr().to_string())
        .env("IDLE", IDLE.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts once more");
    wait_until("all are accepted", || server.open_connections() == IDLE);
    let each = resident().saturating_sub(before) / IDLE;
    assert!(each < 4096, "{each} bytes for an idle connection");
    let answer = talk(&server, b"GET /api/v1/pods HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    drop(clients.stdin.take());
    assert!(clients.wait().expect("it ends").success());
    works(&server);
}

/// Opens connections and then says nothing, until its input ends.
#[test]
#[ignore = "a part of ten_thousand_idle_connections_cost_little_and_stall_nobody"]
fn the_clients_of_another_test() {
    const THREADS: usize = 20;
    let variable = |name: &str| std::env::var(name).expect("the other test sets it");
    let (address, idle): (_, usize) = (variable("ADDRESS"), variable("IDLE").parse().expect("it is a number"));
    // Each has asked for something before it idles, so that no more wait to be accepted than there are threads.
    let one = move |_| {
        let mut stream = TcpStream::connect(&address).expect("the server listens");
        stream.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").expect("it reads");
        assert!(stream.read(&mut [0; 1024]).expect("it answers") > 0);
        stream
    };
    let open = move || (0..idle / THREADS).map(one).collect::<Vec<_>>();
    let threads: Vec<_> = (0..THREADS).map(|_| std::thread::spawn(open.clone())).collect();
    let connections: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("it connects")).collect();
    let _ = std::io::stdin().read(&mut [0]);
    drop(connections);
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<usize>().ok()).unwrap_or(0) * 1024
}

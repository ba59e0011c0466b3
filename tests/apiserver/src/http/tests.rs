use std::io::{Read, Write};
use std::net::TcpStream;

use super::{Server, ServerConfig};

/// Sends bytes on a new connection that closes after one answer, and returns all of it.
fn talk(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    String::from_utf8_lossy(&answer).into_owned()
}

fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

#[test]
fn an_object_is_made_and_read_over_a_socket() {
    let server = Server::start(ServerConfig::default()).unwrap();
    let path = "/api/v1/namespaces/default/configmaps";
    let made = talk(&server, &request("POST", path, r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#));
    assert!(made.starts_with("HTTP/1.1 201 Created\r\n"), "{made}");
    let read = talk(&server, &request("GET", &format!("{path}/a"), ""));
    assert!(read.contains(r#""data":{"k":"v"}"#), "{read}");
    server.stop();
}

#[test]
fn a_connection_is_kept_for_the_next_request() {
    let server = Server::start(ServerConfig::default()).unwrap();
    let one = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".to_owned();
    let answers = talk(&server, &[one.as_bytes(), &request("GET", "/livez", "")].concat());
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
}

#[test]
fn a_watch_streams_what_happens_in_process() {
    let server = Server::start(ServerConfig::default()).unwrap();
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    let target = "/api/v1/namespaces/default/configmaps?watch=1";
    stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
    let mut seen = String::new();
    let mut buffer = [0; 4096];
    while !seen.contains("transfer-encoding: chunked\r\n\r\n") {
        let n = stream.read(&mut buffer).unwrap();
        seen.push_str(&String::from_utf8_lossy(&buffer[..n]));
    }
    server.with_api(|api, now| {
        let body = r#"{"metadata":{"name":"b"}}"#;
        let request =
            crate::Request::new("POST", "/api/v1/namespaces/default/configmaps").with_body("application/json", body);
        api.handle_request(now, &request);
    });
    while !seen.contains("\"ADDED\"") {
        let n = stream.read(&mut buffer).unwrap();
        assert_ne!(n, 0, "the stream ended: {seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..n]));
    }
}

#[test]
fn a_chunked_body_is_read() {
    let server = Server::start(ServerConfig::default()).unwrap();
    let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let body = "10\r\n{\"metadata\":{\"na\r\nb\r\nme\":\"ch\"}}\n\r\n0\r\n\r\n";
    let answer = talk(&server, format!("{head}{body}").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[test]
fn a_body_that_is_too_large_is_refused_in_words() {
    let server = Server::start(ServerConfig::default()).unwrap();
    let body = format!(r#"{{"metadata":{{"name":"big"}},"data":{{"k":"{}"}}}}"#, "x".repeat(3_300_000));
    let answer = talk(&server, &request("POST", "/api/v1/namespaces/default/configmaps", &body));
    assert!(answer.starts_with("HTTP/1.1 413"), "{}", &answer[..200.min(answer.len())]);
    assert!(answer.contains("limit is 3145728"));
}

#[test]
fn a_client_that_expects_a_continue_gets_it() {
    let server = Server::start(ServerConfig::default()).unwrap();
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    let body = r#"{"metadata":{"name":"c"}}"#;
    let head = format!(
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut buffer = [0; 25];
    stream.read_exact(&mut buffer).unwrap();
    assert_eq!(&buffer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[test]
fn a_slow_loris_is_closed() {
    let config = ServerConfig { request_deadline: std::time::Duration::from_millis(50), ..ServerConfig::default() };
    let server = Server::start(config).unwrap();
    let answer = talk(&server, b"GET / HT");
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[test]
fn random_bytes_are_refused() {
    let server = Server::start(ServerConfig::default()).unwrap();
    let answer = talk(&server, b"\x00\x01\x02 nonsense\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let twice = b"POST /api HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc";
    assert!(talk(&server, twice).starts_with("HTTP/1.1 400"));
}

#[test]
fn stopping_ends_open_watches() {
    let server = Server::start(ServerConfig::default()).unwrap();
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.write_all(b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut buffer = [0; 16];
    stream.read_exact(&mut buffer).unwrap();
    server.stop();
    let mut rest = Vec::new();
    drop(stream.read_to_end(&mut rest));
}

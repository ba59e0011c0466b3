//! One suite for both adapters: the same script, the same calls, the same answers, the same requests on the wire.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use sanskube::request::{Encoding, Failure, Head, Method};
use sanskube_e2e::adapter::adapters;
use sanskube_e2e::probe::Probe;
use sanskube_e2e::script::{Script, Sight, Step};

const OK: Option<Head> = Some(Head::new(200));

/// Plays the script with each adapter, lets `check` look at what came back, and compares the requests of both.
fn play(steps: &[Step], probe: fn() -> Probe, check: impl Fn(&Probe)) -> Vec<Sight> {
    play_on(steps, |_| probe(), check)
}

/// As [`play`], with calls that depend on what the server does.
fn play_on(steps: &[Step], probe: impl Fn(&Script) -> Probe, check: impl Fn(&Probe)) -> Vec<Sight> {
    let [first, second] = adapters().map(|(name, drive)| {
        println!("with the {name} adapter");
        let script = Script::start(steps.to_vec());
        let mut probe = probe(&script);
        drive(&script.url, &mut probe);
        check(&probe);
        script.finish()
    });
    assert_eq!(requests(&first), requests(&second), "both adapters send the same");
    first
}

fn requests(sights: &[Sight]) -> Vec<&Sight> {
    sights.iter().filter(|sight| matches!(sight, Sight::Request(..))).collect()
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

fn chunked(chunks: &[&[u8]], end: &[u8]) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for chunk in chunks {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend(*chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(end);
    bytes
}

#[test]
fn calls_carry_bodies_both_ways_and_share_a_connection() {
    let steps = [
        Step::Answer(answer("200 OK", b"{}")),
        Step::Answer(answer("201 Created", b"made")),
        Step::Answer(answer("404 Not Found", b"")),
        Step::Answer(answer("429 Too Many Requests\r\nretry-after: 7", b"later")),
    ];
    let probe = || {
        Probe::new()
            .call(Method::Get, "/api/v1/pods?limit=500", b"")
            .call(Method::Post, "/api/v1/namespaces/a/pods", b"{\"kind\":\"Pod\"}")
            .call(Method::Delete, "/api/v1/namespaces/a/pods/b", b"{\"kind\":\"DeleteOptions\"}")
            .call(Method::Patch, "/api/v1/namespaces/a/pods/c", b"[]")
    };
    let seen = play(&steps, probe, |probe| {
        assert_eq!((probe.nth(0).head, &probe.nth(0).body[..], probe.nth(0).end), (OK, &b"{}"[..], Some(Ok(()))));
        assert_eq!((probe.nth(1).head.unwrap().status, &probe.nth(1).body[..]), (201, &b"made"[..]));
        assert_eq!((probe.nth(2).head.unwrap().status, probe.nth(2).end), (404, Some(Ok(()))));
        let head = Head { retry_after: Some(Duration::from_secs(7)), ..Head::new(429) };
        assert_eq!((probe.nth(3).head, &probe.nth(3).body[..]), (Some(head), &b"later"[..]));
    });
    assert_eq!(seen.iter().filter(|sight| **sight == Sight::Connected).count(), 1, "{seen:?}");
    let Sight::Request(delete, body) = &seen[3] else { panic!("{seen:?}") };
    assert_eq!(delete[0], "DELETE /api/v1/namespaces/a/pods/b HTTP/1.1");
    assert!(delete.contains(&"content-type: application/json".to_owned()), "{delete:?}");
    assert_eq!(body, b"{\"kind\":\"DeleteOptions\"}");
}

#[test]
fn answers_are_asked_for_and_told_in_what_they_are_written_in() {
    const TYPE: &str = "200 OK\r\ncontent-type: application/vnd.kubernetes.protobuf";
    let steps = [
        // Connections are served one after the other, and a watch may have one of its own.
        Step::AnswerAndClose(answer(&format!("{TYPE}\r\nconnection: close"), b"k8s\0")),
        Step::AnswerAndClose(answer(&format!("{TYPE};stream=watch\r\nconnection: close"), b"")),
        Step::Answer(answer("200 OK\r\ncontent-type: application/json", b"{}")),
        Step::Answer(answer("200 OK", b"{}")),
    ];
    let probe = || {
        Probe::new()
            .call(Method::Get, "/a", b"")
            .accept(Encoding::Protobuf)
            .watch("/b")
            .accept(Encoding::Protobuf)
            .call(Method::Get, "/c", b"")
            .accept(Encoding::Protobuf)
            .call(Method::Get, "/d", b"")
    };
    let seen = play(&steps, probe, |probe| {
        let told: Vec<Encoding> = (0..4).map(|nth| probe.nth(nth).head.unwrap().encoding).collect();
        assert_eq!(told, [Encoding::Protobuf, Encoding::Protobuf, Encoding::Json, Encoding::Json]);
    });
    let accepted: Vec<&str> = requests(&seen)
        .into_iter()
        .map(|sight| {
            let Sight::Request(head, _) = sight else { unreachable!("they are all requests") };
            head.iter().find_map(|line| line.strip_prefix("accept: ")).unwrap()
        })
        .collect();
    let protobuf = "application/vnd.kubernetes.protobuf, application/json";
    assert_eq!(accepted, [protobuf, protobuf, protobuf, "application/json"]);
}

#[test]
fn a_redirect_is_an_answer_and_is_not_followed() {
    let steps = [Step::Answer(answer("307 Temporary Redirect\r\nlocation: /elsewhere", b"go"))];
    play(
        &steps,
        || Probe::new().call(Method::Get, "/", b""),
        |probe| {
            assert_eq!(probe.nth(0).head.unwrap().status, 307);
            assert_eq!(probe.nth(0).end, Some(Ok(())));
        },
    );
}

#[test]
fn a_watch_is_delivered_as_it_comes_and_a_cancel_closes_its_connection() {
    let steps =
        [Step::AnswerAndHold(chunked(&[b"{\"type\":\"ADDED\"}\n"], b"")), Step::Answer(answer("200 OK", b"next"))];
    let probe = || Probe::new().watch_and_cancel("/api/v1/pods?watch=true").call(Method::Get, "/next", b"");
    let seen = play(&steps, probe, |probe| {
        assert_eq!((&probe.nth(0).body[..], probe.nth(0).end), (&b"{\"type\":\"ADDED\"}\n"[..], None));
        assert_eq!(&probe.nth(1).body[..], b"next");
    });
    assert_eq!(seen[2], Sight::HungUp);
    let Sight::Request(watch, _) = &seen[1] else { panic!("{seen:?}") };
    assert!(!watch.iter().any(|header| header.starts_with("accept-encoding")), "{watch:?}");
}

#[test]
fn a_watch_ends_well_at_its_last_chunk_and_badly_without_one() {
    let event = b"{\"type\":\"ADDED\"}\n";
    let steps = [
        Step::Answer(chunked(&[event], b"0\r\n\r\n")),
        Step::AnswerAndClose(chunked(&[event], b"")),
        Step::AnswerAndClose(chunked(&[event], b"40\r\n{\"type\":")),
    ];
    let probe = || Probe::new().watch("/a?watch=true").watch("/b?watch=true").watch("/c?watch=true");
    play(&steps, probe, |probe| {
        assert_eq!((&probe.nth(0).body[..], probe.nth(0).end), (&event[..], Some(Ok(()))));
        assert_eq!((&probe.nth(1).body[..], probe.nth(1).end), (&event[..], Some(Err(Failure::Cut))));
        assert!(probe.nth(2).body.starts_with(event));
        assert_eq!(probe.nth(2).end, Some(Err(Failure::Cut)));
    });
}

#[test]
fn a_compressed_list_is_unpacked() {
    let text = "pods ".repeat(50_000).into_bytes();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&text).unwrap();
    let steps = [Step::Answer(answer("200 OK\r\ncontent-encoding: gzip", &gzip.finish().unwrap()))];
    let seen = play(
        &steps,
        || Probe::new().call(Method::Get, "/list", b""),
        |probe| {
            assert_eq!((probe.nth(0).head, probe.nth(0).end), (OK, Some(Ok(()))));
            assert!(probe.nth(0).body == text);
        },
    );
    let Sight::Request(request, _) = &seen[1] else { panic!("{seen:?}") };
    assert!(request.contains(&"accept-encoding: gzip".to_owned()), "{request:?}");
}

#[test]
fn broken_compression_is_a_lost_answer() {
    let steps = [Step::AnswerAndClose(answer("200 OK\r\ncontent-encoding: gzip", b"this is not gzip at all"))];
    play(
        &steps,
        || Probe::new().call(Method::Get, "/list", b""),
        |probe| {
            assert_eq!(probe.nth(0).end, Some(Err(Failure::Cut)));
        },
    );
}

#[test]
fn a_connection_that_the_server_closed_meanwhile_is_not_used_again() {
    let steps = [Step::AnswerAndClose(answer("200 OK", b"1")), Step::Answer(answer("200 OK", b"2"))];
    let probe = |script: &Script| {
        Probe::new().call(Method::Get, "/1", b"").call(Method::Post, "/2", b"{}").once(script.closed.clone(), 1)
    };
    let seen = play_on(&steps, probe, |probe| {
        assert_eq!((&probe.nth(0).body[..], &probe.nth(1).body[..]), (&b"1"[..], &b"2"[..]));
    });
    assert_eq!(seen.iter().filter(|sight| **sight == Sight::Connected).count(), 2, "{seen:?}");
}

// CASES C-13: a server that wants to be rid of a client says so.
#[test]
fn a_connection_that_the_server_does_not_want_to_keep_is_not_used_again() {
    let busy = answer("429 Too Many Requests\r\nretry-after: 1\r\nconnection: close", b"later");
    let steps = [Step::Answer(busy), Step::Answer(answer("200 OK", b"now"))];
    let probe = || Probe::new().call(Method::Get, "/api/v1/pods", b"").call(Method::Get, "/api/v1/pods", b"");
    let seen = play(&steps, probe, |probe| {
        assert_eq!((probe.nth(0).head.unwrap().status, probe.nth(0).end), (429, Some(Ok(()))));
        assert_eq!((&probe.nth(1).body[..], probe.nth(1).end), (&b"now"[..], Some(Ok(()))));
    });
    assert_eq!(seen.iter().filter(|sight| **sight == Sight::Connected).count(), 2, "{seen:?}");
}

#[test]
fn nobody_listening_is_refused_and_a_close_before_the_answer_is_a_cut() {
    for (name, drive) in adapters() {
        let mut probe = Probe::new().call(Method::Get, "/", b"");
        drive("http://127.0.0.1:1", &mut probe);
        assert_eq!(probe.nth(0).end, Some(Err(Failure::Refused)), "{name}");
        drive("http://no-such-host.invalid", &mut { Probe::new().call(Method::Get, "/", b"") });
    }
    let steps = [Step::AnswerAndClose(b"HTTP/1.1 20".to_vec())];
    play(
        &steps,
        || Probe::new().call(Method::Get, "/", b""),
        |probe| {
            assert_eq!((probe.nth(0).head, probe.nth(0).end), (None, Some(Err(Failure::Cut))));
        },
    );
}

#[test]
fn an_answer_that_is_not_http_is_a_cut() {
    let steps = [Step::AnswerAndClose(b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec())];
    play(
        &steps,
        || Probe::new().call(Method::Get, "/", b""),
        |probe| {
            assert_eq!((probe.nth(0).head, probe.nth(0).end), (None, Some(Err(Failure::Cut))));
        },
    );
}

#[test]
fn a_call_that_never_answers_is_given_up_when_the_machine_says_so() {
    let steps = [Step::AnswerAndHold(Vec::new())];
    let probe = || Probe::new().call(Method::Get, "/", b"").patience(Duration::from_millis(100));
    play(&steps, probe, |probe| assert_eq!((probe.nth(0).head, probe.nth(0).end), (None, None)));
}

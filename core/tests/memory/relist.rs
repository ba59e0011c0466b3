//! What a list costs that tells an informer again what it has.

use std::time::Duration;

use sanskube::informer::Informer;
use sanskube::object::{MetadataOnly, Resource};
use sanskube::reflector::Config;
use sanskube::request::{CallIds, Head};
use sanskube::time::Now;

use crate::counting::{allocated, peak_of};

const OBJECTS: usize = 5_000;
const OK: Head = Head::new(200);

/// The objects, of which every `changed`-th is at another version than the last time.
fn objects(version: u64, changed: usize) -> impl Iterator<Item = String> {
    (0..OBJECTS).map(move |number| {
        let version = if number.is_multiple_of(changed) { version } else { 1 };
        format!(
            r#"{{"metadata":{{"namespace":"shop","name":"web-{number:05}","uid":"7d1c0f5e-0000-4000-8000-{number:012}","resourceVersion":"{version}","labels":{{"app":"web","tier":"front","release":"stable"}},"annotations":{{"note":"{}"}}}},"spec":{{"skipped":[1,2,3]}}}}"#,
            "x".repeat(200)
        )
    })
}

/// All objects as a list, or as a streaming list.
fn body(version: u64, changed: usize, stream: bool) -> Vec<u8> {
    let objects = objects(version, changed);
    if !stream {
        let items: Vec<String> = objects.collect();
        return format!(r#"{{"metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#, items.join(","))
            .into_bytes();
    }
    let mut lines: Vec<String> =
        objects.map(|object| format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n")).collect();
    lines.push(format!(
        "{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{version}\",\"annotations\":{{\"k8s.io/initial-events-end\":\"true\"}}}}}}}}\n"
    ));
    lines.concat().into_bytes()
}

/// Answers the next call with all objects.
fn take(informer: &mut Informer<MetadataOnly>, now: Now, ids: &mut CallIds, body: &[u8], stream: bool) {
    let call = informer.poll_call(now, ids).unwrap();
    assert_eq!(call.watch, stream);
    informer.handle_head(now, call.id, OK).unwrap();
    body.chunks(4096).for_each(|piece| informer.handle_body(now, call.id, piece).unwrap());
    if !stream {
        informer.handle_end(now, call.id).unwrap();
    }
}

/// Fills an informer twice; what it holds, and how much more at the peak of the second time.
fn relist(stream: bool) -> (isize, isize) {
    let (first, second) = (body(1, 1, stream), body(9, 20, stream));
    let mut now = Now::default();
    let mut ids = CallIds::default();
    let start = allocated();
    let config = Config { watch_list: stream, ..Config::new(Resource::PODS) };
    let mut informer = Informer::<MetadataOnly>::new(config);
    take(&mut informer, now, &mut ids, &first, stream);
    let full = allocated() - start;
    let watch = match informer.in_flight() {
        Some(watch) => watch,
        None => {
            let watch = informer.poll_call(now, &mut ids).unwrap();
            informer.handle_head(now, watch.id, OK).unwrap();
            watch.id
        }
    };
    let expired = br#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#;
    informer.handle_body(now, watch, &[&expired[..], b"\n"].concat()).unwrap();
    assert_eq!(informer.poll_cancel(), Some(watch));
    now = now.after(Duration::from_secs(60));
    let more = peak_of(|| take(&mut informer, now, &mut ids, &second, stream));
    assert_eq!(informer.store().len(), OBJECTS);
    assert_eq!(informer.store().resource_version().to_string(), "9");
    (full, more)
}

#[test]
fn a_relist_of_what_is_known_takes_a_tenth_more_memory_than_there_is() {
    for stream in [false, true] {
        let (full, more) = relist(stream);
        println!("{full} bytes stored, {more} more at the peak of the relist; streaming: {stream}");
        assert!(more * 10 < full, "{more} of {full}; streaming: {stream}");
    }
}

//! What a list costs that tells an informer again what it has.

use std::time::Duration;

use sanskube::informer::Informer;
use sanskube::object::{MetadataOnly, Resource};
use sanskube::reflector::Config;
use sanskube::request::{Call, CallIds, Head};
use sanskube::time::Now;

use crate::counting::{allocated, peak_of};

const OBJECTS: usize = 5_000;
const OK: Head = Head::new(200);

/// A list in which every `changed`-th object is at another version than the last time.
fn list(version: u64, changed: usize) -> Vec<u8> {
    let item = |number: usize| {
        let version = if number.is_multiple_of(changed) { version } else { 1 };
        format!(
            r#"{{"metadata":{{"namespace":"shop","name":"web-{number}","uid":"7d1c0f5e-0000-4000-8000-{number:012}",
            "resourceVersion":"{version}","labels":{{"app":"web","tier":"front","release":"stable"}},
            "annotations":{{"note":"{}"}}}},"spec":{{"skipped":[1,2,3]}}}}"#,
            "x".repeat(200)
        )
    };
    let items: Vec<String> = (0..OBJECTS).map(item).collect();
    format!(r#"{{"metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#, items.join(",")).into_bytes()
}

fn take(informer: &mut Informer<MetadataOnly>, now: Now, call: &Call, body: &[u8]) {
    informer.handle_head(now, call.id, OK).unwrap();
    body.chunks(4096).for_each(|piece| informer.handle_body(now, call.id, piece).unwrap());
    informer.handle_end(now, call.id).unwrap();
}

#[test]
fn a_relist_of_what_is_known_takes_little_more_memory_than_there_is() {
    let (first, second) = (list(1, 1), list(9, 20));
    let mut now = Now::default();
    let mut ids = CallIds::default();
    let start = allocated();
    let mut informer = Informer::<MetadataOnly>::new(Config::new(Resource::PODS));
    let call = informer.poll_call(now, &mut ids).unwrap();
    take(&mut informer, now, &call, &first);
    let full = allocated() - start;
    let watch = informer.poll_call(now, &mut ids).unwrap();
    informer.handle_head(now, watch.id, OK).unwrap();
    let expired = br#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#;
    informer.handle_body(now, watch.id, &[&expired[..], b"\n"].concat()).unwrap();
    assert_eq!(informer.poll_cancel(), Some(watch.id));
    now = now.after(Duration::from_secs(60));
    let call = informer.poll_call(now, &mut ids).unwrap();
    assert!(!call.watch);
    let more = peak_of(|| take(&mut informer, now, &call, &second));
    assert_eq!(informer.store().len(), OBJECTS);
    assert_eq!(informer.store().resource_version().to_string(), "9");
    println!("{full} bytes stored, {more} more at the peak of the relist");
    assert!(more * 10 < full * 3);
}

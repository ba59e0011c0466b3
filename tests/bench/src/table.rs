//! `table`: all measurements in one run, against their targets.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use sanskube::request::Encoding;

use crate::binary::{Binary, binary};
use crate::churn::churn;
use crate::feed::Fed;
use crate::generator;
use crate::ingest::{Ingest, ingest, skip};
use crate::peer::Peer;
use crate::protobuf;
use crate::queue::queue;
use crate::scale::{Size, size, sizes};
use crate::settled::settled;

/// Pods of which the text is held in memory at once.
const LISTED: usize = 20_000;
const EVENTS: usize = 5_000;
/// Each time is the best of so many, ours and the peer's in turn: a machine that does something else meanwhile is slower, never faster.
const TIMES: usize = 3;

/// The best of what we were measured to do in an encoding, in seconds.
struct Ours {
    encoding: Encoding,
    object: f64,
    event: f64,
    allocations: f64,
    events: Vec<Vec<u8>>,
}

impl Ours {
    fn new(encoding: Encoding) -> Self {
        let events = crate::churn::events(LISTED, EVENTS, encoding);
        Self { encoding, object: f64::INFINITY, event: f64::INFINITY, allocations: 0.0, events }
    }

    fn measure(&mut self, list: &[u8]) {
        let Ingest { objects, seconds, .. } = ingest(list, self.encoding);
        self.object = self.object.min(seconds / objects as f64);
        let mut fed = Fed::new(self.encoding);
        fed.list(list);
        fed.drain();
        let watch = fed.open();
        let churn = churn(&mut fed, watch, &self.events);
        self.event = self.event.min(churn.seconds);
        self.allocations = churn.allocations;
    }
}

pub(crate) fn run(most: usize) -> crate::Result {
    let folder = std::env::temp_dir().join(format!("sanskube-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = table(&folder, most);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn table(folder: &Path, most: usize) -> crate::Result {
    let (list, events) = (folder.join("pods.json"), folder.join("events.jsonl"));
    generator::write_list(LISTED, &mut BufWriter::new(File::create(&list)?))?;
    let mut file = BufWriter::new(File::create(&events)?);
    crate::churn::events(LISTED, EVENTS, Encoding::Json).iter().try_for_each(|line| file.write_all(line))?;
    file.flush()?;
    let bytes = std::fs::read(&list)?;
    let mut message = Vec::new();
    protobuf::write_list(LISTED, &mut message)?;

    let (mut json, mut proto) = (Ours::new(Encoding::Json), Ours::new(Encoding::Protobuf));
    let mut skipped = f64::INFINITY;
    let mut peer = Peer::default();
    for _ in 0..TIMES {
        json.measure(&bytes);
        skipped = skipped.min(skip(&bytes)? / LISTED as f64);
        proto.measure(&message);
        peer.ingest(&list)?;
        peer.churn(&list, &events)?;
    }
    let (ours, event, allocations) = (json.object, json.event, json.allocations);
    drop((bytes, message));

    println!("| what | measured | kube-rs | target | |\n|---|---|---|---|---|");
    let row = |what: &str, measured: String, theirs: String, target: &str, met: Option<bool>| {
        let met = match met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "not measured",
        };
        println!("| {what} | {measured} | {theirs} | {target} | {met} |");
    };
    let unknown = || String::from("?");
    row(
        "JSON list → decoded, indexed, told",
        format!("{:.0} pods/s, {:.1} of skipping by serde_json", 1.0 / ours, skipped / ours),
        peer.objects.map_or_else(unknown, |theirs| format!("{theirs:.0} pods/s: {:.1} ×", 1.0 / ours / theirs)),
        "≥ 10 × kube-rs",
        peer.objects.map(|theirs| 1.0 / ours >= 10.0 * theirs),
    );
    row(
        "protobuf list, the same",
        format!("{:.0} pods/s: {:.1} × JSON", 1.0 / proto.object, ours / proto.object),
        "".into(),
        "250000 pods/s: 10 × what client-go's protobuf is said to do",
        Some(1.0 / proto.object >= 250_000.0),
    );
    let sizes: Vec<Size> = sizes(most).map(size).collect();
    if let Some(large) = sizes.last() {
        row(
            &format!("memory a pod of {}", large.pods),
            format!("{} bytes", large.bytes),
            peer.bytes
                .map_or_else(unknown, |theirs| format!("{theirs:.0} bytes: {:.0} ×", theirs / large.bytes as f64)),
            "≤ 250 bytes",
            Some(large.bytes <= 250),
        );
        row(
            "peak during a re-list",
            format!("{:.2} ×", large.relist),
            "".into(),
            "≤ 1.1 × and a page",
            Some(large.relist <= 1.1),
        );
    }
    row(
        "watch event decoded, stored, indexed, routed, queued",
        format!("{:.2} µs, {allocations:.1} allocations", event * 1e6),
        peer.events.map_or_else(unknown, |theirs| {
            format!("{:.2} µs decoded and stored: {:.1} ×", 1e6 / theirs, 1.0 / event / theirs)
        }),
        "no allocation",
        Some(allocations == 0.0),
    );
    row(
        "the same in protobuf",
        format!("{:.2} µs, {:.1} allocations", proto.event * 1e6, proto.allocations),
        "".into(),
        "no allocation",
        Some(proto.allocations == 0.0),
    );
    let settled = settled()?;
    row(
        "settled sync of 50 pods",
        format!("{:.2} µs, {:.1} allocations", settled.sync.as_secs_f64() * 1e6, settled.allocations),
        "".into(),
        "≤ 2 µs, no allocation",
        Some(settled.sync.as_secs_f64() <= 2e-6 && settled.allocations == 0.0),
    );
    let queue = queue();
    row(
        "work queue: add, get, done",
        format!("{:?}; delayed {:?}", queue.through, queue.delayed),
        "".into(),
        "≥ 10 × client-go",
        None,
    );
    if let [small, .., large] = &sizes[..] {
        let (cost, memory) = (large.event.seconds / small.event.seconds, large.bytes as f64 / small.bytes as f64);
        row(
            &format!("growth from {} to {} pods", small.pods, large.pods),
            format!("an event {cost:.2} ×, a pod's memory {memory:.2} ×"),
            "".into(),
            "≤ 1.5 ×, linear",
            Some(cost <= 1.5 && memory <= 1.1),
        );
    }
    if let Some(Binary { bytes, synced }) = binary()? {
        row(
            "program, stripped, without the demo",
            format!("{bytes} bytes"),
            "".into(),
            "≤ 3 MB",
            Some(bytes <= 3_000_000),
        );
        let few = Some(synced.as_secs_f64() < 0.010);
        row("from start to synced, and stopped", format!("{synced:.1?}"), "".into(), "a few ms", few);
    }
    Ok(())
}

//! `table`: all measurements in one run, against their targets.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sanskube::request::Encoding;

use crate::binary::{Binary, binary};
use crate::churn::churn;
use crate::feed::Fed;
use crate::generator;
use crate::ingest::{Ingest, ingest, skip};
use crate::peer::Peer;
use crate::protobuf;
use crate::queue::{QueueCost, queue};
use crate::scale::{Size, size, sizes};
use crate::settled::settled;
use crate::whole::{self, Taken};

/// Pods of which the text is held in memory at once.
const LISTED: usize = 20_000;
const EVENTS: usize = 5_000;
/// Each time is the best of so many, ours and the peer's in turn: a machine that does something else meanwhile is slower, never faster.
const TIMES: usize = 3;
/// The controller as a process, where cargo puts it, seen from the workspace.
const SANSKUBE: &str = "target/release/sanskube";

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
    let proto_list = folder.join("pods.proto");
    std::fs::write(&proto_list, &message)?;

    let (mut json, mut proto) = (Ours::new(Encoding::Json), Ours::new(Encoding::Protobuf));
    let mut skipped = f64::INFINITY;
    let (mut kube_rs, mut client_go) =
        (Peer::kube_rs(), Peer::client_go(std::env::var_os("CLIENT_GO").map(PathBuf::from)));
    let mut keys = QueueCost { through: Duration::MAX, delayed: Duration::MAX };
    for _ in 0..TIMES {
        json.measure(&bytes);
        skipped = skipped.min(skip(&bytes)? / LISTED as f64);
        proto.measure(&message);
        let QueueCost { through, delayed } = queue();
        keys = QueueCost { through: keys.through.min(through), delayed: keys.delayed.min(delayed) };
        for peer in [&mut kube_rs, &mut client_go] {
            peer.ingest(&list)?;
            peer.churn(&list, &events)?;
        }
        client_go.ingest_protobuf(&proto_list)?;
        client_go.queue()?;
    }
    let (ours, event, allocations) = (json.object, json.event, json.allocations);
    drop((bytes, message));

    println!("| what | measured | kube-rs | client-go | target | |\n|---|---|---|---|---|---|");
    let per_second = |theirs: Option<f64>, seconds: f64| {
        theirs.map_or_else(unknown, |theirs| format!("{theirs:.0} pods/s: {:.1} ×", 1.0 / seconds / theirs))
    };
    row(
        "JSON list → decoded, indexed, told",
        format!("{:.0} pods/s, {:.1} of skipping by serde_json", 1.0 / ours, skipped / ours),
        [per_second(kube_rs.objects, ours), per_second(client_go.objects, ours)],
        "≥ 10 × kube-rs, ≥ 15 × client-go",
        all([at_least(10.0, kube_rs.objects, ours), at_least(15.0, client_go.objects, ours)]),
    );
    row(
        "protobuf list, the same",
        format!("{:.0} pods/s: {:.1} × JSON", 1.0 / proto.object, ours / proto.object),
        [String::new(), per_second(client_go.messages, proto.object)],
        "≥ 10 × client-go",
        at_least(10.0, client_go.messages, proto.object),
    );
    let sizes: Vec<Size> = sizes(most).map(size).collect();
    if let Some(large) = sizes.last() {
        let bytes = |theirs: Option<f64>| {
            theirs.map_or_else(unknown, |theirs| format!("{theirs:.0} bytes: {:.0} ×", theirs / large.bytes as f64))
        };
        row(
            &format!("memory a pod of {}", large.pods),
            format!("{} bytes", large.bytes),
            [bytes(kube_rs.bytes), bytes(client_go.bytes)],
            "≤ 250 bytes",
            Some(large.bytes <= 250),
        );
        let relist = format!("{:.2} ×", large.relist);
        row("peak during a re-list", relist, ALONE, "≤ 1.1 × and a page", Some(large.relist <= 1.1));
    }
    let per_event = |theirs: Option<f64>| {
        theirs.map_or_else(unknown, |theirs| {
            format!("{:.2} µs decoded and stored: {:.1} ×", 1e6 / theirs, 1.0 / event / theirs)
        })
    };
    row(
        "watch event decoded, stored, indexed, routed, queued",
        format!("{:.2} µs, {allocations:.1} allocations", event * 1e6),
        [per_event(kube_rs.events), per_event(client_go.events)],
        "≥ 10 × client-go, no allocation",
        all([Some(allocations == 0.0), at_least(10.0, client_go.events, event)]),
    );
    row(
        "the same in protobuf",
        format!("{:.2} µs, {:.1} allocations", proto.event * 1e6, proto.allocations),
        ALONE,
        "no allocation",
        Some(proto.allocations == 0.0),
    );
    let settled = settled()?;
    row(
        "settled sync of 50 pods",
        format!("{:.2} µs, {:.1} allocations", settled.sync.as_secs_f64() * 1e6, settled.allocations),
        ALONE,
        "≤ 2 µs, no allocation",
        Some(settled.sync.as_secs_f64() <= 2e-6 && settled.allocations == 0.0),
    );
    let key = |what, ours: Duration, theirs: Option<f64>| {
        let ours = ours.as_secs_f64();
        let compared = theirs.map_or_else(unknown, |theirs| format!("{:.0} ns: {:.1} ×", theirs * 1e9, theirs / ours));
        let met = at_least(10.0, theirs.map(f64::recip), ours);
        row(what, format!("{:.0} ns", ours * 1e9), [String::new(), compared], "≥ 10 × client-go", met);
    };
    key("work queue: add, get, done", keys.through, client_go.key);
    key("the same, added for later", keys.delayed, client_go.delayed_key);
    if let [small, .., large] = &sizes[..] {
        let (cost, memory) = (large.event.seconds / small.event.seconds, large.bytes as f64 / small.bytes as f64);
        row(
            &format!("growth from {} to {} pods", small.pods, large.pods),
            format!("an event {cost:.2} ×, a pod's memory {memory:.2} ×"),
            ALONE,
            "≤ 1.5 ×, linear",
            Some(cost <= 1.5 && memory <= 1.1),
        );
    }
    if let Some(Binary { bytes, synced }) = binary()? {
        let what = "program, stripped, without the demo";
        row(what, format!("{bytes} bytes"), ALONE, "≤ 3 MB", Some(bytes <= 3_000_000));
        let few = Some(synced.as_secs_f64() < 0.010);
        row("from start to synced, and stopped", format!("{synced:.1?}"), ALONE, "a few ms", few);
    }
    if Path::new(SANSKUBE).exists() {
        whole_controllers()?;
    }
    Ok(())
}

/// The rows of whole controllers, next to kube-controller-manager where there is one.
fn whole_controllers() -> crate::Result {
    let ours = whole::sanskube(SANSKUBE)?;
    let theirs = std::env::var("KUBE_CONTROLLER_MANAGER").ok();
    let theirs = theirs.map(|program| whole::kube_controller_manager(&program)).transpose()?;
    let compare = |what, target, most: f64, show: fn(&Taken) -> String, of: fn(&Taken) -> f64| {
        let ratio = theirs.as_ref().map(|theirs| of(&ours) / of(theirs));
        let compared = theirs.as_ref().zip(ratio);
        let compared =
            compared.map_or_else(unknown, |(theirs, ratio)| format!("{}: {:.2} ×", show(theirs), 1.0 / ratio));
        row(what, show(&ours), [String::new(), compared], target, ratio.map(|ratio| ratio <= most));
    };
    compare(
        "whole controller: processor time for 6000 pods made and deleted beside 20000",
        "≤ 1/5 of kube-controller-manager's",
        0.2,
        |taken| format!("{:.2} s", taken.processor.as_secs_f64()),
        |taken| taken.processor.as_secs_f64(),
    );
    compare(
        "its memory, at most",
        "≤ 1/20",
        0.05,
        |taken| format!("{:.1} MB", taken.memory as f64 / 1e3),
        |taken| taken.memory as f64,
    );
    compare(
        "until every set has its pods",
        "not slower",
        // Both wait for their limit of requests most of the time.
        1.02,
        |taken| format!("{:.2} s", taken.converged.as_secs_f64()),
        |taken| taken.converged.as_secs_f64(),
    );
    Ok(())
}

/// Where there is nobody to compare with.
const ALONE: [String; 2] = [String::new(), String::new()];

/// The peers are kube-rs and client-go.
fn row(what: &str, measured: String, [kube_rs, client_go]: [String; 2], target: &str, met: Option<bool>) {
    let met = match met {
        Some(true) => "met",
        Some(false) => "missed",
        None => "not measured: no peer given",
    };
    println!("| {what} | {measured} | {kube_rs} | {client_go} | {target} | {met} |");
}

fn unknown() -> String {
    String::from("?")
}

/// Whether we are so many times as fast as a peer that does `theirs` a second. None without a peer.
fn at_least(times: f64, theirs: Option<f64>, seconds: f64) -> Option<bool> {
    theirs.map(|theirs| 1.0 / seconds >= times * theirs)
}

/// Whether all that is known is so. None if something is not known.
fn all<const N: usize>(met: [Option<bool>; N]) -> Option<bool> {
    met.into_iter().try_fold(true, |all, met| met.map(|met| all && met))
}

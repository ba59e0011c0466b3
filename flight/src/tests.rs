//! Recordings of a manager in a world of virtual time, replayed.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sanskube::election::{self, Timing};
use sanskube::key::Key;
use sanskube::limits::Limits;
use sanskube::machine::{Input, Machine as _};
use sanskube::manager::{ClientLimits, Config, Manager};
use sanskube::request::CallId;
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::kubelet::{Kubelet, KubeletConfig};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{ClientId, Network, World};
use serde_json::{Value, json};

use super::*;
use crate::frame::{FRAME_BYTES, FrameReader, FrameWriter};

const PODS: &str = "/api/v1/namespaces/default/pods";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

/// A file that the test can look into while it is written.
#[derive(Clone, Debug, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl File {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A world with a controller that is recorded.
struct Recorded {
    world: World<FlightRecorder<Manager, File>>,
    id: ClientId,
    file: File,
}

impl Recorded {
    fn start(config: &Config, limit: u64) -> Self {
        let now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
        let server_now = sanskube_apiserver::Now {
            monotonic: Duration::from_secs(1),
            wall: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
        };
        let api = ApiServer::new(sanskube_apiserver::Config::default(), server_now);
        let network = Network::new(1, Duration::from_millis(1), Duration::from_millis(5));
        let mut world = World::new(api, network, now);
        world.set_kubelet(Kubelet::new(KubeletConfig::default()));
        let labels = json!({"app": "web"});
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        let request = Request::new("POST", SETS).with_body("application/json", set.to_string());
        assert_eq!(world.request(&request).status, 201);
        let file = File::default();
        let start = Start { build: "test".into(), config: config.clone() };
        let tape = Tape::begin(file.clone(), limit, &start).unwrap();
        let id = world.start(FlightRecorder::new(Manager::new(config), Some(tape)));
        Self { world, id, file }
    }

    fn run(&mut self, seconds: u64) {
        self.world.run_for(Duration::from_secs(seconds));
    }

    fn scale(&mut self, replicas: u32) {
        let patch = json!({"spec": {"replicas": replicas}}).to_string();
        let request = Request::new("PATCH", &format!("{SETS}/web"));
        let response = self.world.request(&request.with_body("application/merge-patch+json", patch));
        assert_eq!(response.status, 200);
        self.run(5);
    }

    fn pods(&mut self) -> Vec<String> {
        let list: Value = serde_json::from_slice(&self.world.request(&Request::get(PODS)).body).unwrap();
        let names = list["items"].as_array().unwrap().iter().map(|pod| pod["metadata"]["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    fn kill_pod(&mut self, name: &str) {
        let request = Request::new("DELETE", &format!("{PODS}/{name}")).with_body("application/json", "{}");
        assert_eq!(self.world.request(&request).status, 200);
        self.run(40);
    }

    fn stop(mut self) -> Vec<u8> {
        self.world.stop(self.id);
        self.run(2);
        assert!(self.world.is_stopped(self.id));
        self.file.bytes()
    }
}

/// From none to three pods, one of which dies, and down to one.
fn story(config: &Config) -> (Vec<u8>, Vec<String>) {
    let mut recorded = Recorded::start(config, u64::MAX);
    recorded.run(2);
    recorded.scale(3);
    let pods = recorded.pods();
    if let Some(pod) = pods.first() {
        recorded.kill_pod(pod);
    }
    recorded.scale(1);
    (recorded.stop(), pods)
}

/// Replays to the end, and tells all.
fn replay(bytes: &[u8]) -> (Vec<Entry>, Summary, Option<ReplayError>) {
    let mut replay = Replay::open(bytes).expect("it is a recording");
    let (mut narrator, mut entries) = (Narrator::default(), Vec::new());
    loop {
        match replay.poll_step() {
            Ok(Some(step)) => entries.extend(narrator.tell(&step, replay.manager())),
            Ok(None) => return (entries, replay.summary(), None),
            Err(e) => return (entries, replay.summary(), Some(e)),
        }
    }
}

fn lines(entries: &[Entry]) -> Vec<String> {
    entries.iter().filter(|entry| !entry.text.is_empty()).map(ToString::to_string).collect()
}

/// Reads every record.
fn read(bytes: &[u8]) -> Result<Ending, ReadError> {
    let mut reader = Reader::open(bytes)?;
    while reader.poll_record()?.is_some() {}
    Ok(reader.ending().expect("it has ended"))
}

/// The records of each frame.
fn frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = FrameReader::begin(bytes).unwrap();
    let mut frames = Vec::new();
    let mut records = Vec::new();
    while reader.read(&mut records).unwrap() {
        frames.push(records.clone());
    }
    frames
}

/// A recording of these frames, with every check right.
fn framed(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = FrameWriter::begin(&mut file).unwrap();
    for records in frames {
        writer.write(records).unwrap();
    }
    file
}

#[test]
fn a_replay_does_the_same_to_the_bit_and_tells_why() {
    let (bytes, pods) = story(&Config::default());
    let (entries, summary, error) = replay(&bytes);
    assert!(error.is_none(), "{error:?}");
    let Some(Ending::Whole { end: End::Stopped, digest }) = summary.ending else { panic!("{summary:?}") };
    assert_eq!(digest, summary.digest);
    assert!(summary.outputs > summary.steps);
    let lines = lines(&entries);
    let told = |part: &str| assert!(lines.iter().any(|line| line.contains(part)), "{part:?} in {lines:#?}");
    told("decision default/web: too few replicas, need 3, have 0, creating 3");
    for pod in &pods {
        told(&format!("201: created pod default/{pod} for default/web (it needs 3 and has 0)"));
    }
    told(&format!("queue    default/web, because of pod default/{}", pods[0]));
    told(&format!("pod default/{}: being deleted (this process did not ask for that)", pods[0]));
    assert_eq!(lines.iter().filter(|line| line.contains("did not ask")).count(), 1, "{lines:#?}");
    told("decision default/web: too few replicas, need 3, have 2, creating 1");
    told("decision default/web: too many replicas, need 1, have 3, deleting 2");
    let deletions = lines.iter().filter(|line| line.contains("decision default/web: deleting pod default/web-"));
    assert_eq!(deletions.count(), 2);
    told("set default/web: wants 3 → 1");
    told("list pods as a stream, and watch them: 200");
    told("it is told to stop");
    assert!(lines.last().unwrap().ends_with("it has stopped"), "{lines:#?}");
    // Every line has its time and step.
    assert!(lines[0].starts_with("2027-01-15T08:00:0"), "{}", lines[0]);
}

#[test]
fn adoption_release_and_trouble_are_told() {
    let mut recorded = Recorded::start(&Config::default(), u64::MAX);
    recorded.run(2);
    recorded.scale(1);
    let orphan = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stray", "labels": {"app": "web"},
        "creationTimestamp": null}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let request = Request::new("POST", PODS).with_body("application/json", orphan.to_string());
    assert_eq!(recorded.world.request(&request).status, 201);
    recorded.run(5);
    let pods = recorded.pods();
    assert_eq!(pods.len(), 1, "{pods:?}");
    let label = Request::new("PATCH", &format!("{PODS}/{}", pods[0]))
        .with_body("application/merge-patch+json", json!({"metadata": {"labels": {"app": "other"}}}).to_string());
    assert_eq!(recorded.world.request(&label).status, 200);
    recorded.run(5);
    recorded.world.take_server_down();
    recorded.run(3);
    recorded.world.bring_server_up();
    recorded.run(60);
    let (entries, summary, error) = replay(&recorded.stop());
    assert!(error.is_none() && summary.ending.is_some(), "{error:?}");
    let lines = lines(&entries);
    let told = |part: &str| assert!(lines.iter().any(|line| line.contains(part)), "{part:?} in {lines:#?}");
    told("decision default/web: adopting pod default/stray, which it selects and nobody owns");
    told("patch pod default/stray (default/web: adopting pod default/stray");
    told("pod default/stray: owner nobody → web");
    told("decision default/web: too many replicas, need 1, have 2, deleting 1");
    told(&format!("decision default/web: releasing pod default/{}, whose labels no longer match", pods[0]));
    told(&format!("pod default/{}: owner web → nobody", pods[0]));
    told("connection lost (list pods as a stream, and watch them)");
    told("trouble  pods: watch: connection refused; asking for the same after a pause");
    told("trouble  pods: watch: 410 Expired");
    told("listing anew, without a version, after a pause");
}

#[test]
fn what_is_about_one_pod_can_be_told_alone() {
    let (bytes, pods) = story(&Config::default());
    let key = Key::new("default", &pods[0]);
    let about: Vec<Entry> = replay(&bytes).0.into_iter().filter(|entry| entry.keys.contains(&key)).collect();
    let lines = lines(&about);
    assert!(lines[0].contains("created pod") || lines[0].contains("is new"), "{lines:#?}");
    assert!(lines.last().unwrap().contains(&pods[0]), "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains(&pods[1])), "{lines:#?}");
}

#[test]
fn the_picture_at_the_end_is_what_the_world_was() {
    let (bytes, _) = story(&Config::default());
    let mut picture = Picture::default();
    replay(&bytes).0.iter().for_each(|entry| picture.apply(entry));
    let rows = |table| picture.rows(table).map(|(_, value)| value.to_owned()).collect::<Vec<_>>();
    assert_eq!(rows(Table::Sets), ["wants 1, has 1, 1 ready, 1 available"]);
    assert_eq!(rows(Table::Pods).len(), 1, "{:?}", rows(Table::Pods));
    assert_eq!((rows(Table::Queue), rows(Table::Calls)), (vec![], vec![]));
}

#[test]
fn elections_dry_runs_and_limits_are_replayed_as_well() {
    let second = Duration::from_secs(1);
    let election = election::Config {
        timing: Timing::new(15 * second, 10 * second, 2 * second).unwrap(),
        ..election::Config::new("kube-system", "sanskube", "me")
    };
    let elected = Config { election: Some(election), seed: 7, ..Config::default() };
    let (bytes, _) = story(&elected);
    let (entries, summary, error) = replay(&bytes);
    assert!(error.is_none() && summary.steps > 100, "{error:?}");
    assert!(lines(&entries).iter().any(|line| line.ends_with("lease    it leads")));

    let dry = Config { dry_run: true, watch_list: false, client_limits: Some(Default::default()), ..Config::default() };
    let (bytes, pods) = story(&dry);
    let (entries, _, error) = replay(&bytes);
    assert!(pods.is_empty() && error.is_none(), "{error:?}");
    assert!(lines(&entries).iter().any(|line| line.contains("too few replicas, need 3, have 0")));
    assert!(!lines(&entries).iter().any(|line| line.contains("create a pod")));
}

#[test]
fn a_recording_that_was_cut_anywhere_replays_as_far_as_it_goes() {
    let (bytes, _) = story(&Config::default());
    let whole = replay(&bytes).1;
    let mut most = 0;
    for end in (0..bytes.len()).step_by(bytes.len() / 60) {
        let cut = &bytes[..end];
        match Replay::open(cut) {
            Err(ReadError::NoRecording | ReadError::Damaged { .. }) => assert!(end < 300, "{end}"),
            Err(e) => panic!("{e}"),
            Ok(_) => {
                let (_, summary, error) = replay(cut);
                assert!(error.is_none(), "cut at {end}: {error:?}");
                assert_eq!(summary.ending, Some(Ending::Cut));
                assert!(summary.steps >= most && summary.steps <= whole.steps);
                most = summary.steps;
            }
        }
    }
    assert!(most > whole.steps / 2);
}

#[test]
fn a_recording_that_is_still_written_can_be_replayed_up_to_where_it_is() {
    let mut recorded = Recorded::start(&Config::default(), u64::MAX);
    recorded.run(2);
    recorded.scale(2);
    // The controller is at rest, and nothing is held back: this is what a kill would leave.
    let (entries, summary, error) = replay(&recorded.file.bytes());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(summary.ending, Some(Ending::Cut));
    assert!(lines(&entries).iter().any(|line| line.contains("available 1 → 2")), "{:#?}", lines(&entries));
}

#[test]
fn every_flipped_byte_is_found() {
    let (mut bytes, _) = story(&Config::default());
    for place in (0..12).chain((12..bytes.len()).step_by(23)) {
        bytes[place] ^= 0x10;
        let error = read(&bytes).expect_err("a flipped byte");
        match place {
            0..8 => assert!(matches!(error, ReadError::NoRecording), "{place}: {error}"),
            8..12 => assert!(error.to_string().contains("replay it with the build that made it"), "{place}: {error}"),
            _ => assert!(error.to_string().starts_with("the recording is damaged at byte "), "{place}: {error}"),
        }
        bytes[place] ^= 0x10;
    }
    assert!(read(&bytes).is_ok());
}

#[test]
fn random_bytes_are_no_recording() {
    let mut random = sanskube::rand::SplitMix64::new(1);
    for length in 0..200 {
        let bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        assert!(matches!(read(&bytes), Err(ReadError::NoRecording)), "{bytes:x?}");
    }
}

#[test]
fn what_somebody_has_forged_is_replayed_or_refused_and_nothing_else() {
    let (bytes, _) = story(&Config::default());
    let honest = frames(&bytes);
    let mut random = sanskube::rand::SplitMix64::new(3);
    let mut below = |bound: usize| (random.next_u64() % bound as u64) as usize;
    let mut refused = 0;
    for _ in 0..60 {
        let mut forged = honest.clone();
        forged.truncate(1 + below(honest.len()));
        for _ in 0..=below(4) {
            let frame = below(forged.len());
            let records = &mut forged[frame];
            match below(3) {
                0 if !records.is_empty() => {
                    let place = below(records.len());
                    records[place] = below(256) as u8;
                }
                1 => records.truncate(below(records.len() + 1)),
                _ => {
                    let copy = honest[below(honest.len())].clone();
                    records.extend(copy);
                }
            }
        }
        // Whatever it says, it says it in good order.
        refused += match Replay::open(&*framed(&forged)) {
            Err(_) => 1,
            Ok(_) => u32::from(replay(&framed(&forged)).2.is_some()),
        };
    }
    assert!(refused > 30, "{refused}");
}

#[test]
fn a_frame_never_inflates_to_more_than_it_says() {
    let bomb = framed(&[vec![0; 1 << 20]]);
    let mut small = bomb.clone();
    let head: [u8; 8] = [small[12], small[13], small[14], small[15], 100, 0, 0, 0];
    small[12..20].copy_from_slice(&head);
    small[20..24].copy_from_slice(&digest::Digest::of(&head).half().to_le_bytes());
    let error = FrameReader::begin(&*small).unwrap().read(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("cannot be inflated to what it says"), "{error}");
    assert!(FrameWriter::begin(Vec::new()).unwrap().write(&vec![0; FRAME_BYTES + 1]).is_err());
}

#[test]
fn a_full_recording_says_so_and_has_not_a_byte_too_much() {
    for limit in [1 << 10, 8 << 10, 20 << 10] {
        let mut recorded = Recorded::start(&Config::default(), limit);
        recorded.run(2);
        recorded.scale(30);
        let bytes = recorded.file.bytes();
        assert!(bytes.len() as u64 <= limit, "{} of {limit}", bytes.len());
        let recorder = recorded.world.machine(recorded.id).unwrap();
        assert!(recorder.is_full() && !recorder.is_recording());
        let (_, summary, error) = replay(&bytes);
        assert!(error.is_none(), "{error:?}");
        assert!(matches!(summary.ending, Some(Ending::Whole { end: End::Full, .. })), "{summary:?}");
        // Nobody else has noticed.
        recorded.scale(2);
        assert_eq!(recorded.pods().len(), 2);
        assert_eq!(recorded.file.bytes(), bytes);
    }
}

#[test]
fn a_disk_that_fails_ends_the_recording_and_nothing_else() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or_else(|| io::Error::other("no space left"))?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let start = Start { build: String::new(), config: Config::default() };
    let tape = Tape::begin(Full(3), u64::MAX, &start).unwrap();
    let mut recorder = FlightRecorder::new(Manager::new(&start.config), Some(tape));
    let mut outputs = 0;
    for _ in 0..5 {
        while !matches!(recorder.poll_output(Now::default()), sanskube::machine::Output::Wait { .. }) {
            outputs += 1;
        }
        recorder.handle_input(Now::default(), Input::Timeout).unwrap();
    }
    assert!(!recorder.is_recording() && !recorder.is_full());
    assert_eq!(outputs, 2);
}

#[test]
fn another_core_is_found_out_at_the_first_thing_it_does_otherwise() {
    let (bytes, _) = story(&Config::default());
    let mut frames = frames(&bytes);
    // The same inputs for a manager that looks after one namespace only.
    let config = Config { namespace: "shop".into(), ..Config::default() };
    frames[0].clear();
    record::Context::put_start(&mut frames[0], &Start { build: "sanskube 9.9".into(), config });
    let (_, summary, error) = replay(&framed(&frames));
    let Some(ReplayError::Diverged(divergence)) = error else { panic!("{error:?}") };
    assert_eq!((divergence.step, summary.outputs), (0, 0));
    let text = divergence.to_string();
    assert!(text.contains("in the recording a call was made") && text.contains("namespaces/shop"), "{text}");
    assert!(text.ends_with("recorded by sanskube 9.9"), "{text}");
}

#[test]
fn a_configuration_that_no_flags_make_is_replayed_as_far_as_it_goes() {
    let (bytes, _) = story(&Config::default());
    let ages = Duration::from_secs(10_000 * 366 * 86_400);
    for (number, time) in [(0, Duration::ZERO), (1, Duration::from_nanos(1)), (usize::MAX, ages)] {
        for qps in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-300, 1e300] {
            let limits = Limits {
                object_bytes: number,
                answer_bytes: number,
                list_page: number as u32,
                calls_in_flight: number,
                concurrent_rc_syncs: number,
                concurrent_syncs: number,
                burst_replicas: number,
                handler_backlog: number,
                events_waiting: number,
                events_remembered: number,
                event_message_bytes: number,
                list_objects: number,
                call_timeout: time,
                list_timeout: time,
                watch_timeout: time,
                watch_grace: time,
            };
            let config = Config {
                client_limits: Some(ClientLimits { qps, burst: number as u32 }),
                label_selector: "((".into(),
                limits,
                resync_period: time,
                ..Config::default()
            };
            // Its own machine makes the outputs, so that they do not differ at once.
            let file = File::default();
            let start = Start { build: String::new(), config };
            let tape = Tape::begin(file.clone(), u64::MAX, &start).unwrap();
            let mut recorder = FlightRecorder::new(Manager::new(&start.config), Some(tape));
            let mut reader = Reader::open(&*bytes).unwrap();
            while let Some(record) = reader.poll_record().unwrap() {
                // What it refuses, for the calls are others, is a part of it.
                match record {
                    Record::Input(now, told) => drop(recorder.handle_input(now, told.input())),
                    Record::Output { now, .. } => drop(recorder.poll_output(now)),
                    _ => {}
                }
            }
            drop(recorder);
            let (_, summary, error) = replay(&file.bytes());
            assert!(error.is_none() && summary.outputs > 100, "{error:?}");
        }
    }
}

#[test]
fn an_input_that_was_refused_is_refused_again() {
    let file = File::default();
    let start = Start { build: String::new(), config: Config::default() };
    let tape = Tape::begin(file.clone(), u64::MAX, &start).unwrap();
    let mut recorder = FlightRecorder::new(Manager::new(&start.config), Some(tape));
    while !matches!(recorder.poll_output(Now::default()), sanskube::machine::Output::Wait { .. }) {}
    recorder.handle_input(Now::default(), Input::End { call: CallId(99) }).unwrap_err();
    recorder.handle_input(Now::default(), Input::Timeout).unwrap();
    // Outputs were not drained.
    recorder.handle_input(Now::default(), Input::Timeout).unwrap_err();
    drop(recorder);
    let (_, summary, error) = replay(&file.bytes());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(summary.steps, 4);
}

#[test]
fn what_a_machine_did_not_survive_is_on_the_tape() {
    struct Fragile;
    impl sanskube::machine::Machine for Fragile {
        fn handle_input(&mut self, _: Now, _: Input<'_>) -> Result<(), sanskube::error::Misuse> {
            panic!("a bug")
        }
        fn poll_output(&mut self, _: Now) -> sanskube::machine::Output {
            sanskube::machine::Output::Wait { until: None }
        }
    }
    let file = File::default();
    let tape = Tape::begin(file.clone(), u64::MAX, &Start { build: String::new(), config: Config::default() }).unwrap();
    let died = std::thread::spawn(move || {
        let mut recorder = FlightRecorder::new(Fragile, Some(tape));
        let _ = recorder.poll_output(Now::default());
        let _ = recorder.handle_input(Now::default(), Input::Body { call: CallId(1), bytes: b"fatal" });
    });
    assert!(died.join().is_err());
    let bytes = file.bytes();
    let mut reader = Reader::open(&*bytes).unwrap();
    let records: Vec<Record> = std::iter::from_fn(|| reader.poll_record().unwrap()).collect();
    let [Record::Output { .. }, Record::Input(_, Told::Answer(answer))] = &records[..] else { panic!("{records:?}") };
    assert!(format!("{:?}", answer.part).contains("102, 97, 116, 97, 108"), "{answer:?}");
}

#[test]
fn a_page_needs_nothing_else_and_shows_everything() {
    let (bytes, _) = story(&Config::default());
    let (entries, ..) = replay(&bytes);
    let mut page = Page::default();
    for entry in entries.clone() {
        page.add(entry);
    }
    let mut out = Vec::new();
    page.write(&mut out, "</script><b>", &["a note".into()]).unwrap();
    let html = String::from_utf8(out).unwrap();
    for reference in ["http:", "https:", "src=", "href=", "url(", "@import", "fetch(", "import("] {
        assert!(!html.contains(reference), "{reference}");
    }
    assert_eq!(html.matches("</script>").count(), 2);
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["title"], "</script><b>");
    assert_eq!(data["entries"].as_array().unwrap().len(), entries.len());
    let first = entries.iter().position(|entry| entry.row.is_some()).unwrap();
    assert_eq!(data["entries"][first].as_array().unwrap().len(), 9);
}

#[test]
fn a_page_that_is_full_keeps_the_end_and_the_picture_before_it() {
    let mut page = Page::default();
    for step in 0..=PAGE_ENTRIES as u64 {
        let row = Row { table: Table::Pods, name: format!("pod-{step}"), value: Some("Running".into()) };
        let text = "a pod".into();
        page.add(Entry { step, now: Now::default(), topic: Topic::Cache, text, keys: Vec::new(), row: Some(row) });
    }
    let mut out = Vec::new();
    page.write(&mut out, "", &[]).unwrap();
    let html = String::from_utf8(out).unwrap();
    assert!(html.contains("\"leftOut\":1") && html.contains("[\"pod-0\",\"Running\"]"));
}

//! `sanskube run --record` and `sanskube replay` as their operator meets them.

use std::collections::BTreeSet;
use std::fs::{metadata, read, read_to_string, write};
use std::path::{Path, PathBuf};

use sanskube::machine::Part;
use sanskube::request::Encoding;
use sanskube_apiserver::Request;
use sanskube_e2e::cluster::{Cluster, PODS};
use sanskube_e2e::process::{Process, wait_until};
use sanskube_flight::{Reader, Record, Told};
use tempfile::TempDir;

const SANSKUBE: &str = env!("CARGO_BIN_EXE_sanskube-under-test");

/// A folder with a recording in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room for a folder"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.file(name).to_str().expect("temporary folders have plain names").to_owned()
    }

    /// Starts a controller that is recorded.
    fn run(&self, cluster: &Cluster, more: &[&str]) -> Process {
        let (url, file) = (cluster.server.url(), self.text("flight"));
        let mut process = Process::start(SANSKUBE, &[&["run", "--server", &url, "--record", &file], more].concat());
        process.wait_for("recording to");
        process
    }

    /// Replays the recording, which is to succeed, and returns what is said.
    fn replay(&self, more: &[&str]) -> Vec<String> {
        let (success, said) = replay(&self.file("flight"), more);
        assert!(success, "{said:#?}");
        said
    }
}

fn replay(file: &Path, more: &[&str]) -> (bool, Vec<String>) {
    let file = file.to_str().expect("temporary folders have plain names");
    let (status, said) = Process::start(SANSKUBE, &[&["replay", file], more].concat()).finish();
    (status.success(), said)
}

fn has(said: &[String], part: &str) -> bool {
    said.iter().any(|line| line.contains(part))
}

fn available(cluster: &Cluster, wanted: u64) {
    wait_until("available pods", || (cluster.available("web") == wanted).then_some(()));
}

fn pod_names(cluster: &Cluster) -> Vec<String> {
    let list = cluster.get(PODS);
    let pods = list["items"].as_array().expect("a list has items").iter();
    pods.filter_map(|pod| pod["metadata"]["name"].as_str()).map(str::to_owned).collect()
}

fn delete(cluster: &Cluster, pod: &str) {
    cluster.ask(&Request::new("DELETE", &format!("{PODS}/{pod}")));
}

#[test]
fn a_story_is_recorded_and_replayed_and_says_why() {
    let (cluster, folder) = (Cluster::start(), Folder::new());
    cluster.create_set("web", 0);
    cluster.create_set("other", 1);
    let process = folder.run(&cluster, &["--leader-elect"]);
    cluster.scale("web", 3);
    available(&cluster, 3);
    let mut pods = pod_names(&cluster);
    let victim = pods.iter().find(|pod| pod.starts_with("web-")).expect("web has pods").clone();
    delete(&cluster, &victim);
    wait_until("its end", || (!pod_names(&cluster).contains(&victim)).then_some(()));
    available(&cluster, 3);
    pods.extend(pod_names(&cluster));
    cluster.scale("web", 1);
    wait_until("the end of two pods", || (pod_names(&cluster).len() == 2).then_some(()));
    available(&cluster, 1);
    process.signal("TERM");
    let (status, said) = process.finish();
    assert!(status.success(), "{said:#?}");

    let told = folder.replay(&[]);
    let last = told.last().expect("it says something");
    assert!(
        last.contains("the same to the bit as recorded") && last.ends_with("the controllers had stopped"),
        "{last}"
    );
    assert_eq!(&folder.replay(&[]), &told, "a replay is the same each time");
    for pod in &pods {
        assert!(has(&told, &format!("created pod default/{pod} for default/")), "{pod}: {told:#?}");
    }
    assert!(has(&told, "default/web: too few replicas, need 3, have 0, creating 3"), "{told:#?}");
    assert!(has(&told, "default/web: too few replicas, need 3, have 2, creating 1"), "{told:#?}");
    assert!(
        has(&told, &format!("pod default/{victim}: being deleted (this process did not ask for that)")),
        "{told:#?}"
    );
    assert!(has(&told, "default/web: deleting pod default/web-"), "{told:#?}");
    assert!(has(&told, "lease    it leads"), "{told:#?}");

    let about = folder.replay(&["--key", &format!("default/{victim}")]);
    let (result, about) = about.split_last().expect("it says something");
    assert_eq!(result, last);
    assert!(!about.is_empty() && about.iter().all(|line| line.contains(&victim)), "{about:#?}");

    let step = told.iter().position(|line| line.contains("creating 3")).expect("it is there");
    let number = told[step].split_whitespace().nth(1).expect("a line has a step");
    let until = folder.replay(&["--until", number]);
    assert_eq!(until[..=step], told[..=step]);
    assert!(
        until.iter().any(|line| line.starts_with("  default/web ") && line.contains("wants 3, has 0")),
        "{until:#?}"
    );
    assert!(until.last().is_some_and(|line| line.ends_with("there is more in the recording")), "{until:#?}");
    let time = told[step].split_whitespace().next().expect("a line has a time");
    let before = folder.replay(&["--until", time]);
    assert!(has(&before, "there is more in the recording") && before.len() < told.len(), "{before:#?}");

    let page = folder.text("page.html");
    assert_eq!(folder.replay(&["--html", &page]), std::slice::from_ref(last));
    let html = read_to_string(page).expect("the page is there");
    assert!(html.contains("too few replicas, need 3, have 0, creating 3"));
    assert!(["http:", "https:", "src=", "href="].iter().all(|reference| !html.contains(reference)));
}

#[test]
fn a_controller_that_is_killed_leaves_what_it_has_done() {
    let (cluster, folder) = (Cluster::start(), Folder::new());
    cluster.create_set("web", 3);
    let process = folder.run(&cluster, &[]);
    available(&cluster, 3);
    process.signal("KILL");
    drop(process.finish());
    let told = folder.replay(&[]);
    assert!(has(&told, "default/web: too few replicas, need 3, have 0, creating 3"), "{told:#?}");
    assert!(has(&told, "updating status: "), "{told:#?}");
    let last = told.last().expect("it says something");
    assert!(last.ends_with("there is no end: the process was killed, or still runs"), "{last}");

    // The next one begins a new recording, and keeps this one.
    let before = read(folder.file("flight")).expect("it is there");
    let process = folder.run(&cluster, &["--once"]);
    assert!(process.finish().0.success());
    assert_eq!(read(folder.file("flight.1")).expect("it is kept"), before);
    assert!(has(&folder.replay(&[]), "the controllers had stopped"));
}

#[test]
fn a_recording_stops_at_its_limit_and_the_controller_does_not() {
    let (cluster, folder) = (Cluster::start(), Folder::new());
    cluster.create_set("web", 0);
    let mut process = folder.run(&cluster, &["--record-limit", "64Ki", "--kube-api-qps", "0"]);
    cluster.scale("web", 200);
    process.wait_for("the recording has reached its limit");
    available(&cluster, 200);
    assert!(metadata(folder.file("flight")).expect("it is there").len() <= 64 << 10);
    let told = folder.replay(&[]);
    assert!(has(&told, "the recording was full here"), "{told:#?}");
}

#[test]
fn a_full_recording_can_be_the_reason_to_start_over() {
    let (cluster, folder) = (Cluster::start(), Folder::new());
    cluster.create_set("web", 200);
    let full = ["--record-limit", "64Ki", "--record-exit-when-full", "--kube-api-qps", "0"];
    let (status, said) = folder.run(&cluster, &full).finish();
    assert!(status.success() && has(&said, "the recording has reached its limit"), "{said:#?}");
    // Started again until there is nothing left to do: no recording is lost but those before the last two.
    assert!(folder.run(&cluster, &["--once"]).finish().0.success());
    assert_eq!(cluster.available("web"), 200);
    assert!(has(&folder.replay(&[]), "the controllers had stopped"));
    let (success, told) = replay(&folder.file("flight.1"), &[]);
    assert!(success && has(&told, "the recording was full here"), "{told:#?}");
}

#[test]
fn what_was_read_in_protobuf_is_replayed_and_told_in_the_same_words() {
    let words = |content_type: &str| {
        let (cluster, folder) = (Cluster::start(), Folder::new());
        cluster.create_set("web", 2);
        let process = folder.run(&cluster, &["--content-type", content_type]);
        available(&cluster, 2);
        cluster.scale("web", 1);
        wait_until("the end of a pod", || (pod_names(&cluster).len() == 1).then_some(()));
        available(&cluster, 1);
        process.signal("TERM");
        assert!(process.finish().0.success());

        let bytes = read(folder.file("flight")).expect("it is there");
        let mut reader = Reader::open(&*bytes).expect("it is a recording");
        let mut protobuf = 0;
        while let Some(record) = reader.poll_record().expect("it is whole") {
            if let Record::Input(_, Told::Answer(answer)) = record
                && let Part::Head(head) = answer.part
            {
                protobuf += usize::from(head.encoding == Encoding::Protobuf);
            }
        }
        assert_eq!(protobuf > 0, content_type == "protobuf", "{protobuf} answers");
        let told = folder.replay(&[]);
        assert!(told.last().is_some_and(|line| line.contains("the same to the bit as recorded")), "{told:#?}");
        let page = folder.text("page.html");
        folder.replay(&["--html", &page]);
        assert!(read(page).is_ok_and(|page| page.len() > 10_000));
        // What was decided, but for the names of pods, which are drawn by chance.
        let decisions = told.iter().filter_map(|line| line.split(" decision ").nth(1));
        let decisions = decisions.filter(|decision| !decision.contains("deleting pod"));
        decisions.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let (json, protobuf) = (words("json"), words("protobuf"));
    for decision in ["too few replicas, need 2, have 0, creating 2", "too many replicas, need 1, have 2, deleting 1"] {
        let decision = format!("default/web: {decision}");
        assert!(json.contains(&decision) && protobuf.contains(&decision), "{json:#?} {protobuf:#?}");
    }
}

#[test]
fn a_dry_run_is_recorded_too() {
    let (cluster, folder) = (Cluster::start(), Folder::new());
    cluster.create_set("web", 3);
    let mut process = folder.run(&cluster, &["--dry-run"]);
    process.wait_for("dry run: would create a pod");
    process.signal("TERM");
    assert!(process.finish().0.success());
    let told = folder.replay(&[]);
    assert!(has(&told, "default/web: too few replicas, need 3, have 0, creating 3"), "{told:#?}");
    assert!(cluster.pod_uids().is_empty());
}

#[test]
fn no_credentials_are_in_a_recording() {
    let (cluster, folder) = (Cluster::guarded("very-secret-token", false), Folder::new());
    let config = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
           clusters: [{{name: k, cluster: {{server: '{}'}}}}], users: [{{name: u, user: {{token: very-secret-token}}}}]}}",
        cluster.server.url()
    );
    write(folder.file("config"), config).expect("the file can be written");
    cluster.create_set("web", 2);
    let args = ["run", "--kubeconfig", &folder.text("config"), "--record", &folder.text("flight")];
    let process = Process::start(SANSKUBE, &args);
    wait_until("two pods", || (cluster.pod_uids().len() == 2).then_some(()));
    process.signal("TERM");
    assert!(process.finish().0.success());

    let bytes = read(folder.file("flight")).expect("it is there");
    let mut reader = Reader::open(&*bytes).expect("it is a recording");
    let mut plain = format!("{:?}", reader.start()).into_bytes();
    let mut answers = 0;
    while let Some(record) = reader.poll_record().expect("it is whole") {
        if let Record::Input(_, Told::Answer(answer)) = record {
            answers += 1;
            match answer.part {
                Part::Body(bytes) => plain.extend(bytes),
                part => plain.extend(format!("{part:?}").into_bytes()),
            }
        }
    }
    assert!(answers > 10);
    // Both are found where they are: the search is not for nothing.
    let holds = |text: &str| plain.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text.as_bytes()));
    assert!(holds("replicaset") && holds("containers"));
    for secret in ["very-secret-token", "authorization", "bearer"] {
        assert!(!holds(secret), "{secret}");
    }
}

#[test]
fn a_file_that_is_no_recording_is_refused_in_one_sentence() {
    let folder = Folder::new();
    let refusal = |name: &str| {
        let (success, said) = replay(&folder.file(name), &[]);
        assert!(!success && said.len() == 1, "{said:#?}");
        said[0].clone()
    };
    assert!(refusal("gone").starts_with("sanskube: cannot open the recording "));
    write(folder.file("text"), "apiVersion: v1\nkind: Config\n").expect("the file can be written");
    assert!(refusal("text").ends_with("text: this is no recording of sanskube"));
    write(folder.file("empty"), "").expect("the file can be written");
    assert!(refusal("empty").ends_with("this is no recording of sanskube"));
    write(folder.file("newer"), b"SKFLIGHT\x63\0\0\0").expect("the file can be written");
    assert!(refusal("newer").contains("has version 99 of the format, and this build reads version 1"));
    write(folder.file("begun"), b"SKFLIGHT\x01\0\0\0\x05").expect("the file can be written");
    assert!(refusal("begun").ends_with("it ends before it has begun"));

    let cluster = Cluster::start();
    cluster.create_set("web", 1);
    assert!(folder.run(&cluster, &["--once"]).finish().0.success());
    let mut bytes = read(folder.file("flight")).expect("it is there");
    let place = bytes.len() * 3 / 4;
    bytes[place] ^= 1;
    write(folder.file("flipped"), &bytes).expect("the file can be written");
    let (success, said) = replay(&folder.file("flipped"), &[]);
    assert!(!success && has(&said, "decision default/web: too few replicas"), "{said:#?}");
    assert!(said.last().is_some_and(|line| line.contains("; then the recording is damaged at byte ")), "{said:#?}");
}

//! The demo's story, told by the demo itself, whatever happens to its watches.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use sanskube_e2e::process::Process;

const SANSKUBE: &str = env!("CARGO_BIN_EXE_sanskube-under-test");

fn play(faults: &[&str]) {
    let (status, said) = Process::start(SANSKUBE, &[&["demo"], faults].concat()).finish();
    let steps = said.iter().filter(|line| line.starts_with("ok ")).count();
    let passed = said.iter().any(|line| line.starts_with("All 11 steps passed"));
    assert!(status.success() && steps == 11 && passed, "{status}: {said:#?}");
}

#[test]
fn the_story_passes() {
    play(&[]);
}

#[test]
fn the_story_passes_when_every_watch_is_closed_after_a_second() {
    play(&["--close-watches-after", "1000"]);
}

#[test]
fn the_story_passes_when_one_watch_in_three_is_cut_in_the_middle_of_a_frame() {
    play(&["--cut-watches", "3"]);
}

#[test]
fn the_story_ends_quietly_when_nobody_listens_any_more() {
    // As `sanskube demo | head -1` does, and `sanskube completions bash | head -1`.
    for args in [&["demo"][..], &["completions", "bash"]] {
        let mut child = Command::new(SANSKUBE)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let mut line = String::new();
        BufReader::with_capacity(1, child.stdout.take().expect("stdout is a pipe"))
            .read_line(&mut line)
            .expect("it says something");
        let mut complaints = String::new();
        child.stderr.take().expect("stderr is a pipe").read_to_string(&mut complaints).expect("it is text");
        let status = child.wait().expect("it ends");
        assert!(status.success() && complaints.is_empty() && !line.is_empty(), "{args:?}: {status}: {complaints}");
    }
}

#[test]
fn a_story_that_is_broken_off_says_by_which_signal() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut process = Process::start(SANSKUBE, &["demo"]);
        process.wait_for("ok ");
        process.signal(signal);
        assert_eq!(process.finish().0.code(), Some(code), "{signal}");
    }
}

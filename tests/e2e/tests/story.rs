//! The demo's story, told by the demo itself, whatever happens to its watches.

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

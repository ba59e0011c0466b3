//! Every recorded API case, played against the in-memory API server in this process.

use std::path::Path;

use sanskube_conformance::api::{InProcess, Outcome, load, run};

/// Cases that differ, and why. A case of this list that passes must leave it.
const EXPECTED_TO_FAIL: [&str; 0] = [];

#[test]
fn recorded_api_cases_are_answered_as_recorded() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/api");
    let cases = load(&dir).expect("the cases are part of the project");
    let mut wrong = Vec::new();
    let mut served = 0;
    for case in &cases {
        let expected_to_fail = EXPECTED_TO_FAIL.contains(&case.name.as_str());
        match run(case, &mut InProcess::new(case)) {
            Outcome::NotServed(_) => {}
            Outcome::Compared(differences) => {
                served += 1;
                if differences.is_empty() && expected_to_fail {
                    wrong.push(format!("{} passes: take it off the list", case.name));
                }
                if !differences.is_empty() && !expected_to_fail {
                    wrong.push(format!("{}:\n    {}", case.name, differences.join("\n    ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(served > 100, "only {served} cases were played");
}

#[test]
fn the_same_case_is_answered_alike_twice() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/api");
    for case in load(&dir).expect("the cases are part of the project") {
        let (a, b) = (run(&case, &mut InProcess::new(&case)), run(&case, &mut InProcess::new(&case)));
        assert_eq!(a, b, "{}", case.name);
    }
}

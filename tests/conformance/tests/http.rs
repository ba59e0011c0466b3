//! Recorded API cases that need no waiting, played over a real socket.

use std::path::Path;

use sanskube_apiserver::{Config, Server, ServerConfig, Token};
use sanskube_conformance::api::{Http, Outcome, load, run};

const AREAS: [&str; 12] = [
    "apply",
    "configmaps",
    "deletion",
    "dryrun",
    "leases",
    "patch",
    "paths",
    "pod-subresources",
    "pods",
    "protobuf",
    "replicasets",
    "representations",
];

#[test]
fn recorded_api_cases_are_answered_alike_over_http() {
    let token = |token: &str, admin| Token { token: token.to_owned(), user: token.to_owned(), admin };
    let api = Config {
        tokens: vec![token("admin", true), token("weak", false)],
        garbage_collector: false,
        namespace_controller: false,
        quota_controller: false,
        ..Config::default()
    };
    let server = Server::start(ServerConfig { api, ..ServerConfig::default() }).expect("a free port");
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/api");
    let mut wrong = Vec::new();
    let mut played = 0;
    for case in load(&dir).expect("the cases are part of the project") {
        // The answers of one case depend on the day it was recorded.
        if !AREAS.contains(&case.area.as_str()) || case.name == "table_pod_states" {
            continue;
        }
        if let Outcome::Compared(differences) = run(&case, &mut Http::new(&server.url(), "admin", "weak")) {
            played += 1;
            if !differences.is_empty() {
                wrong.push(format!("{}:\n    {}", case.name, differences.join("\n    ")));
            }
        }
    }
    server.stop();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played > 50, "only {played} cases were played");
}

//! Measures the state machine alone: pods, watchers and writes, in the time of one core.
//!
//! `load [PODS] [WATCHERS] [WRITES]`, by default 100000, 50 and 20000.

use std::time::{Duration, Instant};

use sanskube_apiserver::{ApiServer, Config, Now, Reply, Request, WatchState};

fn rss() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .map_or_else(|| "?".to_owned(), |kb| format!("{} MiB", kb.parse::<u64>().unwrap_or(0) / 1024))
}

/// Seconds that this process was on a core, which do not depend on who else uses the machine.
fn on_core() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().unwrap_or(0));
    let (pods, watchers, writes) =
        (args.next().unwrap_or(100_000), args.next().unwrap_or(50), args.next().unwrap_or(20_000));
    let wall = "2026-01-01T00:00:00Z".parse().expect("a time");
    let mut now = Now { monotonic: Duration::ZERO, wall };
    let mut api = ApiServer::new(Config::default(), now);
    let owner = r#"[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"11111111-1111-4111-8111-111111111111","controller":true,"blockOwnerDeletion":true}]"#;
    let begun = on_core();
    for i in 0..pods {
        let body = format!(
            r#"{{"metadata":{{"name":"web-{i}","labels":{{"app":"web","pod-template-hash":"abcdef"}},"ownerReferences":{owner}}},"spec":{{"nodeName":"node-{}","containers":[{{"name":"c","image":"registry.example/app:1","ports":[{{"containerPort":80}}]}}]}}}}"#,
            i % 100
        );
        let request = Request::new("POST", "/api/v1/namespaces/default/pods").with_body("application/json", body);
        match api.handle_request(now, &request) {
            Reply::Response(r) if r.status == 201 => {}
            other => panic!("{other:?}"),
        }
        while api.poll_ready().is_some() {}
    }
    let took = on_core() - begun;
    println!("{pods} pods made in {took:.2} s of one core: {:.0}/s, {} resident", pods as f64 / took, rss());
    let mut open = Vec::new();
    for _ in 0..watchers {
        let target = format!("/api/v1/pods?watch=1&timeoutSeconds=3600&resourceVersion={}", api.resource_version());
        match api.handle_request(now, &Request::get(&target)) {
            Reply::Watch { id, .. } => open.push((id, 0usize)),
            other => panic!("{other:?}"),
        }
    }
    let begun = on_core();
    let mut buffer = Vec::new();
    let mut bytes = 0;
    for i in 0..writes {
        let body = format!(
            r#"{{"status":{{"phase":"Running","podIP":"10.0.{}.{}","conditions":[{{"type":"Ready","status":"{}"}}]}}}}"#,
            i / 250 % 250,
            i % 250,
            if i / pods.max(1) % 2 == 0 { "True" } else { "False" }
        );
        let target = format!("/api/v1/namespaces/default/pods/web-{}/status", i * 7 % pods);
        let request = Request::new("PATCH", &target).with_body("application/strategic-merge-patch+json", body);
        now = now.later(Duration::from_micros(200));
        match api.handle_request(now, &request) {
            Reply::Response(r) if r.status == 200 => {}
            other => panic!("{other:?}"),
        }
        while let Some(id) = api.poll_ready() {
            buffer.clear();
            assert_eq!(api.poll_watch(id, now, 1 << 20, &mut buffer), WatchState::Open);
            bytes += buffer.len();
            if let Some((_, n)) = open.iter_mut().find(|(w, _)| *w == id) {
                *n += 1;
            }
        }
    }
    let took = on_core() - begun;
    println!(
        "{writes} status patches to {watchers} watchers in {took:.2} s of one core: {:.0} writes/s, {:.0} MiB/s of frames, {} resident",
        writes as f64 / took,
        bytes as f64 / took / (1 << 20) as f64,
        rss()
    );
    let begun = Instant::now();
    let Reply::Response(list) = api.handle_request(now, &Request::get("/api/v1/pods?resourceVersion=0")) else {
        panic!("a list is answered at once");
    };
    println!("list of all: {} MiB in {:?}", list.body.len() >> 20, begun.elapsed());
}

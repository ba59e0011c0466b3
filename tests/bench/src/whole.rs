//! `whole`: whole controllers, as processes, do the same work against the same API server.
//!
//! The cluster has pods enough to fill a cache. Then sets are made and scaled, and it is measured what that takes the controller: processor time
//! and memory as the system counts them, and how long it is until every set has what it wants.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sanskube_apiserver::{ApiServer, Config, Now, Request, Server, ServerConfig};
use serde_json::{Value, json};

use crate::generator;

/// Pods that belong to nobody the controller knows.
const OTHERS: usize = 20_000;
const SETS: usize = 50;
/// How many pods every set has, one after the other.
const REPLICAS: [usize; 4] = [40, 60, 10, 0];
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// What the work took.
pub(crate) struct Taken {
    /// From the first change to the last pod and status.
    pub(crate) converged: Duration,
    /// Processor time from start to end.
    pub(crate) processor: Duration,
    /// The most memory at any time, in kilobytes.
    pub(crate) memory: u64,
}

/// Measures `sanskube` and, if its path is given, kube-controller-manager.
pub(crate) fn run(ours: &str, theirs: Option<&str>) -> crate::Result {
    let ours = sanskube(ours)?;
    print("sanskube", &ours);
    let Some(program) = theirs else { return Ok(()) };
    let theirs = kube_controller_manager(program)?;
    print("kube-controller-manager", &theirs);
    println!(
        "ratios: processor time 1/{:.1}, memory 1/{:.1}, time to converge {:.2} ×",
        theirs.processor.as_secs_f64() / ours.processor.as_secs_f64(),
        theirs.memory as f64 / ours.memory as f64,
        ours.converged.as_secs_f64() / theirs.converged.as_secs_f64(),
    );
    Ok(())
}

/// Measures `sanskube`.
pub(crate) fn sanskube(program: &str) -> crate::Result<Taken> {
    measure(|url| {
        let mut command = Command::new(program);
        command.args(["run", "--controllers=replicaset", "--server", url]);
        command.args(["--kube-api-qps=1000", "--kube-api-burst=1000", "--log-level=error"]);
        Ok(command)
    })
}

/// Measures kube-controller-manager: only its ReplicaSet controller, with the same limits.
pub(crate) fn kube_controller_manager(program: &str) -> crate::Result<Taken> {
    let folder = std::env::temp_dir().join(format!("sanskube-whole-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let theirs = measure(|url| go_command(program, url, &folder));
    std::fs::remove_dir_all(&folder)?;
    theirs
}

fn print(name: &str, taken: &Taken) {
    let Taken { converged, processor, memory } = taken;
    println!("{name}: converged in {converged:.1?}, {processor:.2?} of processor time, {memory} kB of memory");
}

fn go_command(program: &str, url: &str, folder: &Path) -> crate::Result<Command> {
    let kubeconfig = folder.join("kubeconfig");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]});
    std::fs::write(&kubeconfig, config.to_string())?;
    let mut command = Command::new(program);
    command.arg("--kubeconfig").arg(kubeconfig).args(["--controllers=replicaset-controller", "--leader-elect=false"]);
    command.args(["--kube-api-qps=1000", "--kube-api-burst=1000", "--secure-port=0", "-v=0"]);
    Ok(command)
}

/// Starts a controller beside a cluster of its own, and lets it work.
fn measure(command: impl FnOnce(&str) -> crate::Result<Command>) -> crate::Result<Taken> {
    let api = Config { managed_fields: false, garbage_collector: false, ..Config::default() };
    let server = Server::start(ServerConfig { api, ..ServerConfig::default() })?;
    server.with_api(fill);
    let mut controller = Running(command(&server.url())?.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?);
    let watches = || server.with_api(|api, _| api.stats().watches);
    wait("the controller watches sets and pods", || watches() >= 2)?;
    std::thread::sleep(Duration::from_secs(2));

    let begun = Instant::now();
    server.with_api(|api, now| (0..SETS).for_each(|n| drop(ask(api, now, "POST", SETS_PATH, &set(n)))));
    for replicas in REPLICAS {
        server.with_api(|api, now| {
            let spec = json!({"spec": {"replicas": replicas}});
            (0..SETS).for_each(|n| drop(ask(api, now, "PATCH", &format!("{SETS_PATH}/web-{n}"), &spec)));
        });
        wait("every set has its pods", || {
            let list = server.with_api(|api, now| ask(api, now, "GET", SETS_PATH, &Value::Null));
            let items = list["items"].as_array().map_or(&[][..], |items| items);
            let has = |set: &Value| {
                let status = &set["status"];
                status["replicas"] == replicas && status["observedGeneration"] == set["metadata"]["generation"]
            };
            items.len() == SETS && items.iter().all(has)
        })?;
        assert_eq!(server.with_api(|api, _| api.count("pods")), OTHERS + SETS * replicas, "no pod too many");
    }
    let converged = begun.elapsed();
    let (processor, memory) = (controller.processor()?, controller.memory()?);
    Ok(Taken { converged, processor, memory })
}

const SETS_PATH: &str = "/apis/apps/v1/namespaces/default/replicasets";

fn set(n: usize) -> Value {
    let labels = json!({"app": format!("web-{n}")});
    let container = json!({"name": "main", "image": "registry.example/main:1"});
    json!({"metadata": {"name": format!("web-{n}")}, "spec": {"replicas": 0, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}})
}

/// Makes the pods that are there from the start, with their statuses.
fn fill(api: &mut ApiServer, now: Now) {
    for n in 0..OTHERS {
        let pod: Value = serde_json::from_str(&generator::pod(n, 0)).expect("the generator writes JSON");
        let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
        if n % 200 == 0 {
            ask(api, now, "POST", "/api/v1/namespaces", &json!({"metadata": {"name": namespace}}));
        }
        let (name, path) = (&pod["metadata"]["name"], format!("/api/v1/namespaces/{namespace}/pods"));
        let mut made = ask(api, now, "POST", &path, &pod);
        made["status"] = pod["status"].clone();
        ask(api, now, "PUT", &format!("{path}/{}/status", name.as_str().unwrap_or_default()), &made);
    }
}

fn ask(api: &mut ApiServer, now: Now, method: &str, path: &str, body: &Value) -> Value {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let mut request = Request::new(method, path);
    if !body.is_null() {
        let mut body = body.clone();
        if method == "POST"
            && let Some(meta) = body.get_mut("metadata").and_then(Value::as_object_mut)
        {
            // The server gives it.
            meta.remove("resourceVersion");
        }
        request = request.with_body(content, body.to_string());
    }
    let answer = api.handle_request(now, &request).response().unwrap_or_default();
    let text = String::from_utf8_lossy(&answer.body);
    assert!((200..300).contains(&answer.status), "{method} {path}: {} {text}", answer.status);
    answer.json().unwrap_or_default()
}

fn wait(what: &str, mut done: impl FnMut() -> bool) -> crate::Result {
    let begun = Instant::now();
    while !done() {
        if begun.elapsed() > PATIENCE {
            return Err(format!("waited in vain: {what}").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A process that is killed in the end.
struct Running(Child);

impl Running {
    fn file(&self, name: &str) -> crate::Result<String> {
        Ok(std::fs::read_to_string(format!("/proc/{}/{name}", self.0.id()))?)
    }

    /// User and system time (`proc_pid_stat(5)`), which are counted in hundredths of a second.
    fn processor(&mut self) -> crate::Result<Duration> {
        let stat = self.file("stat")?;
        let after_name = stat.rsplit_once(')').ok_or("a process has a name")?.1;
        let ticks: u64 = after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
        Ok(Duration::from_millis(ticks * 10))
    }

    fn memory(&self) -> crate::Result<u64> {
        let status = self.file("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("the system counts memory")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

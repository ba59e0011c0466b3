//! A real kubectl against a cluster of this process.

use std::io::{Write as _, stderr};
use std::process::{Command, Output, Stdio};
use std::sync::Once;

use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::process::Process;

/// A cluster, and the kubectl that talks to it.
#[derive(Debug)]
pub struct Kubectl {
    /// The cluster.
    pub cluster: Cluster,
    program: String,
    /// Where it keeps what it has discovered, and where manifests are.
    home: TempDir,
}

impl Kubectl {
    /// Starts a cluster for the kubectl that the environment variable `KUBECTL` names. None if it names none, which
    /// is said once; with `CI=true` that is a failure.
    pub fn start() -> Option<Self> {
        let Ok(program) = std::env::var("KUBECTL") else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "KUBECTL has to name a kubectl");
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                // Past the harness, which keeps to itself what passing tests print.
                let _ = writeln!(stderr(), "skipped the tests of kubectl: KUBECTL names none");
            });
            return None;
        };
        let home = TempDir::new().expect("there is room for a folder");
        Some(Self { cluster: Cluster::start(), program, home })
    }

    /// Writes a manifest, to be named in arguments.
    pub fn manifest(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).expect("the file can be written");
        path.to_str().expect("temporary folders have plain names").to_owned()
    }

    /// What it prints when it succeeds.
    pub fn run(&self, line: &str) -> String {
        self.run_with(line, &[])
    }

    /// The same with further arguments, which may have spaces.
    pub fn run_with(&self, line: &str, more: &[&str]) -> String {
        let output = self.output(line, more);
        let (said, complaint) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "kubectl {line} {more:?}: {said}{complaint}");
        said
    }

    /// What it complains about when it fails.
    pub fn fail(&self, line: &str) -> String {
        let output = self.output(line, &[]);
        assert!(!output.status.success(), "kubectl {line}: {}", text(&output.stdout));
        text(&output.stderr)
    }

    /// Starts one that does not end by itself.
    pub fn spawn(&self, line: &str) -> Process {
        let mut args = self.common();
        args.extend(line.split_whitespace().map(str::to_owned));
        Process::start(&self.program, &args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn output(&self, line: &str, more: &[&str]) -> Output {
        let mut command = Command::new(&self.program);
        command.args(self.common()).args(line.split_whitespace()).args(more);
        command.env("HOME", self.home.path()).env("KUBECONFIG", "/dev/null").env_remove("KUBERNETES_SERVICE_HOST");
        command.stdin(Stdio::null()).output().expect("kubectl can be started")
    }

    fn common(&self) -> Vec<String> {
        let cache = self.home.path().join("cache");
        let cache = cache.to_str().expect("temporary folders have plain names");
        vec!["--server".into(), self.cluster.server.url(), "--cache-dir".into(), cache.into()]
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

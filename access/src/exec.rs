//! Credentials that a program says, which is run when there are none or they have expired.

use std::env::consts::EXE_SUFFIX;
use std::fmt;
use std::fs::read;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::spawn;
use std::time::{Duration, Instant};

use http::HeaderValue;
use sanskube::kubeconfig::{ExecCredential, ExecPlugin, FilePath};

use crate::clock::Clock;
use crate::connect;
use crate::credentials::bearer;
use crate::error::AccessError;
use crate::tls::Identity;

/// How long a plugin may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a plugin is left alone after it was run, whatever it said.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest answer that is read.
const ANSWER_BYTES: u64 = 1 << 20;

/// A plugin, and what it said last.
pub(crate) struct Exec {
    plugin: ExecPlugin,
    program: PathBuf,
    said: Mutex<Said>,
    /// Grows with each certificate.
    generation: AtomicU64,
}

/// What a plugin said last.
#[derive(Default)]
struct Said {
    credential: Option<ExecCredential>,
    authorization: Option<HeaderValue>,
    identity: Option<Identity>,
    /// When it was run last.
    run: Option<Instant>,
    /// What was said last about what is wrong.
    complaint: Option<String>,
}

impl Exec {
    /// Runs the plugin for the first time.
    ///
    /// # Errors
    /// There is no such program.
    pub(crate) fn start(plugin: ExecPlugin) -> Result<Self, AccessError> {
        let program = locate(&plugin.command);
        let exec = Self { plugin, program, said: Mutex::default(), generation: AtomicU64::new(0) };
        let mut said = exec.said();
        let run = exec.run();
        if run.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
            let hint = exec.plugin.install_hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            let what = format!("the exec plugin {}", exec.program.display());
            return Err(AccessError::Credential { what, problem: format!("there is no such program{hint}") });
        }
        exec.keep(&mut said, run);
        drop(said);
        Ok(exec)
    }

    /// The value of the header `Authorization` now, if there is to be one.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut said = self.said();
        if (said.is_missing() || said.is_expired()) && !said.is_fresh() {
            let run = self.run();
            self.keep(&mut said, run);
        }
        said.authorization.clone()
    }

    /// The server did not take a header. Runs the plugin again, unless somebody has just done so.
    pub(crate) fn renew(&self) {
        let mut said = self.said();
        if !said.is_fresh() {
            let run = self.run();
            self.keep(&mut said, run);
        }
    }

    /// The certificate that the plugin said last, if there was one.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.said().identity.clone()
    }

    /// Grows with each certificate.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        // What is kept is replaced field by field, and each mixture is only old and new credentials of one user.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, said: &mut Said, run: io::Result<Vec<u8>>) {
        said.run = Some(Instant::now());
        let taken = run.map_err(|e| e.to_string()).and_then(|printed| self.plugin.credential(&printed));
        let taken = taken.and_then(|credential| self.take(said, credential));
        match taken {
            Ok(()) => said.complaint = None,
            // The credential that there was is kept: it may do yet.
            Err(problem) if said.complaint.as_ref() != Some(&problem) => {
                log::warn!("the exec plugin {} {problem}", self.program.display());
                said.complaint = Some(problem);
            }
            Err(_) => {}
        }
    }

    fn take(&self, said: &mut Said, credential: ExecCredential) -> Result<(), String> {
        let authorization = match &credential.token {
            None => None,
            Some(token) => Some(bearer(token.trim()).ok_or("printed a token that a header cannot hold")?),
        };
        let client = credential.client.clone();
        if said.credential.as_ref().and_then(|before| before.client.as_ref()) != client.as_ref() {
            said.identity = match client {
                None => None,
                Some((certificate, key)) => {
                    let identity = Identity::from_pem(&certificate, &key);
                    Some(identity.map_err(|e| format!("printed a certificate that cannot be used: {e}"))?)
                }
            };
            self.generation.fetch_add(1, Ordering::Release);
        }
        said.authorization = authorization;
        said.credential = Some(credential);
        Ok(())
    }

    /// Runs the plugin to its end, or until the patience with it has.
    fn run(&self) -> io::Result<Vec<u8>> {
        let authority = self.plugin.authority_file.as_ref().map(|file| read(connect::locate(file))).transpose();
        let authority =
            authority.map_err(|e| io::Error::other(format!("cannot be told the certificate authority: {e}")))?;
        let mut command = Command::new(&self.program);
        command.args(&self.plugin.args).env("KUBERNETES_EXEC_INFO", self.plugin.info(authority.as_deref()));
        command.envs(self.plugin.env.iter().map(|(name, value)| (name, value)));
        // What it has to tell a person goes where our own lines go.
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (sender, printed) = channel();
        spawn(move || {
            let mut bytes = Vec::new();
            let read = output.take(ANSWER_BYTES).read_to_end(&mut bytes).map(|_| bytes);
            // Who waited for it may have lost patience.
            let _ = sender.send(read);
        });
        let Ok(printed) = printed.recv_timeout(PATIENCE) else {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other(format!("did not end in {} s", PATIENCE.as_secs())));
        };
        let status = child.wait()?;
        if !status.success() {
            return Err(io::Error::other(format!("failed: {status}")));
        }
        printed
    }
}

impl Said {
    fn is_missing(&self) -> bool {
        self.credential.is_none()
    }

    fn is_expired(&self) -> bool {
        let expires = self.credential.as_ref().and_then(|credential| credential.expires);
        expires.is_some_and(|expires| expires <= Clock::start().now().wall)
    }

    /// Whether it was run so short a time ago that it would hardly say anything else now.
    fn is_fresh(&self) -> bool {
        self.run.is_some_and(|run| run.elapsed() < PAUSE)
    }
}

impl fmt::Debug for Exec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exec({})", self.program.display())
    }
}

/// A bare name is looked for in `PATH`; a path is relative to the kubeconfig (client-go `tools/clientcmd/loader.go`, `resolveLocalPaths`).
fn locate(command: &FilePath) -> PathBuf {
    let path = Path::new(&command.path);
    if path.components().count() == 1 && !command.path.starts_with('.') {
        let name =
            if command.path.ends_with(EXE_SUFFIX) { command.path.clone() } else { command.path.clone() + EXE_SUFFIX };
        return name.into();
    }
    Path::new(&command.named_in).parent().map_or_else(|| path.to_owned(), |folder| folder.join(path))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{Permissions, read_to_string, set_permissions, write};
    use std::os::unix::fs::PermissionsExt as _;

    use sanskube::kubeconfig::{Credentials, Kubeconfig};
    use tempfile::TempDir;

    use super::*;

    const KUBECONFIG: &str = "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
        clusters: [{name: k, cluster: {server: 'https://k'}}],
        users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}}}]}";

    /// A plugin whose answer is `status`, that writes a line to the file `runs` each time.
    fn plugin(folder: &TempDir, status: &str) -> Exec {
        let path = |name: &str| folder.path().join(name);
        let answer = format!(
            "{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{status}}}"
        );
        write(path("answer"), answer).unwrap();
        let script = format!("#!/bin/sh\necho run >> {0}/runs\ncat {0}/answer\n", folder.path().display());
        write(path("plugin"), script).unwrap();
        set_permissions(path("plugin"), Permissions::from_mode(0o755)).unwrap();
        let config = Kubeconfig::parse(path("config").to_str().unwrap(), KUBECONFIG).unwrap();
        let Credentials::Exec(plugin) = config.access(None).unwrap().credentials else { panic!("it has a plugin") };
        Exec::start(*plugin).unwrap()
    }

    fn runs(folder: &TempDir) -> usize {
        read_to_string(folder.path().join("runs")).unwrap().lines().count()
    }

    #[test]
    fn a_token_without_an_end_is_asked_for_once() {
        let folder = tempfile::tempdir().unwrap();
        let exec = plugin(&folder, "{\"token\":\"t\"}");
        for _ in 0..3 {
            assert_eq!(exec.header().unwrap(), "Bearer t");
        }
        assert_eq!((runs(&folder), exec.generation()), (1, 0));
        assert!(exec.identity().is_none());
    }

    #[test]
    fn a_token_that_has_expired_or_was_refused_is_asked_for_again_but_not_all_the_time() {
        let folder = tempfile::tempdir().unwrap();
        let exec = plugin(&folder, "{\"token\":\"t\",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"}");
        exec.renew();
        assert_eq!(exec.header().unwrap(), "Bearer t");
        assert_eq!(runs(&folder), 1);
        // As if it had been some time ago.
        for (again, run) in [(true, 2), (false, 3)] {
            exec.said().run = None;
            if again {
                exec.renew();
            } else {
                drop(exec.header());
            }
            assert_eq!(runs(&folder), run);
        }
    }

    #[test]
    fn a_plugin_is_told_the_authority_that_the_kubeconfig_has_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let exec = plugin(&folder, "{\"token\":\"t\"}");
        let path = |name: &str| folder.path().join(name);
        write(
            path("plugin"),
            format!("#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" > {}/info\n", folder.path().display()),
        )
        .unwrap();
        write(path("ca.crt"), "hi").unwrap();
        let file = FilePath { path: "ca.crt".into(), named_in: path("config").to_str().unwrap().into() };
        let told = "provideClusterInfo: true, command: ./plugin";
        let config = KUBECONFIG
            .replace("'https://k'", "'https://k', certificate-authority: ca.crt")
            .replace("command: ./plugin", told);
        let config = Kubeconfig::parse(path("config").to_str().unwrap(), &config).unwrap();
        let Credentials::Exec(plugin) = config.access(None).unwrap().credentials else { panic!("it has a plugin") };
        assert_eq!(plugin.authority_file, Some(file));
        drop(exec);
        Exec::start(*plugin).unwrap();
        assert!(read_to_string(path("info")).unwrap().contains(r#""certificate-authority-data":"aGk=""#));
    }

    #[test]
    fn what_a_plugin_said_before_it_failed_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let exec = plugin(&folder, "{\"token\":\"t\",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"}");
        write(folder.path().join("answer"), "nonsense").unwrap();
        exec.said().run = None;
        assert_eq!(exec.header().unwrap(), "Bearer t");
        assert_eq!(exec.said().complaint.as_deref(), Some("did not print JSON (line 1)"));
    }

    #[test]
    fn a_client_certificate_is_taken_and_a_new_one_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let pair = || {
            let made = rcgen::generate_simple_self_signed(["ann".to_owned()]).unwrap();
            let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
            let escape = |pem: String| pem.replace('\n', "\\n").replace('\r', "");
            format!("{{\"clientCertificateData\":\"{}\",\"clientKeyData\":\"{}\"}}", escape(certificate), escape(key))
        };
        let exec = plugin(&folder, &pair());
        assert!(exec.identity().is_some() && exec.header().is_none());
        assert_eq!(exec.generation(), 1);
        drop(plugin(&folder, &pair()));
        exec.said().run = None;
        exec.renew();
        assert_eq!(exec.generation(), 2);
    }
}

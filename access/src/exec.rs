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
mod tests;

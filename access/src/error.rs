//! Why no way to a cluster was found.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use sanskube::kubeconfig::KubeconfigError;

/// There is no way to a cluster, for a reason that trying again does not change.
#[derive(Debug)]
pub enum AccessError {
    /// A certificate, a key or a token cannot be used.
    Credential {
        /// What it is, and where it comes from.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file cannot be read.
    File {
        /// What it was to be.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A kubeconfig, or an entry in it, cannot be used.
    Kubeconfig(KubeconfigError),
    /// None of the files that `KUBECONFIG` names is there.
    NoFile(OsString),
    /// Nothing says where a cluster is.
    Nowhere,
    /// The URL of the server or of the proxy is not one that can be used.
    Url {
        /// The URL, without a name and a password.
        url: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credential { what, problem } => write!(f, "{what}: {problem}"),
            Self::File { what, path, error } => write!(f, "cannot read the {what} {}: {error}", path.display()),
            Self::Kubeconfig(error) => error.fmt(f),
            Self::NoFile(list) => write!(f, "no file named in KUBECONFIG exists: {}", list.display()),
            Self::Nowhere => f.write_str(
                "no cluster: pass --server or --kubeconfig, set KUBECONFIG, or write ~/.kube/config; \
                 in a pod, mount a service account",
            ),
            Self::Url { url, problem } => write!(f, "{url:?} {problem}"),
        }
    }
}

impl std::error::Error for AccessError {}

impl From<KubeconfigError> for AccessError {
    fn from(error: KubeconfigError) -> Self {
        Self::Kubeconfig(error)
    }
}

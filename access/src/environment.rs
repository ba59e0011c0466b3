//! What the process is told about its cluster by those who started it.

use std::env::var_os;
use std::ffi::OsString;
use std::path::PathBuf;

/// What the process is told about its cluster by those who started it. A value, so that a test can set it.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `KUBECONFIG`: paths of kubeconfig files, separated as in `PATH`.
    pub kubeconfig: Option<OsString>,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// `KUBERNETES_SERVICE_HOST`: the address of the API server, in a pod.
    pub service_host: Option<String>,
    /// `KUBERNETES_SERVICE_PORT`: its port.
    pub service_port: Option<String>,
    /// The folder where a pod finds its service account.
    pub service_account: PathBuf,
}

impl Environment {
    /// The environment of this process.
    pub fn read() -> Self {
        let text = |name| var_os(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty());
        Self {
            kubeconfig: var_os("KUBECONFIG").filter(|value| !value.is_empty()),
            home: std::env::home_dir(),
            service_host: text("KUBERNETES_SERVICE_HOST"),
            service_port: text("KUBERNETES_SERVICE_PORT"),
            service_account: "/var/run/secrets/kubernetes.io/serviceaccount".into(),
        }
    }
}

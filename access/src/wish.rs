//! Which cluster is asked for, and where it is looked for.

use std::env::split_paths;
use std::ffi::OsStr;
use std::fs::read_to_string;
use std::io;
use std::path::{Path, PathBuf};

use sanskube::kubeconfig::{Access, Credentials, FilePath, Impersonation, Kubeconfig, Source, Tls};

use crate::environment::Environment;
use crate::error::AccessError;
use crate::find::{Found, file_error};

/// Which cluster is asked for. Nothing set: whichever the [`Environment`] leads to.
///
/// The first of these that is there: a server named outright, a kubeconfig named outright, the files that `KUBECONFIG` names, the service account of the pod
/// that this runs in, and `~/.kube/config`. What a kubeconfig means is decided by [`sanskube::kubeconfig`].
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The URL of a server to talk to without credentials. Nothing else is looked at then.
    pub server: Option<String>,
    /// The kubeconfig file to use.
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use instead of its current one.
    pub context: Option<String>,
}

impl Wish {
    /// Finds the cluster. Reads files; talks to nobody.
    ///
    /// # Errors
    /// There is no cluster, or what leads to it cannot be used. Trying again does not help.
    pub fn find(&self, environment: &Environment) -> Result<Found, AccessError> {
        Found::read(self.access(environment)?)
    }

    fn access(&self, environment: &Environment) -> Result<Access, AccessError> {
        let context = self.context.as_deref();
        if let Some(server) = &self.server {
            return Ok(plain(server.clone()));
        }
        if let Some(path) = &self.kubeconfig {
            return Ok(read_kubeconfig(path)?.access(context)?);
        }
        if let Some(list) = &environment.kubeconfig {
            return Ok(read_kubeconfigs(list)?.access(context)?);
        }
        if let Some(access) = in_cluster(environment).filter(|_| context.is_none()) {
            return Ok(access);
        }
        let path = environment.home.as_ref().map(|home| home.join(".kube").join("config"));
        match path.filter(|path| path.exists()) {
            Some(path) => Ok(read_kubeconfig(&path)?.access(context)?),
            None => Err(AccessError::Nowhere),
        }
    }
}

fn plain(server: String) -> Access {
    Access {
        server,
        proxy: None,
        namespace: None,
        tls: Tls::default(),
        credentials: Credentials::None,
        impersonation: Impersonation::default(),
        disable_compression: false,
    }
}

fn read_kubeconfig(path: &Path) -> Result<Kubeconfig, AccessError> {
    let text = read_to_string(path).map_err(file_error("kubeconfig", path))?;
    Ok(Kubeconfig::parse(&path.to_string_lossy(), &text)?)
}

/// Merges the files of a list as in `KUBECONFIG`. Those that are not there are passed over, as client-go does
/// (`tools/clientcmd/loader.go`, `ClientConfigLoadingRules.Load`).
fn read_kubeconfigs(list: &OsStr) -> Result<Kubeconfig, AccessError> {
    let mut merged: Option<Kubeconfig> = None;
    for path in split_paths(list).filter(|path| !path.as_os_str().is_empty()) {
        match (read_kubeconfig(&path), &mut merged) {
            (Err(AccessError::File { error, .. }), _) if error.kind() == io::ErrorKind::NotFound => {}
            (config, None) => merged = Some(config?),
            (config, Some(merged)) => merged.merge(config?),
        }
    }
    merged.ok_or_else(|| AccessError::NoFile(list.to_owned()))
}

/// The cluster that this process runs in as a pod, if it does (client-go `rest/config.go`, `InClusterConfig`).
fn in_cluster(environment: &Environment) -> Option<Access> {
    let (host, port) = (environment.service_host.as_ref()?, environment.service_port.as_ref()?);
    let token = environment.service_account.join("token");
    if !token.exists() {
        return None;
    }
    let url = if host.contains(':') { format!("https://[{host}]:{port}") } else { format!("https://{host}:{port}") };
    let file = |path: PathBuf| FilePath { path: path.to_string_lossy().into_owned(), named_in: String::new() };
    let authority = Source::File(file(environment.service_account.join("ca.crt")));
    Some(Access {
        tls: Tls { certificate_authority: Some(authority), ..Tls::default() },
        credentials: Credentials::TokenFile { file: file(token), fallback: None },
        ..plain(url)
    })
}

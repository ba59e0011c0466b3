//! Which cluster is asked for, and where it is looked for.

use std::env::split_paths;
use std::ffi::OsStr;
use std::fs::read_to_string;
use std::io;
use std::path::{Path, PathBuf};

use sanskube::kubeconfig::{Access, Credentials as Wanted, FilePath, Impersonation, Kubeconfig, Source, Tls};

use crate::connect::{connect, file_error, server};
use crate::environment::Environment;
use crate::error::AccessError;
use crate::server::Server;

/// Which cluster is asked for. Nothing set: whichever the [`Environment`] leads to.
///
/// The first of these that is there: a server named outright, a kubeconfig named outright, the files that `KUBECONFIG` names or else `~/.kube/config`, and
/// the service account of the pod that this runs in. Files that name no current context are passed over where there is such a pod. The order is
/// kubectl's (client-go `tools/clientcmd/merged_client_builder.go`, `DeferredLoadingClientConfig.ClientConfig`). What a kubeconfig means is decided
/// by [`sanskube::kubeconfig`].
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The URL of a server to talk to without credentials. Nothing else is looked at then.
    pub server: Option<String>,
    /// The URL of the server, whatever a kubeconfig says; who one is comes from there all the same.
    pub master: Option<String>,
    /// The kubeconfig file to use.
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use instead of its current one.
    pub context: Option<String>,
}

impl Wish {
    /// Finds the cluster. Reads files, and runs an exec plugin that the kubeconfig names; talks to no server.
    ///
    /// # Errors
    /// There is no cluster, or what leads to it cannot be used. Trying again does not help.
    pub fn find(&self, environment: &Environment) -> Result<Server, AccessError> {
        if let Some(url) = &self.server {
            return server(url);
        }
        match (self.access(environment)?, &self.master) {
            (Some(access), None) => connect(access),
            (Some(access), Some(url)) => connect(Access { server: url.clone(), ..access }),
            (None, Some(url)) => server(url),
            (None, None) => Err(AccessError::Nowhere),
        }
    }

    /// How to reach the cluster that the kubeconfigs or the pod lead to, if there is one.
    fn access(&self, environment: &Environment) -> Result<Option<Access>, AccessError> {
        let access = |config: Kubeconfig| Ok(Some(config.access(self.context.as_deref())?));
        if let Some(path) = &self.kubeconfig {
            return access(read_kubeconfig(path)?);
        }
        let config = match &environment.kubeconfig {
            Some(list) => read_kubeconfigs(list)?,
            None => read_home(environment)?,
        };
        let says_where =
            self.context.is_some() || config.as_ref().is_some_and(|config| config.current_context().is_some());
        if !says_where && let Some(pod) = in_cluster(environment) {
            return Ok(Some(pod));
        }
        match (config, &environment.kubeconfig) {
            (Some(config), _) => access(config),
            (None, Some(list)) => Err(AccessError::NoFile(list.clone())),
            (None, None) => Ok(None),
        }
    }
}

fn read_kubeconfig(path: &Path) -> Result<Kubeconfig, AccessError> {
    let text = read_to_string(path).map_err(file_error("kubeconfig", path))?;
    Ok(Kubeconfig::parse(&path.to_string_lossy(), &text)?)
}

/// Reads `~/.kube/config`, if it is there.
fn read_home(environment: &Environment) -> Result<Option<Kubeconfig>, AccessError> {
    let path = environment.home.as_ref().map(|home| home.join(".kube").join("config"));
    path.filter(|path| path.exists()).map(|path| read_kubeconfig(&path)).transpose()
}

/// Merges the files of a list as in `KUBECONFIG`. Those that are not there are passed over, as client-go does
/// (`tools/clientcmd/loader.go`, `ClientConfigLoadingRules.Load`); none if that is so of all.
fn read_kubeconfigs(list: &OsStr) -> Result<Option<Kubeconfig>, AccessError> {
    let mut merged: Option<Kubeconfig> = None;
    for path in split_paths(list).filter(|path| !path.as_os_str().is_empty()) {
        match (read_kubeconfig(&path), &mut merged) {
            (Err(AccessError::File { error, .. }), _) if error.kind() == io::ErrorKind::NotFound => {}
            (config, None) => merged = Some(config?),
            (config, Some(merged)) => merged.merge(config?),
        }
    }
    Ok(merged)
}

/// The cluster that this process runs in as a pod, if it does (client-go `rest/config.go`, `InClusterConfig`).
fn in_cluster(environment: &Environment) -> Option<Access> {
    let (Some(host), Some(port)) = (&environment.service_host, &environment.service_port) else { return None };
    let token = environment.service_account.join("token");
    if !token.exists() {
        return None;
    }
    let url = if host.contains(':') { format!("https://[{host}]:{port}") } else { format!("https://{host}:{port}") };
    let file = |path: PathBuf| FilePath { path: path.to_string_lossy().into_owned(), named_in: String::new() };
    let authority = Source::File(file(environment.service_account.join("ca.crt")));
    Some(Access {
        server: url,
        proxy: None,
        namespace: None,
        tls: Tls { certificate_authority: Some(authority), ..Tls::default() },
        credentials: Wanted::TokenFile { file: file(token), fallback: None },
        impersonation: Impersonation::default(),
        disable_compression: false,
    })
}

#[cfg(test)]
mod tests;

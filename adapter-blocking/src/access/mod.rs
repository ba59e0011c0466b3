//! The way to a cluster: a [`Server`], found where an operator expects it to be looked for.
//!
//! The first of these that is there: a server named outright, a kubeconfig named outright, the files that `KUBECONFIG` names, the service account of the pod
//! that this runs in, and `~/.kube/config`. What a kubeconfig means is decided by [`sanskube::kubeconfig`]; here files are
//! read.

mod environment;
mod error;
#[cfg(test)]
mod tests;
mod tls;

use std::env::split_paths;
use std::ffi::OsStr;
use std::fs::{self, read_to_string};
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sanskube::kubeconfig::{Access, Credentials as Wanted, FilePath, Impersonation, Kubeconfig, Source, Tls};
use ureq::Proxy;
use ureq::http::{self, HeaderName, HeaderValue, Uri};

pub use self::environment::Environment;
pub use self::error::AccessError;
pub(crate) use self::tls::client_certificate;

use crate::credentials::Credentials;
use crate::exec::Exec;
use crate::server::Server;

/// What is wrong with a text that cannot be sent in a header.
const UNUSABLE: &str = "has characters that a header cannot hold";

/// Which cluster is asked for. Nothing set: whichever the [`Environment`] leads to.
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
    /// Finds the cluster. Reads files; talks to nobody.
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
        if let Some(list) = &environment.kubeconfig {
            return access(read_kubeconfigs(list)?);
        }
        if self.context.is_none()
            && let Some(pod) = in_cluster(environment)
        {
            return Ok(Some(pod));
        }
        let path = environment.home.as_ref().map(|home| home.join(".kube").join("config"));
        match path.filter(|path| path.exists()) {
            Some(path) => access(read_kubeconfig(&path)?),
            None => Ok(None),
        }
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

/// Makes a server of what a kubeconfig says, reading the files that it names.
fn connect(access: Access) -> Result<Server, AccessError> {
    let mut server = server(&access.server)?;
    if let Some(url) = access.proxy {
        // The error of the parser would say less.
        let proxy = Proxy::new(&url).map_err(|_| AccessError::Url { url, problem: "is not the URL of a proxy" })?;
        server.proxy = Some(proxy);
    }
    server.server_name = access.tls.server_name.clone();
    if let (Some(name), Some(_)) = (&server.server_name, &server.proxy) {
        let problem = "cannot be honoured through a proxy: use a URL whose host is in the server's certificate".into();
        return Err(AccessError::Credential { what: format!("tls-server-name {name:?}"), problem });
    }
    server.tls = tls::config(access.tls)?;
    server.credentials = credentials(access.credentials)?;
    server.compression = !access.disable_compression;
    for (name, value) in access.impersonation.headers() {
        let unusable =
            |_: http::Error| AccessError::Credential { what: format!("{name} {value:?}"), problem: UNUSABLE.into() };
        let (name, value) = (
            HeaderName::try_from(&name).map_err(|e| unusable(e.into()))?,
            HeaderValue::try_from(&value).map_err(|e| unusable(e.into()))?,
        );
        server.headers.append(name, value);
    }
    Ok(server)
}

/// A server at this URL, without credentials.
fn server(url: &str) -> Result<Server, AccessError> {
    let error = |problem| AccessError::Url { url: url.to_owned(), problem };
    let uri: Uri = url.parse().map_err(|_| error("is not a URL: use one like https://10.0.0.1:6443"))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        Some(_) => return Err(error("has another scheme than http and https, and only these are served")),
        None => return Err(error("has no scheme: use a URL that begins with https:// or http://")),
    }
    if uri.query().is_some() {
        return Err(error("has a query: use a URL like https://10.0.0.1:6443"));
    }
    Ok(Server::new(url.trim_end_matches('/')))
}

fn credentials(wanted: Wanted) -> Result<Credentials, AccessError> {
    let unusable = |what: String| move || AccessError::Credential { what, problem: UNUSABLE.into() };
    match wanted {
        Wanted::Basic { username, password } => {
            let value = format!("Basic {}", STANDARD.encode(format!("{username}:{password}")));
            Credentials::value(&value).ok_or_else(unusable("the password".into()))
        }
        Wanted::Exec(plugin) => Ok(Credentials::exec(Exec::start(*plugin)?)),
        Wanted::None => Ok(Credentials::default()),
        Wanted::Token(token) => Credentials::token(token.trim()).ok_or_else(unusable("the token".into())),
        Wanted::TokenFile { file, fallback } => {
            let path = locate(&file);
            // Read now only to say early that it is not there; from now on it is read for each request.
            if fallback.is_none() {
                read_to_string(&path).map_err(file_error("token", &path))?;
            }
            Ok(Credentials::token_file(path, fallback.as_deref()))
        }
    }
}

/// The bytes of a source, and what to call it in errors.
fn read(what: &'static str, source: Source) -> Result<(Vec<u8>, String), AccessError> {
    match source {
        Source::Data(bytes) => Ok((bytes, format!("the {what} in the kubeconfig"))),
        Source::File(file) => {
            let path = locate(&file);
            let bytes = fs::read(&path).map_err(file_error(what, &path))?;
            Ok((bytes, format!("the {what} {}", path.display())))
        }
    }
}

/// Where a file is that a kubeconfig names: relative paths start at its folder.
fn locate(file: &FilePath) -> PathBuf {
    Path::new(&file.named_in).parent().map_or_else(|| PathBuf::from(&file.path), |folder| folder.join(&file.path))
}

fn file_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AccessError {
    let path = path.to_owned();
    move |error| AccessError::File { what, path, error }
}

//! A way to a cluster, with all that its kubeconfig only names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use sanskube::kubeconfig::{self, Access, FilePath, Source};

use crate::credentials::Credentials;
use crate::error::AccessError;
use crate::proxy::Proxy;
use crate::tls::{Identity, Tls, TlsError};

/// A way to a cluster: everything is read and checked, nothing was sent.
#[derive(Clone, Debug)]
pub struct Found {
    /// The URL of the server without a trailing slash.
    pub url: String,
    /// The namespace of the context, if it has one.
    pub namespace: Option<String>,
    /// The proxy that the kubeconfig asks for.
    pub proxy: Option<Proxy>,
    /// The name to expect in the server's certificate, where it is not the host in the URL.
    pub server_name: Option<String>,
    /// Whom to trust, and as whom to appear.
    pub tls: Arc<ClientConfig>,
    /// What to send as `Authorization`.
    pub credentials: Credentials,
    /// Headers to send with every request, as whom the server is to take one.
    pub headers: Vec<(String, String)>,
    /// Whether answers may be compressed.
    pub compression: bool,
}

impl Found {
    /// Reads the files that a kubeconfig names.
    ///
    /// # Errors
    /// Something cannot be read or used. Trying again does not help.
    pub fn read(access: Access) -> Result<Self, AccessError> {
        let url = access.server.trim_end_matches('/').to_owned();
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let problem = if url.contains("://") {
                "has another scheme than http and https, and only these are served"
            } else {
                "has no scheme: use a URL that begins with https:// or http://"
            };
            return Err(AccessError::Url { url, problem });
        }
        let proxy = match access.proxy {
            None => None,
            Some(url) => match Proxy::parse(&url) {
                Some(proxy) => Some(proxy),
                None => return Err(AccessError::Url { url, problem: "is not the URL of a proxy" }),
            },
        };
        let server_name = access.tls.server_name.clone();
        let (tls, credentials) = (tls(access.tls)?, credentials(access.credentials)?);
        let headers = access.impersonation.headers();
        if let Some((name, _)) = headers.iter().find(|(name, value)| !is_header(name, value)) {
            let problem = UNUSABLE.into();
            return Err(AccessError::Credential { what: format!("the header {name}"), problem });
        }
        Ok(Self {
            url,
            namespace: access.namespace,
            proxy,
            server_name,
            tls,
            credentials,
            headers,
            compression: !access.disable_compression,
        })
    }
}

/// What is wrong with a text that cannot be sent in a header.
const UNUSABLE: &str = "has characters that a header cannot hold";

fn tls(wanted: kubeconfig::Tls) -> Result<Arc<ClientConfig>, AccessError> {
    let mut names = [const { String::new() }; 3];
    let mut tls = Tls { insecure: wanted.insecure, ..Tls::default() };
    if let Some(source) = wanted.certificate_authority {
        let authorities;
        (authorities, names[0]) = read("certificate authority", source)?;
        tls.authorities = Some(authorities);
    }
    if let Some(client) = wanted.client {
        let (certificate, key);
        (certificate, names[1]) = read("client certificate", client.certificate)?;
        (key, names[2]) = read("client key", client.key)?;
        tls.identity = Some(Identity { certificate, key });
    }
    let [authorities, certificate, key] = names;
    tls.config().map_err(|error| match error {
        TlsError::Authorities(problem) => AccessError::Credential { what: authorities, problem: problem.into() },
        TlsError::Certificate(problem) => AccessError::Credential { what: certificate, problem },
        TlsError::Key(problem) => AccessError::Credential { what: key, problem: problem.into() },
    })
}

fn credentials(wanted: kubeconfig::Credentials) -> Result<Credentials, AccessError> {
    let unusable = |what: &str| {
        let what = what.to_owned();
        move || AccessError::Credential { what, problem: UNUSABLE.into() }
    };
    match wanted {
        kubeconfig::Credentials::Basic { username, password } => {
            Credentials::basic(&username, &password).ok_or_else(unusable("the password"))
        }
        kubeconfig::Credentials::Exec(_) => {
            let problem = "is not run here: use a token or a client certificate".into();
            Err(AccessError::Credential { what: "the credential plugin (exec)".into(), problem })
        }
        kubeconfig::Credentials::None => Ok(Credentials::default()),
        kubeconfig::Credentials::Token(token) => Credentials::token(token.trim()).ok_or_else(unusable("the token")),
        kubeconfig::Credentials::TokenFile { file, fallback } => {
            let path = locate(&file);
            // Read now only to say early that it is not there; from now on it is read for each request.
            if fallback.is_none() {
                fs::read_to_string(&path).map_err(file_error("token", &path))?;
            }
            Ok(Credentials::token_file(path, fallback.as_deref()))
        }
    }
}

/// Whether it can be a header (RFC 9110, sections 5.1 and 5.5).
fn is_header(name: &str, value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token) && value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
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

pub(crate) fn file_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AccessError {
    let path = path.to_owned();
    move |error| AccessError::File { what, path, error }
}

#[cfg(test)]
mod tests;

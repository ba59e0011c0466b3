//! A server, with all that its kubeconfig only names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use http::{HeaderName, HeaderValue, Uri};
use sanskube::kubeconfig::{self, Access, FilePath, Source};

use crate::credentials::Credentials;
use crate::error::AccessError;
use crate::exec::Exec;
use crate::proxy::Proxy;
use crate::renewed::Renewed;
use crate::server::{Server, Target, without_user};
use crate::tls::{Authorities, Identity, Tls, TlsError};

/// What is wrong with a text that cannot be sent in a header.
const UNUSABLE: &str = "has characters that a header cannot hold";

/// Makes a server of what a kubeconfig says: reads the files that it names, and runs the plugin that it has for the first time.
pub(crate) fn connect(access: Access) -> Result<Server, AccessError> {
    let mut server = server(&access.server)?;
    if let Some(url) = access.proxy {
        let Some(proxy) = Proxy::parse(&url) else {
            return Err(AccessError::Url { url: without_user(&url), problem: "is not the URL of a proxy" });
        };
        server.proxy = Some(proxy);
    }
    server.server_name = access.tls.server_name.clone();
    let (tls, renewed) = tls(access.tls)?;
    server.tls = tls;
    server.credentials = credentials(access.credentials)?;
    if let Some(renewed) = renewed {
        server.credentials = server.credentials.with_certificate(renewed);
    }
    server.compression = !access.disable_compression;
    server.namespace = access.namespace;
    for (name, value) in access.impersonation.headers() {
        let (Ok(sent), Ok(content)) = (HeaderName::try_from(&name), HeaderValue::try_from(&value)) else {
            return Err(AccessError::Credential { what: format!("{name} {value:?}"), problem: UNUSABLE.into() });
        };
        server.headers.append(sent, content);
    }
    Ok(server)
}

/// A server at this URL, without credentials.
pub(crate) fn server(url: &str) -> Result<Server, AccessError> {
    let error = |problem| AccessError::Url { url: without_user(url), problem };
    let uri: Uri = url.parse().map_err(|_| error("is not a URL: use one like https://10.0.0.1:6443"))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        Some(_) => return Err(error("has another scheme than http and https, and only these are served")),
        None => return Err(error("has no scheme: use a URL that begins with https:// or http://")),
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(error("names a user: credentials belong to a user of a kubeconfig"));
    }
    if uri.query().is_some() {
        return Err(error("has a query: use a URL like https://10.0.0.1:6443"));
    }
    if Target::of(url).is_none() {
        return Err(error("does not name a host and a port: use a URL like https://10.0.0.1:6443"));
    }
    Ok(Server::new(url.trim_end_matches('/')))
}

/// Reads the certificates. The client's own comes again as one that is renewed, where it is in files.
fn tls(wanted: kubeconfig::Tls) -> Result<(Tls, Option<Renewed>), AccessError> {
    let error = |what: &str, problem: String| AccessError::Credential { what: what.to_owned(), problem };
    let mut tls = Tls { insecure: wanted.insecure, ..Tls::default() };
    if let Some(source) = wanted.certificate_authority {
        let (pem, what) = read("certificate authority", &source)?;
        tls.authorities = Some(Authorities::from_pem(&pem).map_err(|e| error(&what, e.problem().to_owned()))?);
    }
    let mut renewed = None;
    if let Some(client) = wanted.client {
        let (certificate, what) = read("client certificate", &client.certificate)?;
        let (key, what_key) = read("client key", &client.key)?;
        let identity = Identity::from_pem(&certificate, &key).map_err(|e| {
            let what = if matches!(e, TlsError::Key(_)) { &what_key } else { &what };
            error(what, e.problem().to_owned())
        })?;
        tls.identity = Some(identity.clone());
        renewed = Renewed::new(client, (certificate, key), identity);
    }
    Ok((tls, renewed))
}

fn credentials(wanted: kubeconfig::Credentials) -> Result<Credentials, AccessError> {
    let unusable = |what: &'static str| move || AccessError::Credential { what: what.into(), problem: UNUSABLE.into() };
    match wanted {
        kubeconfig::Credentials::Basic { username, password } => {
            Credentials::basic(&username, &password).ok_or_else(unusable("the password"))
        }
        kubeconfig::Credentials::Exec(plugin) => Ok(Credentials::exec(Exec::start(*plugin)?)),
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

/// The bytes of a source, and what to call it in errors.
fn read(what: &'static str, source: &Source) -> Result<(Vec<u8>, String), AccessError> {
    match source {
        Source::Data(bytes) => Ok((bytes.clone(), format!("the {what} in the kubeconfig"))),
        Source::File(file) => {
            let path = locate(file);
            let bytes = contents(source).map_err(file_error(what, &path))?;
            Ok((bytes, format!("the {what} {}", path.display())))
        }
    }
}

/// The bytes of a source.
pub(crate) fn contents(source: &Source) -> io::Result<Vec<u8>> {
    match source {
        Source::Data(bytes) => Ok(bytes.clone()),
        Source::File(file) => fs::read(locate(file)),
    }
}

/// Where a file is that a kubeconfig names: relative paths start at its folder.
pub(crate) fn locate(file: &FilePath) -> PathBuf {
    Path::new(&file.named_in).parent().map_or_else(|| PathBuf::from(&file.path), |folder| folder.join(&file.path))
}

pub(crate) fn file_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AccessError {
    let path = path.to_owned();
    move |error| AccessError::File { what, path, error }
}

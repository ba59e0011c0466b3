//! What is sent as `Authorization`, asked for anew for each request.

use std::fmt;
use std::fs::read_to_string;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

#[cfg(feature = "kubeconfig")]
use crate::exec::Exec;
#[cfg(feature = "kubeconfig")]
use crate::renewed::Renewed;
use crate::tls::Identity;

/// What is sent as `Authorization`, and the client certificate that goes with it where one is renewed. Clones share what they last read.
#[derive(Clone, Default)]
pub struct Credentials {
    kind: Kind,
    #[cfg(feature = "kubeconfig")]
    certificate: Option<Arc<Renewed>>,
}

#[derive(Clone, Default)]
enum Kind {
    #[cfg(feature = "kubeconfig")]
    Exec(Arc<Exec>),
    Fixed(HeaderValue),
    #[default]
    None,
    TokenFile(Arc<TokenFile>),
}

/// A file with a token that somebody else renews.
struct TokenFile {
    path: PathBuf,
    /// The last good value, if there was one.
    last: Mutex<Option<HeaderValue>>,
}

impl Credentials {
    /// A bearer token. None if it has bytes that a header cannot hold.
    pub fn token(token: &str) -> Option<Self> {
        bearer(token).map(|value| Kind::Fixed(value).into())
    }

    /// A name and a password. None if they have bytes that a header cannot hold.
    pub fn basic(username: &str, password: &str) -> Option<Self> {
        secret(&basic(username, password)).map(|value| Kind::Fixed(value).into())
    }

    /// A bearer token in a file, which is read for each request: a new token is used at once, however the file was
    /// replaced. As long as the file cannot be read, the last token counts, or else `fallback`.
    pub fn token_file(path: PathBuf, fallback: Option<&str>) -> Self {
        Kind::TokenFile(Arc::new(TokenFile { path, last: Mutex::new(fallback.and_then(bearer)) })).into()
    }

    /// What a program says.
    #[cfg(feature = "kubeconfig")]
    pub(crate) fn exec(exec: Exec) -> Self {
        Kind::Exec(Arc::new(exec)).into()
    }

    /// With a client certificate that is renewed.
    #[cfg(feature = "kubeconfig")]
    pub(crate) fn with_certificate(mut self, certificate: Renewed) -> Self {
        self.certificate = Some(Arc::new(certificate));
        self
    }

    /// The server did not take `refused`. Whether there is something else to be tried now. May [block](Self::may_block).
    pub fn renew(&self, refused: Option<&HeaderValue>) -> bool {
        let before = self.generation();
        if self.header().as_ref() == refused {
            match &self.kind {
                #[cfg(feature = "kubeconfig")]
                Kind::Exec(exec) => exec.renew(),
                _ => {}
            }
        }
        self.header().as_ref() != refused || self.generation() != before
    }

    /// The value of the header now. May [block](Self::may_block).
    pub fn header(&self) -> Option<HeaderValue> {
        #[cfg(feature = "kubeconfig")]
        if let Some(certificate) = &self.certificate {
            certificate.look();
        }
        match &self.kind {
            #[cfg(feature = "kubeconfig")]
            Kind::Exec(exec) => exec.header(),
            Kind::Fixed(value) => Some(value.clone()),
            Kind::None => None,
            Kind::TokenFile(file) => file.header(),
        }
    }

    /// The client certificate that goes with them, as of when the [header](Self::header) was asked for last; none if it is none that changes.
    pub fn identity(&self) -> Option<Identity> {
        #[cfg(feature = "kubeconfig")]
        {
            let said = if let Kind::Exec(exec) = &self.kind { exec.identity() } else { None };
            said.or_else(|| self.certificate.as_ref().map(|certificate| certificate.identity()))
        }
        #[cfg(not(feature = "kubeconfig"))]
        {
            None
        }
    }

    /// Grows with each certificate.
    pub fn generation(&self) -> u64 {
        #[cfg(feature = "kubeconfig")]
        {
            let said = if let Kind::Exec(exec) = &self.kind { exec.generation() } else { 0 };
            said + self.certificate.as_ref().map_or(0, |certificate| certificate.generation())
        }
        #[cfg(not(feature = "kubeconfig"))]
        {
            0
        }
    }

    /// Whether they are asked of a file or a program, and not only remembered.
    pub fn may_block(&self) -> bool {
        #[cfg(feature = "kubeconfig")]
        if self.certificate.is_some() {
            return true;
        }
        !matches!(self.kind, Kind::Fixed(_) | Kind::None)
    }
}

impl From<Kind> for Credentials {
    fn from(kind: Kind) -> Self {
        Self {
            kind,
            #[cfg(feature = "kubeconfig")]
            certificate: None,
        }
    }
}

impl fmt::Debug for Credentials {
    /// The kind of credentials, never what they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            #[cfg(feature = "kubeconfig")]
            Kind::Exec(exec) => exec.fmt(f),
            Kind::Fixed(_) => f.write_str("Fixed"),
            Kind::None => f.write_str("None"),
            Kind::TokenFile(file) => write!(f, "TokenFile({})", file.path.display()),
        }
    }
}

impl TokenFile {
    fn header(&self) -> Option<HeaderValue> {
        // Nothing can panic while the lock is held, and the value is replaced as a whole.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let read = read_to_string(&self.path).ok().and_then(|text| bearer(text.trim()));
        if let Some(value) = read {
            *last = Some(value);
        }
        last.clone()
    }
}

/// The value of a header with a name and a password.
pub(crate) fn basic(username: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{username}:{password}")))
}

/// A header with a token; none if the token is empty, as in a file that is being written, or has bytes that do not belong there.
pub(crate) fn bearer(token: &str) -> Option<HeaderValue> {
    if token.is_empty() { None } else { secret(&format!("Bearer {token}")) }
}

fn secret(value: &str) -> Option<HeaderValue> {
    // What bytes above ASCII mean in a header nobody knows, so it holds none (RFC 9110, section 5.5).
    let mut value = HeaderValue::from_str(value).ok().filter(|value| value.as_bytes().is_ascii())?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use std::fs::{remove_file, rename, write};

    use super::*;

    // CASES C-01.
    #[test]
    fn a_token_file_is_read_again_and_the_last_token_survives_its_absence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let credentials = Credentials::token_file(path.clone(), None);
        let now = || credentials.header().map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(now(), None);
        write(&path, "t1\n").unwrap();
        assert_eq!(now().unwrap(), "Bearer t1");
        write(&path, "").unwrap();
        assert_eq!(now().unwrap(), "Bearer t1");
        remove_file(&path).unwrap();
        assert_eq!(now().unwrap(), "Bearer t1");
        write(folder.path().join("new"), " t2 ").unwrap();
        rename(folder.path().join("new"), &path).unwrap();
        assert_eq!(now().unwrap(), "Bearer t2");
    }

    // CASES C-01: the kubelet swaps a symlink.
    #[cfg(unix)]
    #[test]
    fn a_token_file_may_be_a_link_that_is_swapped() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(at("one"), "t1").unwrap();
        write(at("two"), "t2").unwrap();
        symlink(at("one"), at("token")).unwrap();
        let credentials = Credentials::token_file(at("token"), None);
        assert_eq!(credentials.header().unwrap(), "Bearer t1");
        symlink(at("two"), at("link")).unwrap();
        rename(at("link"), at("token")).unwrap();
        assert_eq!(credentials.header().unwrap(), "Bearer t2");
    }

    #[test]
    fn a_fallback_counts_until_the_file_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let credentials = Credentials::token_file(path.clone(), Some("old"));
        assert_eq!(credentials.header().unwrap(), "Bearer old");
        write(&path, "new").unwrap();
        assert_eq!(credentials.header().unwrap(), "Bearer new");
    }

    #[test]
    fn what_a_header_cannot_hold_is_refused_and_secrets_are_not_shown() {
        assert!(Credentials::token("a\nb").is_none());
        assert!(Credentials::token("").is_none() && Credentials::token("\u{e9}").is_none());
        let basic = Credentials::basic("me", "any\nthing\u{e9}").expect("it is encoded");
        assert_eq!(basic.header().unwrap(), "Basic bWU6YW55CnRoaW5nw6k=");
        let credentials = Credentials::token("hush").unwrap();
        assert!(!format!("{credentials:?} {:?}", credentials.header()).contains("hush"));
    }
}

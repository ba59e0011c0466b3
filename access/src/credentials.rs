//! What is sent as `Authorization`, asked for anew for each request.

use std::fmt;
use std::fs::read_to_string;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What is sent as `Authorization`. Clones share what they last read.
#[derive(Clone, Default)]
pub struct Credentials(Kind);

#[derive(Clone, Default)]
enum Kind {
    Fixed(Arc<str>),
    #[default]
    None,
    TokenFile(Arc<TokenFile>),
}

/// A file with a token that somebody else renews.
struct TokenFile {
    path: PathBuf,
    /// The last good value, if there was one.
    last: Mutex<Option<Arc<str>>>,
}

impl Credentials {
    /// A bearer token. None if it has bytes that a header cannot hold.
    pub fn token(token: &str) -> Option<Self> {
        bearer(token).map(|value| Self(Kind::Fixed(value)))
    }

    /// A name and a password. None if they have bytes that a header cannot hold.
    pub fn basic(username: &str, password: &str) -> Option<Self> {
        secret(basic(username, password)).map(|value| Self(Kind::Fixed(value)))
    }

    /// A bearer token in a file, which is read for each request: a new token is used at once, however the file was
    /// replaced. As long as the file cannot be read, the last token counts, or else `fallback`.
    pub fn token_file(path: PathBuf, fallback: Option<&str>) -> Self {
        Self(Kind::TokenFile(Arc::new(TokenFile { path, last: Mutex::new(fallback.and_then(bearer)) })))
    }

    /// The value of the header now.
    pub fn header(&self) -> Option<Arc<str>> {
        match &self.0 {
            Kind::Fixed(value) => Some(value.clone()),
            Kind::None => None,
            Kind::TokenFile(file) => file.header(),
        }
    }
}

impl fmt::Debug for Credentials {
    /// The kind of credentials, never what they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Fixed(_) => f.write_str("Fixed"),
            Kind::None => f.write_str("None"),
            Kind::TokenFile(file) => write!(f, "TokenFile({})", file.path.display()),
        }
    }
}

impl TokenFile {
    fn header(&self) -> Option<Arc<str>> {
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
fn bearer(token: &str) -> Option<Arc<str>> {
    if token.is_empty() { None } else { secret(format!("Bearer {token}")) }
}

fn secret(value: String) -> Option<Arc<str>> {
    // RFC 9110, section 5.5: what a field value may hold, but for bytes above ASCII, which mean something else everywhere.
    value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')).then(|| value.into())
}

#[cfg(test)]
mod tests {
    use std::fs::{remove_file, rename, write};

    use super::*;

    #[test]
    fn a_token_file_is_read_again_and_the_last_token_survives_its_absence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let credentials = Credentials::token_file(path.clone(), None);
        let now = || credentials.header().map(|value| value.to_string());
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

    #[test]
    fn what_a_header_cannot_hold_is_refused_and_secrets_are_not_shown() {
        assert!(Credentials::token("a\nb").is_none() && Credentials::token("").is_none());
        assert!(Credentials::basic("me", "any\nthing").is_some(), "it is encoded");
        assert_eq!(&*Credentials::basic("me", "x").unwrap().header().unwrap(), "Basic bWU6eA==");
        assert_eq!(format!("{:?}", Credentials::token("secret").unwrap()), "Fixed");
    }
}

//! A client certificate that somebody else renews: the files it is in are read again now and then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sanskube::kubeconfig::{ClientCertificate, Source};

use crate::connect::contents;
use crate::tls::Identity;

/// How long files are not read again. Client-go waits up to five minutes (`transport/cert_rotation.go`, `CertCallbackRefreshDuration`).
const PAUSE: Duration = Duration::from_secs(10);

/// A client certificate and its key, at least one of them in a file.
pub(crate) struct Renewed {
    source: ClientCertificate,
    known: Mutex<Known>,
    /// Grows with each certificate.
    generation: AtomicU64,
}

/// What was read last that could be used.
struct Known {
    pem: (Vec<u8>, Vec<u8>),
    identity: Identity,
    /// When the files were read last.
    read: Option<Instant>,
}

impl Renewed {
    /// A certificate that was just read from `source`. None if no file is in it, so that nobody can renew it.
    pub(crate) fn new(source: ClientCertificate, pem: (Vec<u8>, Vec<u8>), identity: Identity) -> Option<Self> {
        let is_file = |source: &Source| matches!(source, Source::File(_));
        if !is_file(&source.certificate) && !is_file(&source.key) {
            return None;
        }
        let known = Mutex::new(Known { pem, identity, read: Some(Instant::now()) });
        Some(Self { source, known, generation: AtomicU64::new(0) })
    }

    /// Reads the files again, if it was not done a moment ago. What cannot be read, or does not go together as while one file is new and
    /// the other is not yet, is passed over.
    pub(crate) fn look(&self) {
        let mut known = self.known();
        if known.read.is_some_and(|read| read.elapsed() < PAUSE) {
            return;
        }
        known.read = Some(Instant::now());
        let pem = match (contents(&self.source.certificate), contents(&self.source.key)) {
            (Ok(certificate), Ok(key)) => (certificate, key),
            (Err(e), _) | (_, Err(e)) => return log::debug!("the client certificate cannot be read again: {e}"),
        };
        if pem == known.pem {
            return;
        }
        match Identity::from_pem(&pem.0, &pem.1) {
            Ok(identity) => {
                log::info!("the client certificate was renewed");
                (known.pem, known.identity) = (pem, identity);
                self.generation.fetch_add(1, Ordering::Release);
            }
            Err(e) => log::debug!("the client certificate is another one that cannot be used: {e}"),
        }
    }

    /// The newest certificate.
    pub(crate) fn identity(&self) -> Identity {
        self.known().identity.clone()
    }

    /// Grows with each certificate.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing can panic between the changes of its fields.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{remove_file, write};
    use std::path::Path;

    use rcgen::generate_simple_self_signed;
    use sanskube::kubeconfig::FilePath;

    use super::*;
    use crate::credentials::Credentials;

    fn pair() -> (String, String) {
        let made = generate_simple_self_signed(["ann".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn in_files(folder: &Path) -> Renewed {
        let (certificate, key) = pair();
        let source = |name: &str, pem: &str| {
            write(folder.join(name), pem).unwrap();
            let named_in = folder.join("config").to_str().unwrap().to_owned();
            Source::File(FilePath { path: name.into(), named_in })
        };
        let identity = Identity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        let source = ClientCertificate { certificate: source("crt", &certificate), key: source("key", &key) };
        Renewed::new(source, (certificate.into(), key.into()), identity).unwrap()
    }

    #[test]
    fn a_certificate_that_is_renewed_is_used_once_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let renewed = in_files(folder.path());
        let first = renewed.identity().key_pem().to_vec();
        let look = || {
            renewed.known().read = None;
            renewed.look();
            (renewed.generation(), renewed.identity().key_pem() == first)
        };
        assert_eq!(look(), (0, true));
        let (certificate, key) = pair();
        write(folder.path().join("crt"), certificate).unwrap();
        assert_eq!(look(), (0, true), "its key is not there yet");
        remove_file(folder.path().join("key")).unwrap();
        assert_eq!(look(), (0, true), "nor has it any");
        write(folder.path().join("key"), &key).unwrap();
        renewed.look();
        assert_eq!(renewed.generation(), 0, "it was looked at a moment ago");
        assert_eq!(look(), (1, false));
        assert_eq!(renewed.identity().key_pem(), key.as_bytes());
        assert_eq!(look(), (1, false));
    }

    #[test]
    fn credentials_have_the_newest_certificate_from_when_they_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let renewed = in_files(folder.path());
        let (certificate, key) = pair();
        write(folder.path().join("crt"), certificate).unwrap();
        write(folder.path().join("key"), &key).unwrap();
        renewed.known().read = None;
        let credentials = Credentials::token("t").unwrap().with_certificate(renewed);
        assert!(credentials.may_block() && credentials.generation() == 0);
        assert_eq!(credentials.header().unwrap(), "Bearer t");
        assert_eq!(credentials.generation(), 1);
        assert_eq!(credentials.identity().unwrap().key_pem(), key.as_bytes());
    }

    #[test]
    fn what_is_in_the_kubeconfig_itself_is_not_renewed() {
        let (certificate, key) = pair();
        let identity = Identity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        let data = |pem: &str| Source::Data(pem.as_bytes().to_vec());
        let source = ClientCertificate { certificate: data(&certificate), key: data(&key) };
        assert!(Renewed::new(source, (certificate.into(), key.into()), identity).is_none());
    }
}

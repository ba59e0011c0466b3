//! Whom to trust, and as whom to appear.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Whom to trust, and as whom to appear. Everything is PEM.
#[derive(Debug, Default)]
pub struct Tls {
    /// The certificates to trust; none for the authorities of the web.
    pub authorities: Option<Vec<u8>>,
    /// The client's own certificate.
    pub identity: Option<Identity>,
    /// Trust anybody.
    pub insecure: bool,
}

/// The client's own certificate.
#[derive(Debug)]
pub struct Identity {
    /// The certificate, and those that lead to the one that the server trusts.
    pub certificate: Vec<u8>,
    /// The private key.
    pub key: Vec<u8>,
}

/// What of a [`Tls`] cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsError {
    /// The certificates to trust.
    Authorities(&'static str),
    /// The client's certificate.
    Certificate(String),
    /// The client's key.
    Key(&'static str),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authorities(problem) => write!(f, "the certificate authority {problem}"),
            Self::Certificate(problem) => write!(f, "the client certificate {problem}"),
            Self::Key(problem) => write!(f, "the client key {problem}"),
        }
    }
}

impl std::error::Error for TlsError {}

impl Tls {
    /// The configuration that says so.
    ///
    /// # Errors
    /// A certificate or key cannot be read, or they do not belong together.
    pub fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions of TLS");
        let builder = if self.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        } else {
            builder.with_root_certificates(self.roots()?)
        };
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain = certificates(&identity.certificate);
                if chain.is_empty() {
                    return Err(TlsError::Certificate("holds no certificate in PEM".into()));
                }
                let key = PrivateKeyDer::from_pem_slice(&identity.key)
                    .map_err(|_| TlsError::Key("holds no private key in PEM"))?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|e| TlsError::Certificate(format!("does not go with its key: {e}")))?
            }
        };
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(pem) => {
                let found = certificates(pem);
                if found.is_empty() {
                    return Err(TlsError::Authorities("holds no certificate in PEM"));
                }
                if roots.add_parsable_certificates(found).0 == 0 {
                    return Err(TlsError::Authorities("holds no certificate that can be read"));
                }
            }
        }
        Ok(roots)
    }
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}

/// Takes any certificate for the server's. The signatures are still checked: it must have the key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_named() {
        let signed = rcgen::generate_simple_self_signed(vec!["me".into()]).unwrap();
        let other = rcgen::KeyPair::generate().unwrap();
        let (certificate, key) = (signed.cert.pem().into_bytes(), signed.signing_key.serialize_pem().into_bytes());
        let tls = |authorities: Option<&[u8]>, certificate: &[u8], key: &[u8]| {
            let identity = Some(Identity { certificate: certificate.to_vec(), key: key.to_vec() });
            Tls { authorities: authorities.map(<[u8]>::to_vec), identity, insecure: false }.config().map(|_| ())
        };
        assert_eq!(tls(None, &certificate, &key), Ok(()));
        assert_eq!(tls(Some(&certificate), &certificate, &key), Ok(()));
        assert_eq!(tls(Some(b"hello"), &certificate, &key), Err(TlsError::Authorities("holds no certificate in PEM")));
        let hollow = b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        assert_eq!(
            tls(Some(hollow), &certificate, &key),
            Err(TlsError::Authorities("holds no certificate that can be read"))
        );
        assert_eq!(tls(None, &key, &key), Err(TlsError::Certificate("holds no certificate in PEM".into())));
        assert_eq!(tls(None, &certificate, &certificate), Err(TlsError::Key("holds no private key in PEM")));
        let wrong = tls(None, &certificate, other.serialize_pem().as_bytes()).unwrap_err().to_string();
        assert!(wrong.starts_with("the client certificate does not go with its key"), "{wrong}");
    }
}

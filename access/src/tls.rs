//! Whom to trust, and as whom to appear.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme, WantsVerifier};

/// Whom to trust, and as whom to appear.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Whom to trust; none for the authorities of the web.
    pub authorities: Option<Authorities>,
    /// The client's own certificate.
    pub identity: Option<Identity>,
    /// Trust anybody.
    pub insecure: bool,
}

/// Certificates to trust, at least one of which can be read.
#[derive(Clone, PartialEq, Eq)]
pub struct Authorities(Arc<[CertificateDer<'static>]>);

/// The client's own certificate, and the key that belongs to it.
#[derive(Clone)]
pub struct Identity(Arc<Pair>);

struct Pair {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    key_pem: Vec<u8>,
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

impl Tls {
    /// The configuration that says so.
    pub fn config(&self) -> Arc<ClientConfig> {
        let builder = if self.insecure {
            let anybody = Anybody(Arc::new(ring::default_provider()));
            builder().dangerous().with_custom_certificate_verifier(Arc::new(anybody))
        } else {
            builder().with_root_certificates(self.roots())
        };
        Arc::new(match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.certificates().to_vec(), identity.key().clone_key())
                .expect("an identity was tried when it was made"),
        })
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(authorities) => drop(roots.add_parsable_certificates(authorities.certificates().iter().cloned())),
        }
        roots
    }
}

impl Authorities {
    /// Reads certificates from PEM. Those that cannot be read are passed over.
    ///
    /// # Errors
    /// There is none, or none that can be read.
    pub fn from_pem(pem: &[u8]) -> Result<Self, TlsError> {
        let found = certificates(pem);
        if found.is_empty() {
            return Err(TlsError::Authorities("holds no certificate in PEM"));
        }
        if RootCertStore::empty().add_parsable_certificates(found.iter().cloned()).0 == 0 {
            return Err(TlsError::Authorities("holds no certificate that can be read"));
        }
        Ok(Self(found.into()))
    }

    /// The certificates.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.0
    }
}

impl Identity {
    /// Reads a certificate, and those that lead to the one that the server trusts, and the private key, all from PEM.
    ///
    /// # Errors
    /// The certificate or the key cannot be read, or they do not belong together.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates(certificate);
        if chain.is_empty() {
            return Err(TlsError::Certificate("holds no certificate in PEM".into()));
        }
        let key_pem = key.to_vec();
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::Key("holds no private key in PEM"))?;
        builder()
            .with_root_certificates(RootCertStore::empty())
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|e| TlsError::Certificate(format!("does not go with its key: {e}")))?;
        Ok(Self(Arc::new(Pair { chain, key, key_pem })))
    }

    /// The certificate, and those that lead to the one that the server trusts.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.0.chain
    }

    /// The private key.
    pub fn key(&self) -> &PrivateKeyDer<'static> {
        &self.0.key
    }

    /// The private key as it was read, in PEM.
    pub fn key_pem(&self) -> &[u8] {
        &self.0.key_pem
    }
}

impl TlsError {
    /// What is wrong, without what it is wrong with.
    #[cfg(feature = "kubeconfig")]
    pub(crate) fn problem(&self) -> &str {
        match self {
            Self::Authorities(problem) | Self::Key(problem) => problem,
            Self::Certificate(problem) => problem,
        }
    }
}

fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS")
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authorities({} certificates)", self.0.len())
    }
}

impl fmt::Debug for Identity {
    /// How much there is of it, never the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({} certificates)", self.certificates().len())
    }
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
        let authorities = |pem: &[u8]| Authorities::from_pem(pem).map(|_| ());
        let identity = |certificate: &[u8], key: &[u8]| Identity::from_pem(certificate, key).map(|_| ());
        assert_eq!(authorities(&certificate), Ok(()));
        assert_eq!(authorities(b"hello"), Err(TlsError::Authorities("holds no certificate in PEM")));
        let hollow = b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        assert_eq!(authorities(hollow), Err(TlsError::Authorities("holds no certificate that can be read")));
        assert_eq!(identity(&certificate, &key), Ok(()));
        assert_eq!(identity(&key, &key), Err(TlsError::Certificate("holds no certificate in PEM".into())));
        assert_eq!(identity(&certificate, &certificate), Err(TlsError::Key("holds no private key in PEM")));
        let wrong = identity(&certificate, other.serialize_pem().as_bytes()).unwrap_err().to_string();
        assert!(wrong.starts_with("the client certificate does not go with its key"), "{wrong}");
    }
}

//! Whom to trust and the client's own certificate, as ureq wants to be told.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use sanskube::kubeconfig::{Source, Tls};
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use super::{AccessError, read};

/// Reads the files that `tls` names and makes a configuration of them.
pub(super) fn config(tls: Tls) -> Result<TlsConfig, AccessError> {
    let mut config = TlsConfig::builder().disable_verification(tls.insecure);
    if let Some(source) = tls.certificate_authority {
        let (pem, what) = read("certificate authority", source)?;
        let authorities = certificates(&pem, &what)?;
        if RootCertStore::empty().add_parsable_certificates(authorities.iter().map(der)).0 == 0 {
            return Err(AccessError::Credential { what, problem: "holds no certificate that can be read".into() });
        }
        config = config.root_certs(RootCerts::new_with_certs(&authorities));
    }
    if let Some(client) = tls.client {
        config = config.client_cert(Some(client_certificate(client.certificate, client.key)?));
    }
    Ok(config.build())
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<Certificate<'static>>, AccessError> {
    let found: Vec<_> = parse_pem(pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Err(AccessError::Credential { what: what.into(), problem: "holds no certificate in PEM".into() });
    }
    Ok(found)
}

/// Reads a client's certificate and its key.
pub(crate) fn client_certificate(certificate: Source, key: Source) -> Result<ClientCert, AccessError> {
    let (pem, what) = read("client certificate", certificate)?;
    let chain = certificates(&pem, &what)?;
    let (pem, what_key) = read("client key", key)?;
    let key = PrivateKey::from_pem(&pem)
        .map_err(|_| AccessError::Credential { what: what_key, problem: "holds no private key in PEM".into() })?;
    check_pair(&chain, &key).map_err(|problem| AccessError::Credential { what, problem })?;
    Ok(ClientCert::new_with_certs(&chain, key))
}

/// Whether a key belongs to a certificate. ureq takes it for granted.
fn check_pair(chain: &[Certificate<'_>], key: &PrivateKey<'_>) -> Result<(), String> {
    let key = PrivateKeyDer::try_from(key.der().to_vec())?;
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS")
        .with_root_certificates(RootCertStore::empty())
        .with_client_auth_cert(chain.iter().map(der).collect(), key)
        .map_err(|e| format!("does not go with its key: {e}"))?;
    Ok(())
}

fn der(certificate: &Certificate<'_>) -> CertificateDer<'static> {
    certificate.der().to_vec().into()
}

//! A cluster of a kubeconfig: where it is, and whom to trust there.

use alloc::string::String;

use super::access::Tls;
use super::entry::Found;
use super::error::KubeconfigError;

/// What a cluster's entry says (client-go `tools/clientcmd/api/v1/types.go`, `Cluster`).
pub(super) struct Cluster {
    pub(super) server: String,
    pub(super) proxy: Option<String>,
    pub(super) tls: Tls,
}

impl Cluster {
    pub(super) fn read(mut entry: Found) -> Result<Self, KubeconfigError> {
        let Some(server) = entry.text("server")? else {
            return Err(entry.error("has no server: set its URL, such as https://10.0.0.1:6443"));
        };
        let certificate_authority = entry.source("certificate-authority")?;
        let insecure = entry.flag("insecure-skip-tls-verify")?;
        if insecure && certificate_authority.is_some() {
            // As client-go (`transport/transport.go`, `TLSConfigFor`), which does not guess either.
            return Err(
                entry.error("has both a certificate-authority and insecure-skip-tls-verify: remove one of them")
            );
        }
        Ok(Self {
            server: server.trim_end_matches('/').into(),
            proxy: entry.text("proxy-url")?,
            tls: Tls { certificate_authority, client: None, insecure, server_name: entry.text("tls-server-name")? },
        })
    }
}

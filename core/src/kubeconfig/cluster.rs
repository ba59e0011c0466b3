//! A cluster of a kubeconfig: where it is, and whom to trust there.

use alloc::string::String;

use serde_json::Value;

use super::access::Tls;
use super::entry::Found;
use super::error::KubeconfigError;

/// What a cluster's entry says (client-go `tools/clientcmd/api/v1/types.go`, `Cluster`).
pub(super) struct Cluster {
    pub(super) server: String,
    pub(super) proxy: Option<String>,
    pub(super) tls: Tls,
    pub(super) disable_compression: bool,
    /// What an exec plugin is to be told beside the rest.
    pub(super) exec_config: Option<Value>,
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
        let disable_compression = entry.flag("disable-compression")?;
        Ok(Self {
            disable_compression,
            exec_config: exec_config(entry.value("extensions")),
            server: server.trim_end_matches('/').into(),
            proxy: entry.text("proxy-url")?,
            tls: Tls { certificate_authority, client: None, insecure, server_name: entry.text("tls-server-name")? },
        })
    }
}

/// The extension that is meant for exec plugins (client-go `tools/clientcmd/client_config.go`, `clusterExtensionKey`).
fn exec_config(extensions: Option<Value>) -> Option<Value> {
    let Some(Value::Array(extensions)) = extensions else { return None };
    let mut ours = extensions.into_iter().find(|e| e["name"] == "client.authentication.k8s.io/exec")?;
    ours.get_mut("extension").map(Value::take)
}

//! A user of a kubeconfig: who one is, and how to prove it.

use alloc::boxed::Box;
use alloc::format;

use serde_json::Value;

use super::access::{ClientCertificate, Credentials};
use super::cluster::Cluster;
use super::entry::Found;
use super::error::KubeconfigError;
use super::exec::ExecPlugin;
use super::impersonation::Impersonation;

/// What a user's entry says (client-go `tools/clientcmd/api/v1/types.go`, `AuthInfo`).
#[derive(Default)]
pub(super) struct User {
    pub(super) client: Option<ClientCertificate>,
    pub(super) credentials: Credentials,
    pub(super) impersonation: Impersonation,
}

impl User {
    pub(super) fn read(mut entry: Found, cluster: &Cluster) -> Result<Self, KubeconfigError> {
        refuse_unsupported(&mut entry)?;
        let client = match (entry.source("client-certificate")?, entry.source("client-key")?) {
            (Some(certificate), Some(key)) => Some(ClientCertificate { certificate, key }),
            (Some(_), None) => return Err(entry.error("has a client-certificate but no client-key: set it")),
            (None, Some(_)) => return Err(entry.error("has a client-key but no client-certificate: set it")),
            (None, None) => None,
        };
        // The file wins over the token as soon as it can be read (the docs of `AuthInfo.TokenFile`); any token wins over a
        // password (client-go `transport/round_trippers.go`, `HTTPWrappersForConfig`, allows only one of them).
        let (token, file, username) = (entry.text("token")?, entry.text("tokenFile")?, entry.text("username")?);
        let exec = entry.value("exec");
        if let Some(config) = &exec {
            // As client-go (`tools/clientcmd/client_config.go`, `getUserIdentificationPartialConfig`), a plugin counts only where nothing else is given.
            if token.is_none() && file.is_none() && username.is_none() {
                let plugin = ExecPlugin::read(&entry, config, cluster)?;
                let impersonation = Impersonation::read(&mut entry)?;
                return Ok(Self { client, credentials: Credentials::Exec(Box::new(plugin)), impersonation });
            }
        }
        let credentials = match (token, file, username) {
            (fallback, Some(path), _) => Credentials::TokenFile { file: entry.file(path), fallback },
            (Some(token), None, _) => Credentials::Token(token),
            (None, None, Some(username)) => {
                Credentials::Basic { username, password: entry.text("password")?.unwrap_or_default() }
            }
            (None, None, None) => Credentials::None,
        };
        Ok(Self { client, credentials, impersonation: Impersonation::read(&mut entry)? })
    }
}

/// Refuses ways of proving who one is that are known but not supported, as in client-go, which has dropped them: going on without them would only end
/// in a 401, or worse, in acting as somebody else.
fn refuse_unsupported(entry: &mut Found) -> Result<(), KubeconfigError> {
    if let Some(provider) = entry.value("auth-provider") {
        let name = provider.get("name").and_then(Value::as_str).unwrap_or_default();
        let problem =
            "which is not supported: use a user with an exec plugin, a token, a tokenFile or a client-certificate";
        return Err(entry.error(format!("uses the auth-provider {name:?}, {problem}")));
    }
    Ok(())
}

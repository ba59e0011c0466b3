//! Kubeconfig files and what exec plugins print.

use sanskube::kubeconfig::{Credentials, ExecPlugin, Kubeconfig};
use sanskube::time::Timestamp;
use serde_json::Value;

/// Whatever a kubeconfig says, every context leads to an access or to an error; merged with itself it stays what it is.
pub fn kubeconfigs(input: &[u8]) {
    let Ok(text) = core::str::from_utf8(input) else { return };
    let config = match Kubeconfig::parse("/home/user/config", text) {
        Ok(config) => config,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut twice = config.clone();
    twice.merge(config.clone());
    assert_eq!(twice.current_context(), config.current_context());
    assert!(twice.contexts().eq(config.contexts()));
    let contexts = config.contexts().map(Some).chain([None, Some("no such context")]);
    for context in contexts {
        let access = config.access(context);
        assert_eq!(access, twice.access(context));
        let Ok(access) = access else { continue };
        assert!(!access.server.is_empty() && !access.server.ends_with('/'), "{:?}", access.server);
        let shown = format!("{access:?}");
        match &access.credentials {
            Credentials::Exec(plugin) => assert!(serde_json::from_str::<Value>(&plugin.info(None)).is_ok()),
            Credentials::Token(secret) | Credentials::Basic { password: secret, .. } if secret.len() > 20 => {
                let elsewhere = text.matches(secret.as_str()).count() > 1;
                assert!(elsewhere || !shown.contains(secret.as_str()), "{shown}");
            }
            _ => {}
        }
    }
}

/// A plugin's answer is read as a general reader of JSON reads it.
pub fn exec_credentials(input: &[u8]) {
    let Ok(credential) = plugin().credential(input) else { return };
    let answer: Value = serde_json::from_slice(input).expect("a credential that was read is JSON");
    assert_eq!((&answer["kind"], &answer["apiVersion"]), (&"ExecCredential".into(), &VERSION.into()));
    let status = &answer["status"];
    let text = |field: &str| status[field].as_str().filter(|text| !text.is_empty());
    assert_eq!(credential.token.as_deref(), text("token"));
    let client = text("clientCertificateData").zip(text("clientKeyData"));
    assert_eq!(credential.client, client.map(|(cert, key)| (cert.as_bytes().to_vec(), key.as_bytes().to_vec())));
    assert_eq!(credential.expires, text("expirationTimestamp").and_then(Timestamp::parse));
    assert!(credential.token.is_some() || credential.client.is_some());
}

const VERSION: &str = "client.authentication.k8s.io/v1";

fn plugin() -> ExecPlugin {
    let text = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
           clusters: [{{name: k, cluster: {{server: 'https://k'}}}}],
           users: [{{name: u, user: {{exec: {{apiVersion: {VERSION}, command: aws}}}}}}]}}"
    );
    let access = Kubeconfig::parse("config", &text).and_then(|config| config.access(None)).expect("it is whole");
    let Credentials::Exec(plugin) = access.credentials else { unreachable!("the user has a plugin") };
    *plugin
}

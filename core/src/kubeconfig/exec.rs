//! Exec plugins: programs that say who one is.
//!
//! What a plugin is told and what its answer means is decided here; the program is run by whoever does the I/O.
//!
//! Mirrors client-go `plugin/pkg/client/auth/exec/exec.go` and `pkg/apis/clientauthentication`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::access::{FilePath, Source};
use super::cluster::Cluster;
use super::entry::Found;
use super::error::KubeconfigError;
use crate::time::Timestamp;

const VERSIONS: [&str; 2] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/// A program that says who one is.
#[derive(Clone, PartialEq, Eq)]
pub struct ExecPlugin {
    /// The program. A bare name is looked for in `PATH`; one with a slash is a path, relative to the kubeconfig.
    pub command: FilePath,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    /// What to tell a person who does not have the program.
    pub install_hint: Option<String>,
    /// The file with the authority of the cluster, where the plugin is to be told of it.
    pub authority_file: Option<FilePath>,
    api_version: String,
    /// What it is told of the cluster, if it is to be told.
    cluster: Option<Value>,
}

/// What a plugin has answered.
#[derive(Clone, PartialEq, Eq)]
pub struct ExecCredential {
    /// A bearer token.
    pub token: Option<String>,
    /// A client certificate and its key, both in PEM.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
    /// When it is of no use any more; none if the plugin does not say.
    pub expires: Option<Timestamp>,
}

impl ExecPlugin {
    /// Reads the field `exec` of a user.
    pub(super) fn read(entry: &Found, config: &Value, cluster: &Cluster) -> Result<Self, KubeconfigError> {
        let text = |field: &str| config.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let error = |problem: String| entry.error(format!("exec plugin: {problem}"));
        let Some(command) = text("command") else { return Err(error("it has no command".into())) };
        let api_version = text("apiVersion").unwrap_or_default();
        if !VERSIONS.contains(&api_version) {
            return Err(error(format!("{command} has the apiVersion {api_version:?}: use {}", VERSIONS.join(" or "))));
        }
        match text("interactiveMode") {
            None | Some("IfAvailable" | "Never") => {}
            Some("Always") => {
                let problem = "wants to ask a person (interactiveMode Always), and a controller has none";
                return Err(error(format!("{command} {problem}")));
            }
            Some(mode) => return Err(error(format!("{command} has the unknown interactiveMode {mode:?}"))),
        }
        let list = |field: &str| match config.get(field) {
            None | Some(Value::Null) => Ok(&[][..]),
            Some(Value::Array(list)) => Ok(&list[..]),
            Some(_) => Err(error(format!("{field} must be a list"))),
        };
        let args = list("args")?.iter().map(|arg| arg.as_str().map(ToOwned::to_owned)).collect::<Option<_>>();
        let variable = |variable: &Value| {
            let part = |field: &str| variable.get(field).and_then(Value::as_str).map(ToOwned::to_owned);
            Some((part("name")?, part("value").unwrap_or_default()))
        };
        let env = list("env")?.iter().map(variable).collect::<Option<_>>();
        let provide = config.get("provideClusterInfo").and_then(Value::as_bool).unwrap_or_default();
        Ok(Self {
            command: entry.file(command.to_owned()),
            args: args.ok_or_else(|| error("args must be strings: put them in quotes".into()))?,
            env: env.ok_or_else(|| error("env must be a list of names and values".into()))?,
            install_hint: text("installHint").map(ToOwned::to_owned),
            authority_file: match &cluster.tls.certificate_authority {
                Some(Source::File(file)) if provide => Some(file.clone()),
                _ => None,
            },
            api_version: api_version.to_owned(),
            cluster: provide.then(|| cluster_info(cluster)),
        })
    }

    /// What the plugin finds in the variable `KUBERNETES_EXEC_INFO`. `authority` is what the [`authority_file`](Self::authority_file) holds, where there is
    /// one (client-go `rest/exec.go`, `ConfigToExecCluster`).
    pub fn info(&self, authority: Option<&[u8]>) -> String {
        let mut spec = Map::new();
        if let Some(cluster) = &self.cluster {
            let mut cluster = cluster.clone();
            if let Some(pem) = authority {
                cluster["certificate-authority-data"] = json!(STANDARD.encode(pem));
            }
            spec.insert("cluster".to_string(), cluster);
        }
        spec.insert("interactive".to_string(), json!(false));
        json!({"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}).to_string()
    }

    /// Reads what the plugin has printed.
    ///
    /// # Errors
    /// It is not a credential of the version that was asked for. The text never quotes what was printed.
    pub fn credential(&self, printed: &[u8]) -> Result<ExecCredential, String> {
        let answer: Value =
            serde_json::from_slice(printed).map_err(|e| format!("did not print JSON (line {})", e.line()))?;
        let text = |path: &str| answer.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
        if text("/kind") != Some("ExecCredential") {
            return Err("did not print an ExecCredential".into());
        }
        if text("/apiVersion") != Some(&*self.api_version) {
            return Err(format!("answers with another apiVersion than {}", self.api_version));
        }
        let client = match (text("/status/clientCertificateData"), text("/status/clientKeyData")) {
            (Some(certificate), Some(key)) => Some((certificate.as_bytes().to_vec(), key.as_bytes().to_vec())),
            (None, None) => None,
            _ => return Err("printed a client certificate without its key, or a key without its certificate".into()),
        };
        let token = text("/status/token").map(ToOwned::to_owned);
        if token.is_none() && client.is_none() {
            return Err("printed neither a token nor a client certificate".into());
        }
        let expires = match text("/status/expirationTimestamp") {
            None => None,
            Some(time) => Some(Timestamp::parse(time).ok_or("printed an expirationTimestamp that is no time")?),
        };
        Ok(ExecCredential { token, client, expires })
    }
}

/// What a plugin is told of a cluster (`clientauthentication/v1`, `Cluster`). What is not set is left out.
fn cluster_info(cluster: &Cluster) -> Value {
    let mut info = Map::new();
    let mut set = |field: &str, value: Value| drop(info.insert(field.to_string(), value));
    set("server", json!(cluster.server));
    if let Some(name) = &cluster.tls.server_name {
        set("tls-server-name", json!(name));
    }
    if cluster.tls.insecure {
        set("insecure-skip-tls-verify", json!(true));
    }
    // What is in a file is added by the one who does the I/O.
    if let Some(Source::Data(pem)) = &cluster.tls.certificate_authority {
        set("certificate-authority-data", json!(STANDARD.encode(pem)));
    }
    if let Some(proxy) = &cluster.proxy {
        set("proxy-url", json!(proxy));
    }
    if cluster.disable_compression {
        set("disable-compression", json!(true));
    }
    if let Some(config) = &cluster.exec_config {
        set("config", config.clone());
    }
    Value::Object(info)
}

impl fmt::Debug for ExecPlugin {
    /// The program, never its arguments and environment, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExecPlugin({:?})", self.command.path)
    }
}

impl fmt::Debug for ExecCredential {
    /// What there is, never what it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecCredential")
            .field("token", &self.token.is_some())
            .field("client", &self.client.is_some())
            .field("expires", &self.expires)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeconfig::{Credentials, Kubeconfig};

    fn plugin(cluster: &str, exec: &str) -> Result<ExecPlugin, String> {
        let text = format!(
            "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
               clusters: [{{name: k, cluster: {{server: 'https://k', {cluster}}}}}],
               users: [{{name: u, user: {{exec: {{{exec}}}}}}}]}}"
        );
        let config = Kubeconfig::parse("/etc/config", &text).unwrap();
        match config.access(None).map_err(|e| e.to_string())?.credentials {
            Credentials::Exec(plugin) => Ok(*plugin),
            other => panic!("{other:?}"),
        }
    }

    const V1: &str = "apiVersion: client.authentication.k8s.io/v1, command: ./aws";

    #[test]
    fn a_plugin_is_told_its_version_and_on_request_its_cluster() {
        let aws = plugin("", &format!("{V1}, args: [token, get], env: [{{name: A, value: b}}]")).unwrap();
        assert_eq!((&*aws.command.path, &*aws.command.named_in), ("./aws", "/etc/config"));
        assert_eq!((aws.args.len(), &aws.env[..]), (2, &[("A".into(), "b".into())][..]));
        let info: Value = serde_json::from_str(&aws.info(None)).unwrap();
        assert_eq!(
            info,
            json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "spec": {"interactive": false}})
        );
        // CASES C-03: a cluster without an authority.
        let told = plugin("", &format!("{V1}, provideClusterInfo: true")).unwrap();
        let info: Value = serde_json::from_str(&told.info(None)).unwrap();
        assert_eq!(info["spec"]["cluster"], json!({"server": "https://k"}));
        let cluster = "certificate-authority-data: aGk=, tls-server-name: node, proxy-url: 'http://p',
            extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}]";
        let told = plugin(cluster, &format!("{V1}, provideClusterInfo: true")).unwrap();
        let info: Value = serde_json::from_str(&told.info(None)).unwrap();
        assert_eq!(
            info["spec"]["cluster"],
            json!({"server": "https://k", "certificate-authority-data": "aGk=", "tls-server-name": "node",
                "proxy-url": "http://p", "config": {"audience": "a"}})
        );
        let told = plugin("certificate-authority: ca.crt", &format!("{V1}, provideClusterInfo: true")).unwrap();
        assert_eq!(told.authority_file.as_ref().map(|file| &*file.path), Some("ca.crt"));
        let info: Value = serde_json::from_str(&told.info(Some(b"hi"))).unwrap();
        assert_eq!(info["spec"]["cluster"], json!({"server": "https://k", "certificate-authority-data": "aGk="}));
        assert_eq!(plugin("certificate-authority: ca.crt", V1).unwrap().authority_file, None);
    }

    #[test]
    fn a_plugin_that_cannot_be_run_is_refused() {
        for (exec, problem) in [
            ("command: aws", "aws has the apiVersion \"\": use client.authentication.k8s.io/v1 or"),
            ("apiVersion: client.authentication.k8s.io/v1alpha1, command: aws", "v1alpha1\": use"),
            ("apiVersion: client.authentication.k8s.io/v1", "it has no command"),
            (&format!("{V1}, interactiveMode: Always"), "wants to ask a person"),
            (&format!("{V1}, interactiveMode: Now"), "unknown interactiveMode"),
            (&format!("{V1}, args: [1]"), "args must be strings"),
            (&format!("{V1}, args: x"), "args must be a list"),
            (&format!("{V1}, env: [x]"), "env must be a list of names"),
        ] {
            let message = plugin("", exec).unwrap_err();
            assert!(message.contains(problem), "{message}");
        }
    }

    #[test]
    fn answers_are_read_and_odd_ones_refused_without_quoting_them() {
        for version in ["v1", "v1beta1"] {
            let aws = plugin("", &format!("apiVersion: client.authentication.k8s.io/{version}, command: aws")).unwrap();
            let answer = |status: &Value| {
                let api = format!("client.authentication.k8s.io/{version}");
                json!({"apiVersion": api, "kind": "ExecCredential", "status": status}).to_string()
            };
            let status = json!({"token": "hush", "expirationTimestamp": "2026-03-14T09:26:53Z"});
            let credential = aws.credential(answer(&status).as_bytes()).unwrap();
            assert_eq!((credential.token.as_deref(), &credential.client), (Some("hush"), &None));
            assert_eq!(credential.expires, Timestamp::parse("2026-03-14T09:26:53Z"));
            assert!(!format!("{credential:?}").contains("hush"));
            let status = json!({"clientCertificateData": "c", "clientKeyData": "k"});
            let credential = aws.credential(answer(&status).as_bytes()).unwrap();
            assert_eq!(credential.client, Some((b"c".to_vec(), b"k".to_vec())));
            for odd in [
                answer(&json!({})),
                answer(&json!({"clientKeyData": "hush"})),
                answer(&json!({"token": "hush", "expirationTimestamp": "tomorrow"})),
                answer(&json!(null)),
                "hush".into(),
                r#"{"kind":"hush"}"#.into(),
                r#"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v2","status":{"token":"hush"}}"#
                    .into(),
            ] {
                let message = aws.credential(odd.as_bytes()).unwrap_err();
                assert!(!message.contains("hush"), "{message}");
            }
        }
    }
}

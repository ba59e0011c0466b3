use std::fs::{Permissions, read_to_string, set_permissions, write};
use std::os::unix::fs::PermissionsExt as _;

use sanskube::kubeconfig::{Credentials, Kubeconfig};
use tempfile::TempDir;

use super::*;

const KUBECONFIG: &str = "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
    clusters: [{name: k, cluster: {server: 'https://k'}}],
    users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}}}]}";

/// A plugin whose answer is `status`, that writes a line to the file `runs` each time.
fn plugin(folder: &TempDir, status: &str) -> Exec {
    let path = |name: &str| folder.path().join(name);
    let answer = format!(
        "{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{status}}}"
    );
    write(path("answer"), answer).unwrap();
    let script = format!("#!/bin/sh\necho run >> {0}/runs\ncat {0}/answer\n", folder.path().display());
    write(path("plugin"), script).unwrap();
    set_permissions(path("plugin"), Permissions::from_mode(0o755)).unwrap();
    let config = Kubeconfig::parse(path("config").to_str().unwrap(), KUBECONFIG).unwrap();
    let Credentials::Exec(plugin) = config.access(None).unwrap().credentials else { panic!("it has a plugin") };
    Exec::start(*plugin).unwrap()
}

fn runs(folder: &TempDir) -> usize {
    read_to_string(folder.path().join("runs")).unwrap().lines().count()
}

#[test]
fn a_token_without_an_end_is_asked_for_once() {
    let folder = tempfile::tempdir().unwrap();
    let exec = plugin(&folder, "{\"token\":\"t\"}");
    for _ in 0..3 {
        assert_eq!(exec.header().unwrap(), "Bearer t");
    }
    assert_eq!((runs(&folder), exec.generation()), (1, 0));
    assert!(exec.identity().is_none());
}

#[test]
fn a_token_that_has_expired_or_was_refused_is_asked_for_again_but_not_all_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let exec = plugin(&folder, "{\"token\":\"t\",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"}");
    exec.renew();
    assert_eq!(exec.header().unwrap(), "Bearer t");
    assert_eq!(runs(&folder), 1);
    // As if it had been some time ago.
    for (again, run) in [(true, 2), (false, 3)] {
        exec.said().run = None;
        if again {
            exec.renew();
        } else {
            drop(exec.header());
        }
        assert_eq!(runs(&folder), run);
    }
}

#[test]
fn a_plugin_is_told_the_authority_that_the_kubeconfig_has_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let exec = plugin(&folder, "{\"token\":\"t\"}");
    let path = |name: &str| folder.path().join(name);
    write(path("plugin"), format!("#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" > {}/info\n", folder.path().display()))
        .unwrap();
    write(path("ca.crt"), "hi").unwrap();
    let file = FilePath { path: "ca.crt".into(), named_in: path("config").to_str().unwrap().into() };
    let told = "provideClusterInfo: true, command: ./plugin";
    let config = KUBECONFIG
        .replace("'https://k'", "'https://k', certificate-authority: ca.crt")
        .replace("command: ./plugin", told);
    let config = Kubeconfig::parse(path("config").to_str().unwrap(), &config).unwrap();
    let Credentials::Exec(plugin) = config.access(None).unwrap().credentials else { panic!("it has a plugin") };
    assert_eq!(plugin.authority_file, Some(file));
    drop(exec);
    Exec::start(*plugin).unwrap();
    assert!(read_to_string(path("info")).unwrap().contains(r#""certificate-authority-data":"aGk=""#));
}

#[test]
fn what_a_plugin_said_before_it_failed_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let exec = plugin(&folder, "{\"token\":\"t\",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"}");
    write(folder.path().join("answer"), "nonsense").unwrap();
    exec.said().run = None;
    assert_eq!(exec.header().unwrap(), "Bearer t");
    assert_eq!(exec.said().complaint.as_deref(), Some("did not print JSON (line 1)"));
}

#[test]
fn a_client_certificate_is_taken_and_a_new_one_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let pair = || {
        let made = rcgen::generate_simple_self_signed(["ann".to_owned()]).unwrap();
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let escape = |pem: String| pem.replace('\n', "\\n").replace('\r', "");
        format!("{{\"clientCertificateData\":\"{}\",\"clientKeyData\":\"{}\"}}", escape(certificate), escape(key))
    };
    let exec = plugin(&folder, &pair());
    assert!(exec.identity().is_some() && exec.header().is_none());
    assert_eq!(exec.generation(), 1);
    drop(plugin(&folder, &pair()));
    exec.said().run = None;
    exec.renew();
    assert_eq!(exec.generation(), 2);
}

use std::env::join_paths;
use std::ffi::OsString;
use std::fs::{create_dir_all, write};

use crate::{Environment, Wish};

fn kubeconfig(url: &str, cluster: &str, user: &str) -> String {
    format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
           clusters: [{{name: k, cluster: {{server: '{url}', {cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    )
}

#[test]
fn the_first_place_that_is_there_counts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for name in ["home/.kube", "pod", "etc"] {
        create_dir_all(at(name)).unwrap();
    }
    let authority = rcgen::generate_simple_self_signed(vec!["k".into()]).unwrap().cert.pem();
    write(at("home/.kube/config"), kubeconfig("http://home", "", "")).unwrap();
    write(at("etc/first"), kubeconfig("http://first", "", "tokenFile: token")).unwrap();
    write(at("etc/second"), kubeconfig("http://second", "proxy-url: 'http://p:1'", "token: t")).unwrap();
    for (file, text) in [("etc/token", "etc-token\n"), ("pod/token", "pod-token\n"), ("pod/ca.crt", &authority)] {
        write(at(file), text).unwrap();
    }
    let paths = join_paths([at("missing"), at("etc/first"), at("etc/second")]).unwrap();
    let mut environment = Environment {
        kubeconfig: Some(paths),
        home: Some(at("home")),
        service_host: Some("fd00::1".into()),
        service_port: Some("443".into()),
        service_account: at("pod"),
    };
    let find = |wish: &Wish, environment: &Environment| {
        let found = wish.find(environment).map_err(|e| e.to_string())?;
        Ok::<_, String>(format!("{} {:?} {:?}", found.url, found.proxy, found.credentials.header()))
    };
    let nothing = Wish::default();
    let file = Wish { kubeconfig: Some(at("etc/second")), ..Wish::default() };
    let server = Wish { server: Some("http://named/".into()), ..file.clone() };
    assert_eq!(find(&server, &environment).unwrap(), "http://named None None");
    assert_eq!(find(&file, &environment).unwrap(), "http://second Some(p:1) Some(\"Bearer t\")");
    assert_eq!(find(&nothing, &environment).unwrap(), "http://first None Some(\"Bearer etc-token\")");
    environment.kubeconfig = None;
    assert_eq!(find(&nothing, &environment).unwrap(), "https://[fd00::1]:443 None Some(\"Bearer pod-token\")");
    let named = Wish { context: Some("c".into()), ..Wish::default() };
    assert_eq!(find(&named, &environment).unwrap(), "http://home None None", "a pod has no contexts");
    environment.service_account = at("no-pod");
    assert_eq!(find(&nothing, &environment).unwrap(), "http://home None None");
    environment.home = Some(at("no-home"));
    assert!(find(&nothing, &environment).unwrap_err().starts_with("no cluster"));
    environment.kubeconfig = Some(OsString::from("gone"));
    assert_eq!(find(&nothing, &environment).unwrap_err(), "no file named in KUBECONFIG exists: gone");
}

#[test]
fn what_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    let refused = |url: &str, cluster: &str, user: &str, problem: &str| {
        write(&config, kubeconfig(url, cluster, user)).unwrap();
        let wish = Wish { kubeconfig: Some(config.clone()), ..Wish::default() };
        let message = wish.find(&Environment::default()).unwrap_err().to_string();
        assert!(message.contains(problem), "{message}");
    };
    refused("k:1", "", "", "has no scheme");
    refused("ftp://k", "", "", "only these are served");
    refused("https://k", "certificate-authority: gone.crt", "", "cannot read the certificate authority");
    refused("https://k", "certificate-authority: config", "", "config: holds no certificate in PEM");
    refused("https://k", "certificate-authority-data: aGVsbG8=", "", "the certificate authority in the kubeconfig");
    refused("https://k", "", "tokenFile: gone", "cannot read the token");
    refused("https://k", "", "token: \"a\\nb\"", "the token: has characters that a header cannot hold");
    refused("https://k", "", "as: \"a\\nb\"", "the header impersonate-user: has characters that a header cannot hold");
    refused(
        "https://k",
        "",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}",
        "exec",
    );
    refused("https://k", "proxy-url: '::'", "", "\"::\" is not the URL of a proxy");
}

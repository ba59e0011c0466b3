//! The way to a cluster that a kubeconfig describes, for both adapters: TLS both ways, tokens, plugins, proxies.

use std::fs::{Permissions, read_to_string, set_permissions, write};
use std::os::unix::fs::PermissionsExt as _;

use k8s_openapi::api::core::v1::ConfigMap;
use sanskube::client::{Api, Error};
use sanskube::request::Failure;
use sanskube_blocking::access::{Environment, Proxy, Server, Target, Wish};
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::embedded::Adapter;
use sanskube_e2e::process::wait_until;
use sanskube_e2e::tls::{Authority, ConnectProxy, Signed, TlsServer};
use sanskube_e2e::with_both_adapters;
use tempfile::TempDir;

const MAP: &str = r#"{"metadata":{"namespace":"default","name":"a"}}"#;

/// The server that a kubeconfig leads to which has these bodies of its cluster and its user, and lies in a folder.
fn find(folder: &TempDir, url: &str, cluster: &str, user: &str) -> Server {
    let config = folder.path().join("config");
    let text = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
           clusters: [{{name: k, cluster: {{server: '{url}', {cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    );
    write(&config, text).unwrap();
    Wish { kubeconfig: Some(config), ..Wish::default() }.find(&Environment::default()).unwrap()
}

/// Asks for a config map.
fn ask<A: Adapter>(client: &A::Client) -> Result<(), Error> {
    A::send(client, Api::<ConfigMap>::in_namespace("default").get("a")).map(drop)
}

fn refused() -> Result<(), Error> {
    Err(Error::Failed(Failure::Refused))
}

fn both_sides_show_certificates_and_a_token_is_read_anew<A: Adapter>() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let (me, at) = (authority.sign(&[]), |name: &str| folder.path().join(name));
    for (name, text) in [("ca", &authority.pem()), ("me", &me.certificate), ("key", &me.key)] {
        write(at(name), text).unwrap();
    }
    write(at("token"), "t1").unwrap();
    let server = TlsServer::start(&authority, "127.0.0.1", MAP);
    let user = "client-certificate: me, client-key: key, tokenFile: token, as: somebody";
    let client = A::client_of(find(&folder, &server.url(), "certificate-authority: ca", user));
    ask::<A>(&client).unwrap();
    write(at("token"), "t2").unwrap();
    ask::<A>(&client).unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for (seen, token) in seen.iter().zip(["t1", "t2"]) {
        assert_eq!(seen.certificate.as_deref(), Some(&*me.der));
        assert!(seen.head.contains(&format!("authorization: bearer {token}\r\n")), "{}", seen.head);
        assert!(seen.head.contains("impersonate-user: somebody\r\n"), "{}", seen.head);
    }
}

// CASES C-07.
fn a_server_is_trusted_by_its_authority_by_its_name_or_by_order<A: Adapter>() {
    let (folder, ours) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    write(folder.path().join("ca"), ours.pem()).unwrap();
    write(folder.path().join("other"), Authority::new("other").pem()).unwrap();
    for (name, cluster, trusted) in [
        ("127.0.0.1", "certificate-authority: ca", true),
        ("127.0.0.1", "certificate-authority: other", false),
        ("127.0.0.1", "", false),
        ("127.0.0.1", "insecure-skip-tls-verify: true", true),
        ("k8s.example", "certificate-authority: ca", false),
        ("k8s.example", "certificate-authority: ca, tls-server-name: k8s.example", true),
        ("k8s.example", "certificate-authority: ca, tls-server-name: other.example", false),
    ] {
        let server = TlsServer::start(&ours, name, MAP);
        let asked = ask::<A>(&A::client_of(find(&folder, &server.url(), cluster, "")));
        assert_eq!(asked, if trusted { Ok(()) } else { refused() }, "{name} {cluster}");
        let seen = server.seen();
        assert_eq!(seen.len(), usize::from(trusted));
        // The name is about the certificate alone.
        let host = format!("host: {}\r\n", server.address);
        assert!(seen.iter().all(|seen| seen.certificate.is_none() && seen.head.contains(&host)), "{seen:?}");
    }
}

fn a_proxy_connects_and_is_told_who_asks<A: Adapter>() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    write(folder.path().join("ca"), authority.pem()).unwrap();
    let server = TlsServer::start(&authority, "k8s.example", MAP);
    let proxy = ConnectProxy::start(server.address);
    let asked = |url: &str, user: &str, more: &str| {
        let cluster = format!("certificate-authority: ca, proxy-url: 'http://{user}{}'{more}", proxy.address);
        ask::<A>(&A::client_of(find(&folder, url, &cluster, "")))
    };
    assert_eq!(asked("https://k8s.example:6443", "", ""), refused());
    assert_eq!(asked("https://k8s.example:6443", "me:a%40b@", ""), Ok(()));
    assert_eq!(asked("https://10.0.0.1", "me:a%40b@", ""), refused());
    assert_eq!(asked("https://10.0.0.1", "me:a%40b@", ", tls-server-name: k8s.example"), Ok(()));
    let heads = proxy.heads();
    let targets: Vec<_> = heads.iter().filter_map(|head| head.split(' ').nth(1)).collect();
    assert_eq!(targets, ["k8s.example:6443", "k8s.example:6443", "10.0.0.1:443", "10.0.0.1:443"]);
    assert!(heads[1].contains("\r\nhost: k8s.example:6443\r\n"), "{}", heads[1]);
    assert!(heads[1].contains("proxy-authorization: basic bwu6yubi\r\n"), "{}", heads[1]);
    assert_eq!(server.seen().len(), 2);
}

fn a_network_in_no_proxy_is_reached_without_a_proxy<A: Adapter>() {
    let proxy = ConnectProxy::start(([127, 0, 0, 1], 1).into());
    let url = "https://10.1.2.3";
    let way = |exceptions: &str| {
        Proxy::from_environment(&Target::of(url).unwrap(), |name| match name {
            "HTTPS_PROXY" => Some(format!("http://me@{}", proxy.address)),
            "NO_PROXY" => Some(exceptions.to_owned()),
            _ => None,
        })
    };
    assert!(way("k8s.example, 10.0.0.0/8").is_none());
    let server = Server { proxy: way("k8s.example, 10.0.0.0/16"), ..Server::new(url) };
    ask::<A>(&A::client_of(server)).unwrap_err();
    assert!(proxy.heads()[0].starts_with("connect 10.1.2.3:443 http/1.1\r\n"), "{:?}", proxy.heads());
}

/// A plugin in a folder that says what stands in the file `answer`, and counts its runs in the file `runs`.
fn plugin(folder: &TempDir, version: &str) -> String {
    let at = |name: &str| folder.path().join(name).display().to_string();
    let script = format!(
        "#!/bin/sh\necho run >> {}\nprintf '{{\"kind\":\"ExecCredential\",\"apiVersion\":\
         \"client.authentication.k8s.io/{version}\",\"status\":%s}}' \"$(cat {})\"\n",
        at("runs"),
        at("answer"),
    );
    write(at("plugin"), script).unwrap();
    set_permissions(at("plugin"), Permissions::from_mode(0o755)).unwrap();
    format!("exec: {{apiVersion: client.authentication.k8s.io/{version}, command: ./plugin, interactiveMode: Never}}")
}

// CASES C-03.
fn a_plugin_is_asked_again_when_its_token_is_refused_or_has_expired<A: Adapter>() {
    for (version, expires) in [("v1", ""), ("v1beta1", ", \"expirationTimestamp\": \"2001-01-01T00:00:00Z\"")] {
        let cluster = Cluster::guarded("new", false);
        let folder = tempfile::tempdir().unwrap();
        let say = |token: &str| {
            write(folder.path().join("answer"), format!("{{\"token\": \"{token}\"{expires}}}")).unwrap();
        };
        say("old");
        let user = plugin(&folder, version);
        let client = A::client_of(find(&folder, &cluster.server.url(), "", &user));
        let list = || A::send(&client, Api::<ConfigMap>::in_namespace("default").list(&Default::default()));
        let error = list().unwrap_err().to_string();
        assert!(error.contains("Unauthorized"), "{error}");
        say("new");
        wait_until("the new token is sent", || list().is_ok().then_some(()));
        list().unwrap();
        let runs = read_to_string(folder.path().join("runs")).unwrap().lines().count();
        assert!((2..5).contains(&runs), "{runs}");
    }
}

fn a_plugins_certificate_is_shown_and_a_new_one_on_new_connections<A: Adapter>() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    write(folder.path().join("ca"), authority.pem()).unwrap();
    let say = |signed: &Signed| {
        let escape = |pem: &str| pem.replace('\n', "\\n").replace('\r', "");
        let answer = format!(
            "{{\"clientCertificateData\":\"{}\",\"clientKeyData\":\"{}\",\
             \"expirationTimestamp\":\"2001-01-01T00:00:00Z\"}}",
            escape(&signed.certificate),
            escape(&signed.key)
        );
        write(folder.path().join("answer"), answer).unwrap();
    };
    let (old, new) = (authority.sign(&[]), authority.sign(&[]));
    say(&old);
    let server = TlsServer::start(&authority, "127.0.0.1", MAP);
    let user = plugin(&folder, "v1");
    let client = A::client_of(find(&folder, &server.url(), "certificate-authority: ca", &user));
    let shown = || {
        ask::<A>(&client).unwrap();
        let seen = server.seen().pop().unwrap();
        assert!(!seen.head.contains("authorization"), "{}", seen.head);
        seen.certificate.unwrap()
    };
    assert_eq!(shown(), old.der);
    say(&new);
    wait_until("the new certificate is shown", || (shown() == new.der).then_some(()));
    assert_eq!(shown(), new.der);
}

with_both_adapters! {
    both_sides_show_certificates_and_a_token_is_read_anew,
    a_server_is_trusted_by_its_authority_by_its_name_or_by_order,
    a_proxy_connects_and_is_told_who_asks,
    a_network_in_no_proxy_is_reached_without_a_proxy,
    a_plugin_is_asked_again_when_its_token_is_refused_or_has_expired,
    a_plugins_certificate_is_shown_and_a_new_one_on_new_connections,
}

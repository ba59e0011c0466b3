use std::env::join_paths;
use std::fs::{create_dir_all, write};

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use tempfile::TempDir;

use super::*;

/// A kubeconfig whose cluster is at `url`, with more in the body of its cluster and of its user.
fn kubeconfig(url: &str, cluster: &str, user: &str) -> String {
    format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
           clusters: [{{name: k, cluster: {{server: '{url}', {cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    )
}

/// A folder in which everything is that could be looked for.
struct World {
    folder: TempDir,
    environment: Environment,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for name in ["home/.kube", "pod", "etc"] {
            create_dir_all(at(name)).unwrap();
        }
        write(at("home/.kube/config"), kubeconfig("http://home", "", "")).unwrap();
        write(at("etc/first"), kubeconfig("http://first", "", "tokenFile: token")).unwrap();
        write(at("etc/second"), kubeconfig("http://second", "", "")).unwrap();
        write(at("etc/token"), "etc-token\n").unwrap();
        write(at("pod/token"), "pod-token\n").unwrap();
        write(at("pod/ca.crt"), certificate()).unwrap();
        let environment = Environment {
            kubeconfig: Some(
                join_paths(
                    [at(""), at("missing"), at("etc/first"), at("etc/second")]
                        .map(|path| if path == at("") { PathBuf::new() } else { path }),
                )
                .unwrap(),
            ),
            home: Some(at("home")),
            service_host: Some("fd00::1".into()),
            service_port: Some("443".into()),
            service_account: at("pod"),
        };
        Self { folder, environment }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Where a wish leads, and the token that is sent there.
    fn find(&self, wish: &Wish) -> Result<(String, Option<String>), String> {
        let server = wish.find(&self.environment).map_err(|e| e.to_string())?;
        let token = server.credentials.header().map(|value| value.to_str().unwrap().to_owned());
        Ok((server.url, token))
    }
}

#[test]
fn the_first_place_that_is_there_counts() {
    let mut world = World::new();
    let nothing = Wish::default();
    let file = Wish { kubeconfig: Some(world.at("etc/second")), ..Wish::default() };
    let server = Wish { server: Some("http://named/".into()), ..file.clone() };
    assert_eq!(world.find(&server), Ok(("http://named".into(), None)));
    assert_eq!(world.find(&file), Ok(("http://second".into(), None)));
    // CASES C-05: empty and missing paths are passed over, the first entry counts, its paths start at its file.
    assert_eq!(world.find(&nothing), Ok(("http://first".into(), Some("Bearer etc-token".into()))));
    world.environment.kubeconfig = None;
    assert_eq!(world.find(&nothing), Ok(("http://home".into(), None)));
    world.environment.home = Some(world.at("no-home"));
    assert_eq!(world.find(&nothing), Ok(("https://[fd00::1]:443".into(), Some("Bearer pod-token".into()))));
    world.environment.service_account = world.at("no-pod");
    assert!(world.find(&nothing).unwrap_err().starts_with("no cluster: pass --server or --kubeconfig"));
}

#[test]
fn files_that_name_no_context_are_passed_over_in_a_pod_alone() {
    let mut world = World::new();
    write(world.at("home/.kube/config"), "").unwrap();
    let chosen = kubeconfig("http://home", "", "").replace("current-context: c,", "");
    write(world.at("etc/second"), chosen).unwrap();
    let pod = Ok(("https://[fd00::1]:443".into(), Some("Bearer pod-token".into())));
    for files in [None, Some("missing".into()), Some(world.at("etc/second").into())] {
        world.environment.kubeconfig = files;
        assert_eq!(world.find(&Wish::default()), pod);
    }
    let named = Wish { context: Some("c".into()), ..Wish::default() };
    assert_eq!(world.find(&named), Ok(("http://home".into(), None)));
    world.environment.service_account = world.at("no-pod");
    assert!(world.find(&Wish::default()).unwrap_err().starts_with("no current-context is set"));
}

#[test]
fn a_named_context_is_not_looked_for_in_the_pod() {
    let mut world = World::new();
    world.environment.kubeconfig = None;
    let wish = Wish { context: Some("c".into()), ..Wish::default() };
    assert_eq!(world.find(&wish), Ok(("http://home".into(), None)));
}

#[test]
fn what_cannot_be_used_is_named() {
    let mut world = World::new();
    let config = world.at("etc/second");
    let wish = Wish { kubeconfig: Some(config.clone()), ..Wish::default() };
    let refused = |cluster: &str, user: &str, problem: &str| {
        write(&config, kubeconfig("https://k", cluster, user)).unwrap();
        let message = world.find(&wish).unwrap_err();
        assert!(message.replace(world.folder.path().to_str().unwrap(), "DIR").contains(problem), "{message}");
    };
    refused(
        "certificate-authority: gone.crt",
        "",
        "cannot read the certificate authority DIR/etc/gone.crt: No such file",
    );
    refused("certificate-authority: first", "", "the certificate authority DIR/etc/first: holds no certificate in PEM");
    refused(
        "certificate-authority-data: aGVsbG8=",
        "",
        "the certificate authority in the kubeconfig: holds no certificate",
    );
    refused("", "tokenFile: gone", "cannot read the token DIR/etc/gone: No such file");
    refused("", "token: \"a\\nb\"", "the token: has characters that a header cannot hold");
    refused("", "as: \"a\\nb\"", "impersonate-user \"a\\nb\": has characters that a header cannot hold");
    refused("proxy-url: '::'", "", "\"::\" is not the URL of a proxy");
    refused("proxy-url: 'http://me:secret@p:x'", "", "\"http://***@p:x\" is not the URL of a proxy");
    for (file, text) in [("me.crt", certificate()), ("other.key", KeyPair::generate().unwrap().serialize_pem())] {
        write(world.at("etc").join(file), text).unwrap();
    }
    let refused = |user: &str, problem: &str| {
        write(&config, kubeconfig("https://k", "", user)).unwrap();
        let message = world.find(&wish).unwrap_err();
        assert!(message.contains(problem), "{message}");
    };
    refused("client-certificate: me.crt, client-key: me.crt", "me.crt: holds no private key in PEM");
    refused("client-certificate: me.crt, client-key: other.key", "me.crt: does not go with its key");
    write(&config, "{").unwrap();
    assert!(world.find(&wish).unwrap_err().contains("etc/second: is not a kubeconfig"));
    world.environment.kubeconfig = Some("gone:missing".into());
    world.environment.service_account = world.at("no-pod");
    assert_eq!(world.find(&Wish::default()).unwrap_err(), "no file named in KUBECONFIG exists: gone:missing");
}

#[test]
fn a_bad_url_says_what_a_good_one_is() {
    for (url, problem) in [
        ("localhost:8080", "has no scheme: use a URL that begins with https:// or http://"),
        ("ftp://a", "has another scheme than http and https, and only these are served"),
        ("http://", "is not a URL: use one like https://10.0.0.1:6443"),
        ("not a url", "is not a URL: use one like https://10.0.0.1:6443"),
        ("http://a?b", "has a query: use a URL like https://10.0.0.1:6443"),
        ("https://a:99999", "does not name a host and a port: use a URL like https://10.0.0.1:6443"),
        ("https://:6443", "does not name a host and a port: use a URL like https://10.0.0.1:6443"),
    ] {
        let wish = Wish { server: Some(url.into()), ..Wish::default() };
        let message = wish.find(&Environment::default()).unwrap_err().to_string();
        assert_eq!(message, format!("{url:?} {problem}"));
    }
}

#[test]
fn a_password_in_the_url_of_a_server_is_refused_and_not_shown() {
    let wish = Wish { server: Some("https://me:secret@k8s.example".into()), ..Wish::default() };
    let message = wish.find(&Environment::default()).unwrap_err().to_string();
    assert_eq!(message, r#""https://***@k8s.example" names a user: credentials belong to a user of a kubeconfig"#);
}

#[test]
fn a_kubeconfig_says_how_to_connect() {
    let world = World::new();
    let config = world.at("etc/second");
    let cluster = "proxy-url: 'http://p:1', tls-server-name: other, disable-compression: true";
    write(&config, kubeconfig("https://k/", cluster, "as: bob").replace("user: u}", "user: u, namespace: shop}"))
        .unwrap();
    let server = Wish { kubeconfig: Some(config), ..Wish::default() }.find(&world.environment).unwrap();
    assert_eq!((&*server.url, server.compression), ("https://k", false));
    assert_eq!(format!("{:?}", server.proxy), "Some(p:1)");
    assert_eq!((server.server_name.as_deref(), server.namespace.as_deref()), (Some("other"), Some("shop")));
    assert_eq!(server.headers["impersonate-user"], "bob");
}

#[test]
fn a_master_takes_the_place_of_the_url_alone() {
    let world = World::new();
    let wish = Wish { master: Some("http://other".into()), ..Wish::default() };
    assert_eq!(world.find(&wish), Ok(("http://other".into(), Some("Bearer etc-token".into()))));
    let nowhere = wish.find(&Environment::default()).unwrap();
    assert!(nowhere.url == "http://other" && nowhere.credentials.header().is_none());
}

fn certificate() -> String {
    let CertifiedKey { cert, .. } = generate_simple_self_signed(vec!["k".into()]).unwrap();
    cert.pem()
}

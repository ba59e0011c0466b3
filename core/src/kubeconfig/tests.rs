use alloc::string::String;
use alloc::{format, vec};

use super::*;

/// A kubeconfig in which everything is usual.
const USUAL: &str = "
apiVersion: v1
kind: Config
current-context: red
clusters:
- name: farm
  cluster:
    server: https://farm.example:6443/
    certificate-authority-data: UEVN
users:
- name: ann
  user: {token: abc}
contexts:
- name: red
  context: {cluster: farm, user: ann, namespace: stable}
- name: blue
  context: {cluster: farm, user: ann}
";

fn parse(text: &str) -> Kubeconfig {
    Kubeconfig::parse("/home/ann/.kube/config", text).unwrap()
}

/// What the context `c` stands for, with these bodies of its cluster and its user.
fn access(cluster: &str, user: &str) -> Result<Access, String> {
    parse(&format!(
        "{{clusters: [{{name: k, cluster: {cluster}}}], users: [{{name: u, user: {user}}}],
           contexts: [{{name: c, context: {{cluster: k, user: u}}}}]}}"
    ))
    .access(Some("c"))
    .map_err(|e| e.to_string())
}

fn cluster(body: &str) -> Result<Access, String> {
    access(body, "{}")
}

fn user(body: &str) -> Result<Access, String> {
    access("{server: 'https://k'}", body)
}

fn file(path: &str) -> FilePath {
    FilePath { path: path.into(), named_in: "/home/ann/.kube/config".into() }
}

#[test]
fn the_current_context_is_used_when_none_is_named() {
    let access = parse(USUAL).access(None).unwrap();
    assert_eq!(access.server, "https://farm.example:6443");
    assert_eq!(access.namespace.as_deref(), Some("stable"));
    assert_eq!(access.tls.certificate_authority, Some(Source::Data(b"PEM".to_vec())));
    assert_eq!(access.credentials, Credentials::Token("abc".into()));
    assert_eq!(parse(USUAL).access(Some("blue")).unwrap().namespace, None);
}

#[test]
fn json_is_read_too() {
    let access = parse(
        r#"{"clusters":[{"name":"k","cluster":{"server":"http://k"}}],"contexts":[{"name":"c","context":{"cluster":"k"}}]}"#,
    );
    assert_eq!(access.access(Some("c")).unwrap().server, "http://k");
}

#[test]
fn an_unknown_context_names_those_there_are() {
    assert_eq!(
        parse(USUAL).access(Some("green")).unwrap_err().to_string(),
        "there is no context \"green\" (there are: blue, red)"
    );
    assert_eq!(
        parse("contexts: []").access(None).unwrap_err().to_string(),
        "no current-context is set: name a context (there is none)"
    );
}

// CASES C-04: one odd entry that is not used breaks nothing; used, it is an error that names it.
#[test]
fn odd_entries_are_errors_only_when_they_are_used() {
    let odd = format!(
        "{USUAL}
- name: no-user
  context: {{cluster: farm}}
- name: no-cluster
  context: {{user: ann}}
- name: no-body
- name: null-body
  context: null
- name: text-body
  context: odd
- name: number
  context: {{cluster: 5}}
- name: nowhere
  context: {{cluster: gone, user: ann}}
- name: nobody
  context: {{cluster: farm, user: gone}}
- context: {{cluster: farm}}
- 17
- null
extensions: {{who: knows}}
preferences: null
"
    );
    let config = parse(&odd);
    assert_eq!(config.access(None), parse(USUAL).access(None));
    assert_eq!(config.access(Some("no-user")).unwrap().credentials, Credentials::None);
    for (context, problem) in [
        ("no-cluster", "names no cluster: set one"),
        ("no-body", "names no cluster: set one"),
        ("null-body", "names no cluster: set one"),
        ("text-body", "names no cluster: set one"),
        ("number", "cluster must be a string: put it in quotes"),
        ("nowhere", "names the cluster \"gone\", which is not there"),
        ("nobody", "names the user \"gone\", which is not there"),
    ] {
        let message = config.access(Some(context)).unwrap_err().to_string();
        assert_eq!(message, format!("/home/ann/.kube/config: context {context:?}: {problem}"));
    }
}

#[test]
fn a_current_context_that_is_no_string_is_an_error() {
    for odd in ["5", "true", "[c]", "{c: d}"] {
        let error = Kubeconfig::parse("config", &format!("current-context: {odd}")).unwrap_err().to_string();
        assert_eq!(error, "config: current-context must be a string: put it in quotes");
    }
    for none in ["null", "~", "''", ""] {
        let config = Kubeconfig::parse("config", &format!("current-context: {none}")).unwrap();
        assert_eq!(config.current_context(), None, "{none:?}");
    }
}

#[test]
fn an_error_of_the_parser_gives_no_advice_about_its_options() {
    let mut said = Vec::new();
    for text in ["users: []\nusers: []", "users: [", "users: [*gone]", "a: b: c", "a: !!binary ?"] {
        let Err(error) = Kubeconfig::parse("config", text) else { continue };
        let error = error.to_string();
        assert!(error.starts_with("config: is not a kubeconfig: "), "{error}");
        assert!(!["Options", "Policy", "options!"].iter().any(|word| error.contains(word)), "{error}");
        said.push(error);
    }
    assert!(said.len() >= 4, "{said:?}");
    assert!(said[0].contains("line 2") && said[0].contains("`users`"), "{said:?}");
}

// CASES C-04.
#[test]
fn an_auth_provider_of_null_is_none() {
    for nothing in ["{}", "null", "{auth-provider: null, exec: ~}", "{auth-provider: ~, exec: null}", "{token: ''}"] {
        assert_eq!(user(nothing).unwrap().credentials, Credentials::None, "{nothing}");
    }
}

// CASES C-04.
#[test]
fn empty_files_and_empty_sections_are_read() {
    for text in ["", "\n", "# nothing\n", "---\n", "null", "{}", "contexts: null\nusers: ~\nclusters:\n"] {
        assert_eq!(parse(text).contexts().count(), 0, "{text:?}");
    }
}

// CASES C-05.
#[test]
fn of_several_files_the_first_entry_of_a_name_counts_as_a_whole() {
    let first = "users: [{name: red, user: {token: first}}]";
    let second = "
current-context: c
users: [{name: red, user: {token: second, client-certificate: a, client-key: b}}, {name: blue, user: {tokenFile: t}}]
clusters: [{name: k, cluster: {server: 'http://k', insecure-skip-tls-verify: false}}]
contexts: [{name: c, context: {cluster: k, user: red}}, {name: d, context: {cluster: k, user: blue}}]
";
    let mut config = Kubeconfig::parse("a/config", first).unwrap();
    config.merge(Kubeconfig::parse("b/config", second).unwrap());
    config.merge(Kubeconfig::parse("c/config", "current-context: d").unwrap());
    assert_eq!(config.current_context(), Some("c"));
    let red = config.access(None).unwrap();
    assert_eq!((red.credentials, red.tls.client), (Credentials::Token("first".into()), None));
    let blue = config.access(Some("d")).unwrap();
    let file = FilePath { path: "t".into(), named_in: "b/config".into() };
    assert_eq!(blue.credentials, Credentials::TokenFile { file, fallback: None });
}

#[test]
fn of_two_entries_of_one_name_in_a_file_the_first_counts() {
    let config = parse(
        "clusters: [{name: k, cluster: {server: one}}, {name: k, cluster: {server: two}}]\ncontexts: [{name: c, context: {cluster: k}}]",
    );
    assert_eq!(config.access(Some("c")).unwrap().server, "one");
}

#[test]
fn a_cluster_says_whom_to_trust() {
    let tls = |body| cluster(body).unwrap().tls;
    assert_eq!(tls("{server: 'https://k'}"), Tls::default());
    assert_eq!(
        tls("{server: 'https://k', certificate-authority: ca.crt, tls-server-name: kubernetes}"),
        Tls {
            certificate_authority: Some(Source::File(file("ca.crt"))),
            server_name: Some("kubernetes".into()),
            ..Tls::default()
        }
    );
    assert_eq!(
        tls("{server: 'https://k', certificate-authority: ca.crt, certificate-authority-data: 'UE\n VN'}")
            .certificate_authority,
        Some(Source::Data(b"PEM".to_vec()))
    );
    assert!(tls("{server: 'https://k', insecure-skip-tls-verify: true}").insecure);
    assert_eq!(cluster("{server: 'https://k', proxy-url: 'http://p'}").unwrap().proxy.as_deref(), Some("http://p"));
}

#[test]
fn a_cluster_that_cannot_be_used_says_what_to_do() {
    for (body, problem) in [
        ("{}", "has no server: set its URL, such as https://10.0.0.1:6443"),
        ("null", "has no server: set its URL, such as https://10.0.0.1:6443"),
        ("{server: s, certificate-authority-data: '%'}", "certificate-authority-data is not base64"),
        ("{server: s, insecure-skip-tls-verify: maybe}", "insecure-skip-tls-verify must be true or false"),
        (
            "{server: s, certificate-authority: c, insecure-skip-tls-verify: true}",
            "has both a certificate-authority and insecure-skip-tls-verify: remove one of them",
        ),
    ] {
        assert_eq!(cluster(body).unwrap_err(), format!("/home/ann/.kube/config: cluster \"k\": {problem}"));
    }
}

#[test]
fn a_user_proves_who_it_is_in_one_way() {
    let credentials = |body| user(body).unwrap().credentials;
    let token_file = |fallback| Credentials::TokenFile { file: file("/run/t"), fallback };
    assert_eq!(credentials("{token: abc, username: ann, password: x}"), Credentials::Token("abc".into()));
    assert_eq!(credentials("{tokenFile: /run/t}"), token_file(None));
    assert_eq!(credentials("{tokenFile: /run/t, token: abc}"), token_file(Some("abc".into())));
    let basic = Credentials::Basic { username: "ann".into(), password: "x".into() };
    assert_eq!(credentials("{username: ann, password: x}"), basic);
}

#[test]
fn a_client_certificate_comes_from_files_or_data() {
    let client = user("{client-certificate: me.crt, client-key-data: S0VZ, client-key: me.key}").unwrap().tls.client;
    let (certificate, key) = (Source::File(file("me.crt")), Source::Data(b"KEY".to_vec()));
    assert_eq!(client, Some(ClientCertificate { certificate, key }));
}

#[test]
fn a_user_that_cannot_be_used_says_what_to_do() {
    for (body, problem) in [
        (
            "{auth-provider: {name: gcp}}",
            "uses the auth-provider \"gcp\", which is not supported: \
             use a user with an exec plugin, a token, a tokenFile or a client-certificate",
        ),
        ("{as-groups: [root]}", "impersonates groups, a uid or extra without a user: set as"),
        ("{as: ann, as-groups: root}", "as-groups must be a list of strings"),
        ("{client-certificate: c}", "has a client-certificate but no client-key: set it"),
        ("{client-key: c}", "has a client-key but no client-certificate: set it"),
        ("{token: 123}", "token must be a string: put it in quotes"),
    ] {
        assert_eq!(user(body).unwrap_err(), format!("/home/ann/.kube/config: user \"u\": {problem}"));
    }
}

#[test]
fn text_that_is_no_kubeconfig_is_refused_without_quoting_it() {
    for text in
        ["just words", "[1, 2]", "clusters: 5", "users: {token: secret}", "{", "a: b: secret", "users: [\"secret"]
    {
        let message = Kubeconfig::parse("f", text).unwrap_err().to_string();
        assert!(message.starts_with("f: "), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let list = vec![format!("*a{}", n - 1); 10].join(", ");
        text += &format!("a{n}: &a{n} [{list}]\n");
    }
    assert!(Kubeconfig::parse("f", &text).is_err());
    let deep = format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Kubeconfig::parse("f", &deep).is_err());
}

#[test]
fn secrets_are_not_shown_by_debug() {
    let config = parse(
        "users: [{name: u, user: {token: hush, client-key-data: aHVzaA==, client-certificate: c}}]\nclusters: [{name: k, cluster: {server: s, proxy-url: 'http://me:hush@p'}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]",
    );
    let shown = format!("{config:?} {:?}", config.access(Some("c")).unwrap());
    assert!(!shown.contains("hush") && !shown.contains("104, 117"), "{shown}");
}

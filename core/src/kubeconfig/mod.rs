//! Kubeconfig: which cluster to talk to, and as whom.
//!
//! Text goes in, a value comes out. Files, environment variables and processes are for whoever does the I/O:
//!
//! ```text
//! texts ── parse ──► Kubeconfig, merged ── access(context) ──► Access ──► (the adapter reads the files it names)
//! ```
//!
//! An entry is looked into only when it is used: an odd one that nobody uses never breaks the rest. The reference is client-go's
//! `tools/clientcmd`.

mod access;
mod cluster;
mod entry;
mod error;
mod exec;
mod impersonation;
#[cfg(test)]
mod tests;
mod user;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

pub use self::access::{Access, ClientCertificate, Credentials, FilePath, Source, Tls};
pub use self::error::KubeconfigError;
pub use self::exec::{ExecCredential, ExecPlugin};
pub use self::impersonation::Impersonation;

use self::cluster::Cluster;
use self::entry::Section;
use self::user::User;

/// One kubeconfig file, or several merged.
#[derive(Clone, Debug)]
pub struct Kubeconfig {
    clusters: Section,
    contexts: Section,
    users: Section,
    current_context: Option<String>,
}

impl Kubeconfig {
    /// Reads the text of one file: YAML, and so JSON too. `file` is how the file is called in errors, and where relative paths in it start.
    /// The parser bounds depth, aliases and size.
    ///
    /// # Errors
    /// The text is not YAML, or not a mapping with lists where lists belong and a string where `current-context` is.
    pub fn parse(file: &str, text: &str) -> Result<Self, KubeconfigError> {
        let error = |problem: String| KubeconfigError { file: file.into(), entry: String::new(), problem };
        // A snippet of the text in an error could show a secret.
        let options = serde_saphyr::options! { with_snippet: false };
        let mut document: Value = serde_saphyr::from_str_with_options(text, options)
            // As the parser words it for users, not for those who set its options.
            .map_err(|e| {
                let words = e.render_with_formatter(&serde_saphyr::UserMessageFormatter);
                error(format!("is not a kubeconfig: {words}"))
            })?;
        if !document.is_object() && !document.is_null() {
            return Err(error("is not a kubeconfig: it must be a mapping with clusters, users and contexts".into()));
        }
        let mut section =
            |kind, plural| Section::read(kind, file, document.get_mut(plural).map_or(Value::Null, Value::take));
        let (clusters, contexts, users) =
            (section("cluster", "clusters")?, section("context", "contexts")?, section("user", "users")?);
        let current_context = match document.get_mut("current-context").map(Value::take) {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name).filter(|name| !name.is_empty()),
            Some(_) => return Err(error("current-context must be a string: put it in quotes".into())),
        };
        Ok(Self { clusters, contexts, users, current_context })
    }

    /// Adds what `later` has and `self` has not. Of entries with one name the first one counts as a whole, and so does the first
    /// `current-context` (client-go `tools/clientcmd/loader.go`, `ClientConfigLoadingRules.Load`).
    pub fn merge(&mut self, later: Self) {
        self.clusters.merge(later.clusters);
        self.contexts.merge(later.contexts);
        self.users.merge(later.users);
        self.current_context = self.current_context.take().or(later.current_context);
    }

    /// The context that is used when none is named.
    pub fn current_context(&self) -> Option<&str> {
        self.current_context.as_deref()
    }

    /// The names of the contexts, sorted.
    pub fn contexts(&self) -> impl Iterator<Item = &str> {
        self.contexts.names()
    }

    /// What `context`, or else the current one, stands for.
    ///
    /// # Errors
    /// The context is not there, or it, its cluster or its user cannot be used.
    pub fn access(&self, context: Option<&str>) -> Result<Access, KubeconfigError> {
        let nowhere = |problem| KubeconfigError { file: String::new(), entry: String::new(), problem };
        let Some(name) = context.or_else(|| self.current_context()) else {
            return Err(nowhere(format!("no current-context is set: name a context ({})", self.known_contexts())));
        };
        let Some(mut context) = self.contexts.find(name) else {
            return Err(nowhere(format!("there is no context {name:?} ({})", self.known_contexts())));
        };
        let Some(cluster) = context.text("cluster")? else {
            return Err(context.error("names no cluster: set one"));
        };
        let cluster = match self.clusters.find(&cluster) {
            Some(entry) => Cluster::read(entry)?,
            None => return Err(context.error(format!("names the cluster {cluster:?}, which is not there"))),
        };
        // A context without a user is one of nobody, as for client-go (`tools/clientcmd/client_config.go`, `getAuthInfo`).
        let user = match context.text("user")? {
            None => User::default(),
            Some(user) => match self.users.find(&user) {
                Some(entry) => User::read(entry, &cluster)?,
                None => return Err(context.error(format!("names the user {user:?}, which is not there"))),
            },
        };
        Ok(Access {
            server: cluster.server,
            proxy: cluster.proxy,
            namespace: context.text("namespace")?,
            tls: Tls { client: user.client, ..cluster.tls },
            credentials: user.credentials,
            impersonation: user.impersonation,
            disable_compression: cluster.disable_compression,
        })
    }

    /// The contexts there are, in words.
    fn known_contexts(&self) -> String {
        let names: Vec<_> = self.contexts().collect();
        if names.is_empty() { "there is none".to_string() } else { format!("there are: {}", names.join(", ")) }
    }
}

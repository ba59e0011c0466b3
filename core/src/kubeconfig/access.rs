//! How to reach a cluster and as whom: what a kubeconfig boils down to.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::exec::ExecPlugin;
use super::impersonation::Impersonation;

/// How to reach a cluster, and as whom. Files are named, not read: that is for whoever does the I/O.
#[derive(Clone, PartialEq, Eq)]
pub struct Access {
    /// The URL of the server without a trailing slash.
    pub server: String,
    /// The URL of the proxy to reach it by, if one is asked for.
    pub proxy: Option<String>,
    /// The namespace of the context, if it has one.
    pub namespace: Option<String>,
    /// Whom to trust, and the client's own certificate.
    pub tls: Tls,
    /// What goes into the `Authorization` header.
    pub credentials: Credentials,
    /// As whom the server is to take one.
    pub impersonation: Impersonation,
    /// Whether the server is to be asked to send everything as it is.
    pub disable_compression: bool,
}

impl fmt::Debug for Access {
    /// All but the proxy, whose URL may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("server", &self.server)
            .field("namespace", &self.namespace)
            .field("tls", &self.tls)
            .field("credentials", &self.credentials)
            .field("impersonation", &self.impersonation)
            .field("disable_compression", &self.disable_compression)
            .finish_non_exhaustive()
    }
}

/// Whom to trust, and the client's own certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// PEM of the certificates to trust; where there is none, those that the machine trusts.
    pub certificate_authority: Option<Source>,
    /// The client's certificate.
    pub client: Option<ClientCertificate>,
    /// Whether the server's certificate is not to be checked at all.
    pub insecure: bool,
    /// The name to expect in the server's certificate, where it is not the one in the URL.
    pub server_name: Option<String>,
}

/// The client's certificate and its key, both in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, and those that lead to the one that the server trusts.
    pub certificate: Source,
    /// The private key.
    pub key: Source,
}

/// What goes into the `Authorization` header.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Credentials {
    /// A name and a password.
    Basic {
        /// The name.
        username: String,
        /// The password.
        password: String,
    },
    /// What a program says.
    Exec(Box<ExecPlugin>),
    /// Nothing.
    #[default]
    None,
    /// A bearer token.
    Token(String),
    /// A bearer token in a file that may change at any time.
    TokenFile {
        /// The file.
        file: FilePath,
        /// The token to use as long as the file could not be read, if there is one.
        fallback: Option<String>,
    },
}

impl fmt::Debug for Credentials {
    /// The kind of credentials, never what they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Basic { username, .. } => write!(f, "Basic({username:?})"),
            Self::Exec(plugin) => plugin.fmt(f),
            Self::None => f.write_str("None"),
            Self::Token(_) => f.write_str("Token"),
            Self::TokenFile { file, .. } => write!(f, "TokenFile({file:?})"),
        }
    }
}

/// Where bytes come from: the kubeconfig itself, or a file that it names.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// The bytes.
    Data(Vec<u8>),
    /// The file that holds them.
    File(FilePath),
}

impl fmt::Debug for Source {
    /// The length of the data or the name of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(bytes) => write!(f, "Data({} bytes)", bytes.len()),
            Self::File(file) => write!(f, "File({file:?})"),
        }
    }
}

/// A file named by a kubeconfig. If `path` is relative, it is relative to the folder that `named_in` is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath {
    /// The path as it is written.
    pub path: String,
    /// The kubeconfig file it is written in.
    pub named_in: String,
}

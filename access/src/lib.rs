//! The way to a cluster, as far as it does not depend on how bytes are carried.
//!
//! Which cluster is meant ([`Wish`], with the feature `kubeconfig`), whom to trust and as whom to appear ([`Tls`]), what to
//! send as `Authorization` ([`Credentials`]), and which proxy leads there ([`Proxy`]). Files and the environment are read here; nothing is sent.

mod credentials;
#[cfg(feature = "kubeconfig")]
mod environment;
#[cfg(feature = "kubeconfig")]
mod error;
#[cfg(feature = "kubeconfig")]
mod find;
mod proxy;
mod tls;
#[cfg(feature = "kubeconfig")]
mod wish;

pub use credentials::Credentials;
#[cfg(feature = "kubeconfig")]
pub use environment::Environment;
#[cfg(feature = "kubeconfig")]
pub use error::AccessError;
#[cfg(feature = "kubeconfig")]
pub use find::Found;
pub use proxy::Proxy;
pub use tls::{Identity, Tls, TlsError};
#[cfg(feature = "kubeconfig")]
pub use wish::Wish;

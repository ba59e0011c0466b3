//! What both adapters share, since it does not depend on how bytes are carried: the way to a cluster, and the clock.
//!
//! Where requests are sent, and how ([`Server`]): whom to trust and as whom to appear ([`Tls`]), what to send as `Authorization`
//! ([`Credentials`]), and which proxy leads there ([`Proxy`]). Which cluster is meant is found by `Wish`, with the feature
//! `kubeconfig`. Files and the environment are read here, and exec plugins are run; nothing is sent.

mod clock;
#[cfg(feature = "kubeconfig")]
mod connect;
mod credentials;
#[cfg(feature = "kubeconfig")]
mod environment;
#[cfg(feature = "kubeconfig")]
mod error;
#[cfg(feature = "kubeconfig")]
mod exec;
mod proxy;
mod reach;
#[cfg(feature = "kubeconfig")]
mod renewed;
mod server;
mod tls;
#[cfg(feature = "kubeconfig")]
mod wish;

pub use clock::Clock;
pub use credentials::Credentials;
#[cfg(feature = "kubeconfig")]
pub use environment::Environment;
#[cfg(feature = "kubeconfig")]
pub use error::AccessError;
pub use proxy::Proxy;
pub use reach::Reach;
pub use server::{Server, Target};
pub use tls::{Authorities, Identity, Tls, TlsError};
#[cfg(feature = "kubeconfig")]
pub use wish::Wish;

pub use {http, rustls};

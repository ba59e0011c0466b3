//! What the end-to-end tests share: a server that follows a script, a machine that makes given calls, programs as child processes.

pub mod adapter;
pub mod cluster;
pub mod embedded;
pub mod http;
pub mod kubectl;
pub mod probe;
pub mod process;
pub mod proxy;
pub mod script;
pub mod soak;
pub mod stall;
pub mod tls;
pub mod transcript;

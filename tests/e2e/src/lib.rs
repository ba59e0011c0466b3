//! What the end-to-end tests share: a server that follows a script, a machine that makes given calls, programs as child processes.

pub mod adapter;
pub mod cluster;
pub mod kubectl;
pub mod probe;
pub mod process;
pub mod script;
pub mod stall;

//! What the end-to-end tests share: a server that follows a script, and a machine that makes given calls.

pub mod adapter;
pub mod probe;
pub mod script;

//! Replays what real Kubernetes code and servers did, and compares it with what this project does.

pub mod api;
pub mod scenarios;
pub mod vectors;

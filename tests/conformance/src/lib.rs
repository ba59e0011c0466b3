//! What real Kubernetes answered and did, recorded, and the code that compares with it.

pub mod api;

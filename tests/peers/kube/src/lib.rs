//! kube-rs, unchanged, as a client of the in-memory API server. There is nothing here but tests.

//! What is wrong with a kubeconfig, in words for whoever wrote it.

use alloc::string::String;
use core::fmt;

/// A kubeconfig, or the part of it that was asked for, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeconfigError {
    /// The file, as it was named to [`Kubeconfig::parse`](super::Kubeconfig::parse); empty where no file is to blame.
    pub file: String,
    /// The entry, such as `user "admin"`; empty where the whole file is meant.
    pub entry: String,
    /// What is wrong with it, and what to do. Never quotes a secret.
    pub problem: String,
}

impl fmt::Display for KubeconfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.file, &self.entry] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        f.write_str(&self.problem)
    }
}

impl core::error::Error for KubeconfigError {}

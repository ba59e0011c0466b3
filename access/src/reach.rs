//! Whether a server can be reached.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether a server can be reached: what keeps that from happening is told the operator once, not at each try.
#[derive(Debug, Default)]
pub struct Reach {
    /// What was said last about why it cannot be reached; none while it can.
    refusal: Mutex<Option<String>>,
}

impl Reach {
    /// No connection could be made.
    pub fn handle_refusal(&self, url: &str, error: &impl fmt::Display) {
        let error = error.to_string();
        let mut refusal = self.refusal();
        if refusal.as_ref() != Some(&error) {
            log::warn!("cannot reach {url}: {error}; trying again");
            *refusal = Some(error);
        }
    }

    /// An answer came, whatever it says.
    pub fn handle_answer(&self, url: &str) {
        if self.refusal().take().is_some() {
            log::info!("{url} can be reached again");
        }
    }

    fn refusal(&self) -> MutexGuard<'_, Option<String>> {
        // The text is replaced as a whole.
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

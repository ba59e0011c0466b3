//! How a reconciliation ended.

use alloc::boxed::Box;
use core::error::Error;
use core::time::Duration;

use crate::workqueue::Finish;

/// When an object is to be looked at again although nothing about it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After this time, or when something changes before.
    After(Duration),
    /// Only when something changes.
    Changed,
}

/// What a reconciliation returns. Any error means: it failed, so try again after a pause that grows with each failure of the same key.
pub type Result<T = When> = core::result::Result<T, Box<dyn Error + Send + Sync>>;

impl From<When> for Finish {
    fn from(when: When) -> Self {
        match when {
            When::After(delay) => Self::After(delay),
            When::Changed => Self::Done,
        }
    }
}

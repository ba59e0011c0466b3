//! Several writes to a store at once.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::Store;
use crate::error::Refused;
use crate::object::Object;

/// One write of a transaction.
#[derive(Debug)]
pub enum Write<T> {
    /// Stores the object in the place of the one with the same key.
    Put(Arc<T>),
    /// Removes what is stored by the key of the object.
    Delete(Arc<T>),
}

/// Some writes of a transaction were refused by the key function; the others were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartlyRefused {
    /// Which writes were made, counted from zero.
    pub made: Vec<usize>,
    /// How many writes there were in all.
    pub total: usize,
    /// Why the others were refused, in their order.
    pub errors: Vec<Refused>,
}

impl fmt::Display for PartlyRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} writes were refused", self.errors.len(), self.total)?;
        self.errors.first().map_or(Ok(()), |first| write!(f, ", the first: {first}"))
    }
}

impl core::error::Error for PartlyRefused {}

impl<T: Object> Store<T> {
    /// Makes these writes in their order. Nothing is transformed. The version of the store becomes that of the last write made.
    ///
    /// Returns why an object could not be taken into an index, if one could not: the last such reason.
    ///
    /// Mirrors client-go `tools/cache/store.go`, `Transaction`.
    ///
    /// # Errors
    /// The key function refused some objects; the other writes were made.
    pub fn transaction(&mut self, writes: Vec<Write<T>>) -> Result<Option<Refused>, PartlyRefused> {
        let total = writes.len();
        let (mut made, mut errors, mut unindexed) = (Vec::new(), Vec::new(), None);
        for (at, write) in writes.into_iter().enumerate() {
            let result = match write {
                Write::Put(object) => self.add_shared(object).map(|written| written.unindexed),
                Write::Delete(object) => self.delete(&object).map(|_| None),
            };
            match result {
                Ok(reason) => {
                    unindexed = reason.or(unindexed);
                    made.push(at);
                }
                Err(e) => errors.push(e),
            }
        }
        if errors.is_empty() { Ok(unindexed) } else { Err(PartlyRefused { made, total, errors }) }
    }
}

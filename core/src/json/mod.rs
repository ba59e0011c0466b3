//! JSON as it is read here.

mod lanes;
mod skim;

pub(crate) use skim::{MAX_DEPTH, Skim};

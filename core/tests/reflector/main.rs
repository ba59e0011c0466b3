//! The reflector, through its public interface.

mod basics;
mod peer;

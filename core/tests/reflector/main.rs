//! The reflector, through its public interface.

mod basics;
mod cases;
mod peer;

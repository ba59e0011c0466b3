//! The reflector, through its public interface.

mod basics;
mod cases;
mod hostile;
mod peer;
mod recorded;

//! The recorder: events of the controller, written to the API server.

mod event;

pub use event::{Event, EventType, ObjectReference};

//! The wire: what an API server sends, taken apart as it comes.
//!
//! Bytes arrive in pieces of any size. A watch is cut into lines ([`Frames`]) and a line read as a [`WatchEvent`]; a list is cut
//! into its items ([`ListBody`]) without ever being held as a whole; an answer that is not a success is a [`Status`]. In protobuf
//! they are [`LengthFrames`] and a [`ProtobufListBody`]. All of it takes bytes from a stranger: what is not as it should be is a typed
//! error, memory is bounded, and nothing recurses.

mod event;
mod frame;
mod list;
mod protobuf_event;
mod protobuf_list;
mod scanner;
mod status;

pub(crate) use event::TypeText;
pub use event::{Change, TypeMeta, WatchEvent};
pub use frame::{Frames, LengthFrames};
pub use list::{ListBody, ListMeta};
pub use protobuf_list::ProtobufListBody;
pub use status::{Status, StatusCause};

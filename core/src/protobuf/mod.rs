//! Protobuf as the hot path reads it: fields pulled from bytes that are all there, borrowed, and skipped where they are not wanted.
//!
//! Kubernetes writes messages of proto2 in an envelope with the kind (`runtime.Unknown`). Nothing is built of a field that is not asked
//! for: its length says where the next one begins.
//!
//! Mirrors apimachinery `pkg/runtime/serializer/protobuf` and the `generated.proto` of the API groups, which the field numbers are from.

mod envelope;
mod fields;
mod varint;

pub(crate) use envelope::{Envelope, RAW};
pub(crate) use fields::{Fields, Text, split_tag};
pub(crate) use varint::Varint;

/// What every object and list begins with, in front of its envelope.
pub(crate) const MAGIC: &[u8] = b"k8s\0";

#[cfg(test)]
mod tests;

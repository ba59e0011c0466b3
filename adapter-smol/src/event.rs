//! What can wake the driver.

use sanskube::machine::Answer;

/// What can wake the driver.
pub(crate) enum Event {
    /// A part of an answer came.
    Answer(Answer),
    /// The machine's deadline has come.
    Due,
    /// Somebody wants the machine to stop.
    Stop,
    /// There may be something to do that does not come in by the channel.
    Wake,
}

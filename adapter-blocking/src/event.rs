//! What can wake the driver.

use sanskube::machine::Answer;

/// What can wake the driver.
pub(crate) enum Event {
    /// Parts of an answer came, in this order.
    Answer(Vec<Answer>),
    /// There may be something to do that does not come in by the channel.
    Wake,
}

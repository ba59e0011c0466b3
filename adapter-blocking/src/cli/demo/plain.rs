//! The audience of a pipe or a file: one line a step.

use std::io::{self, Write};
use std::time::Duration;

use sanskube::time::Timestamp;

use super::play::Audience;
use super::story::Step;
use super::view::View;

/// Writes one line for each step that has ended.
pub(super) struct Plain<W>(pub(super) W);

impl<W: Write> Audience for Plain<W> {
    fn see(&mut self, _: &View, _: Timestamp) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, step: &Step, took: Duration) -> io::Result<()> {
        let Step { name, expected, .. } = step;
        let line = format!("ok {:5.1} s  {name}: {expected}\n", took.as_secs_f64());
        self.0.write_all(line.as_bytes()).and_then(|()| self.0.flush())
    }
}

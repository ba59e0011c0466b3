//! The audience at a terminal: a board that is redrawn in place.

use std::io::{self, Write};
use std::time::Duration;

use sanskube::time::{Instant, Timestamp};
use sanskube_access::Clock;

use super::board::Board;
use super::ledger::Ledger;
use super::play::Audience;
use super::story::Step;
use super::view::View;
use crate::cli::logging;

/// Redraws a board. Nothing of the terminal is changed but the lines below where the cursor was, so nothing has to be restored.
pub(super) struct Live<'a, W> {
    out: W,
    size: fn() -> (usize, usize),
    steps: &'a [Step],
    ledger: Ledger,
    clock: Clock,
    began: Instant,
    took: Vec<Duration>,
    view: View,
    /// How many lines above the cursor belong to the board.
    drawn: usize,
}

impl<'a, W: Write> Live<'a, W> {
    /// A board on `out`, a terminal whose width and height `size` tells.
    pub(super) fn new(out: W, size: fn() -> (usize, usize), steps: &'a [Step], ledger: Ledger, clock: Clock) -> Self {
        let (began, took, view) = (clock.now().instant, Vec::new(), View::default());
        Self { out, size, steps, ledger, clock, began, took, view, drawn: 0 }
    }

    fn draw(&mut self, now: Timestamp) -> io::Result<()> {
        let (width, height) = (self.size)();
        let elapsed = self.clock.now().instant.since(self.began);
        let (steps, took, view, book) = (self.steps, &self.took, &self.view, &self.ledger.read());
        // One line is left for the cursor.
        let lines = Board { steps, took, elapsed, view, book, log: logging::last(), now }
            .render(width, height.saturating_sub(1));
        // One write, marked as one update: the terminal never shows half of it.
        let mut frame = String::from("\x1b[?2026h");
        if self.drawn > 0 {
            frame += &format!("\x1b[{}A", self.drawn);
        }
        for line in &lines {
            frame += &format!("\r{line}\x1b[K\n");
        }
        frame += "\x1b[J\x1b[?2026l";
        self.drawn = lines.len();
        self.out.write_all(frame.as_bytes()).and_then(|()| self.out.flush())
    }
}

impl<W: Write> Audience for Live<'_, W> {
    fn see(&mut self, view: &View, now: Timestamp) -> io::Result<()> {
        self.view = view.clone();
        self.draw(now)
    }

    fn end(&mut self, _: &Step, took: Duration) -> io::Result<()> {
        self.took.push(took);
        self.draw(self.clock.now().wall)
    }
}

#[cfg(test)]
mod tests {
    use super::super::story::STORY;
    use super::*;

    #[test]
    fn a_frame_begins_where_the_last_one_began() {
        let (clock, ledger) = (Clock::start(), Ledger::default());
        let mut out = Vec::new();
        let mut live = Live::new(&mut out, || (80, 24), STORY, ledger, clock);
        live.see(&View::default(), clock.now().wall).unwrap();
        let lines = live.drawn;
        live.end(&STORY[0], Duration::ZERO).unwrap();
        let text = String::from_utf8(out).unwrap();
        let frames: Vec<_> = text.split("\x1b[?2026h").collect();
        assert_eq!(frames.len(), 3);
        assert_eq!(frames[1].matches('\n').count(), lines);
        assert!(frames[2].starts_with(&format!("\x1b[{lines}A\r")));
        assert!(frames[2].contains("✓ "));
        assert!(frames.iter().skip(1).all(|frame| frame.ends_with("\x1b[J\x1b[?2026l")));
    }
}

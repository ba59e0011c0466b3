//! What is told on standard output.

use std::fmt;
use std::io::{ErrorKind, Write, stdout};
use std::process::exit;

/// As `println!`, but where nobody reads any more, as behind `| head`, the process ends quietly.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::say_line(format_args!($($text)*)) };
}
pub(crate) use say;

pub(crate) fn say_line(line: fmt::Arguments<'_>) {
    match writeln!(stdout().lock(), "{line}") {
        Ok(()) => {}
        Err(e) if e.kind() == ErrorKind::BrokenPipe => exit(0),
        Err(e) => {
            eprintln!("cannot print: {e}");
            exit(1);
        }
    }
}

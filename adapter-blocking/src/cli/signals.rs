//! Ctrl-C and SIGTERM: the first stops in order, the second at once.

use std::io;

/// Calls `first`, which must not wait, with the number of the first SIGINT or SIGTERM. The process ends at once at the second one, or when it has
/// not ended by itself in a second.
///
/// # Errors
/// The signals cannot be handled, or no thread can be started.
#[cfg(unix)]
pub(super) fn handle(first: impl FnOnce(i32) + Send + 'static) -> io::Result<()> {
    use std::thread::{Builder, sleep};
    use std::time::Duration;

    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::exit;

    /// How long an orderly stop may take: so many ticks. A machine that stands still for a while costs the stop one of them.
    const GRACE: (u32, Duration) = (9, Duration::from_millis(100));

    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let wait = move || {
        let mut signals = signals.forever();
        let Some(signal) = signals.next() else { return };
        log::info!("stopping; a second signal stops at once");
        first(signal);
        // Whether or not this thread can be started, the second signal is heard.
        let _ = Builder::new().name("sanskube-grace".into()).spawn(move || {
            (0..GRACE.0).for_each(|_| sleep(GRACE.1));
            log::warn!("stopped with calls in flight");
            exit(128 + signal);
        });
        if let Some(signal) = signals.next() {
            exit(128 + signal);
        }
    };
    Builder::new().name("sanskube-signals".into()).spawn(wait)?;
    Ok(())
}

/// Elsewhere the system's own handling of Ctrl-C has to do.
#[cfg(not(unix))]
pub(super) fn handle(_first: impl FnOnce(i32) + Send + 'static) -> io::Result<()> {
    Ok(())
}

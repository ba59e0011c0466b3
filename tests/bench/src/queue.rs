//! `queue`: keys go through the work queue.

use std::time::{Duration, Instant as Clock};

use sanskube::key::Key;
use sanskube::time::Instant;
use sanskube::workqueue::{Finish, Get, WorkQueue, rate};

/// Keys that are in the queue at once.
const KEYS: usize = 10_000;
const ROUNDS: usize = 20;

/// What a key costs.
pub(crate) struct QueueCost {
    /// Added, taken and done.
    pub(crate) through: Duration,
    /// Added for later, taken when its time has come, and done.
    pub(crate) delayed: Duration,
}

pub(crate) fn run() -> crate::Result {
    let QueueCost { through, delayed } = queue();
    println!("sanskube: {through:?} add, get and done; {delayed:?} delayed add, get and done");
    Ok(())
}

pub(crate) fn queue() -> QueueCost {
    let keys: Vec<Key> = (0..KEYS).map(|n| Key::new("shop", &format!("web-{n}"))).collect();
    QueueCost {
        through: measure(&keys, |queue, now, key| queue.add(now, key)),
        delayed: measure(&keys, |queue, now, key| queue.add_after(now, key, Duration::from_millis(1))),
    }
}

fn measure(keys: &[Key], add: impl Fn(&mut WorkQueue<Key>, Instant, Key)) -> Duration {
    let mut queue = WorkQueue::new(rate::default_controller());
    let mut now = Instant::ZERO;
    let start = Clock::now();
    for _ in 0..ROUNDS {
        for key in keys {
            add(&mut queue, now, key.clone());
        }
        now += Duration::from_secs(1);
        let mut taken = 0;
        while let Get::Item(key) = queue.poll_get(now) {
            queue.finish(now, &key, Finish::Done);
            taken += 1;
        }
        assert_eq!(taken, keys.len(), "each key comes once");
    }
    start.elapsed() / (KEYS * ROUNDS) as u32
}

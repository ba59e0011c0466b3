//! The work queue beside lists that are walked.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use sanskube::time::Instant;
use sanskube::workqueue::rate::PerItem;
use sanskube::workqueue::{Finish, Get, Priority, Retries, Timer, WorkQueue};

use crate::choices::Choices;

type Key = &'static str;

const KEYS: [Key; 6] = ["a", "b", "c", "d", "e", "f"];

/// Whatever is added, taken, finished and timed, the queue does as lists that are walked do.
pub fn work_queues(input: &[u8]) {
    let mut choices = Choices::new(input);
    let retries = *choices.pick(&[Retries::Windowed, Retries::ClientGo]);
    let low_every = 1 + choices.below(4) as u32;
    let mut queue = WorkQueue::new(PerItem::exponential(BASE, MAX))
        .with_retries(retries)
        .with_low_every(NonZeroU32::new(low_every).expect("it is one at least"));
    let mut model = Model {
        retries,
        low_every,
        passed: 0,
        queued: Vec::new(),
        processing: BTreeMap::new(),
        timers: Vec::new(),
        set: 0,
        failures: BTreeMap::new(),
        windows: BTreeMap::new(),
        shut_down: false,
        draining: false,
    };
    let mut now = Instant::from_millis(1_000);
    let mut step = 0;
    while !choices.is_empty() {
        step += 1;
        if choices.percent(40) {
            now += Duration::from_micros(choices.below(8_000) as u64);
        }
        let key = *choices.pick(&KEYS);
        let delay = Duration::from_millis(choices.below(30) as u64);
        let priority = *choices.pick(&[Priority::Low, Priority::Normal]);
        let op = choices.below(100);
        if !(75..85).contains(&op) {
            model.pass_time(now);
        }
        match op {
            0..15 => {
                queue.add_with(now, key, priority);
                model.add(now, key, priority);
            }
            15..25 => {
                queue.add_after(now, key, delay);
                model.set(now, key, Timer::Reminder, now + delay);
            }
            25..35 => {
                queue.add_rate_limited(now, key);
                model.add_rate_limited(now, key);
            }
            35..60 => {
                let got = queue.poll_get(now);
                let want = match model.get() {
                    Some(key) => Get::Item(key),
                    None if model.shut_down => Get::ShutDown,
                    None => Get::Empty { until: model.timers.iter().map(|timer| timer.0).min() },
                };
                assert_eq!(got, want, "step {step}");
            }
            60..65 => assert_eq!(queue.done(now, &key), model.done(now, key)),
            65..75 => {
                let finish = *choices.pick(&[Finish::Done, Finish::Retry, Finish::After(delay)]);
                let done = model.done(now, key);
                assert_eq!(queue.finish(now, &key, finish), done);
                match finish {
                    _ if !done => {}
                    Finish::Done => model.forget(key),
                    Finish::Retry => model.add_rate_limited(now, key),
                    Finish::After(delay) => {
                        model.forget(key);
                        model.set(now, key, Timer::Reminder, now + delay);
                    }
                }
            }
            75..80 => {
                queue.forget(&key);
                model.forget(key);
            }
            80..85 => {
                let running = model.timers.iter().position(|t| t.2 == key && t.3 == Timer::Reminder);
                assert_eq!(queue.cancel_after(&key), running.is_some());
                running.map(|i| model.timers.remove(i));
            }
            85 if step > 40 => {
                queue.shut_down(now);
                model.shut_down(false);
            }
            86 if step > 40 => {
                queue.shut_down_with_drain(now);
                model.shut_down(true);
            }
            _ => queue.handle_timeout(now),
        }
        assert_eq!(queue.len(), model.queued.len(), "step {step}");
        assert_eq!(queue.processing(), model.processing.len(), "step {step}");
        assert_eq!(queue.waiting(), model.timers.len(), "step {step}");
        assert_eq!(queue.next_deadline(), model.timers.iter().map(|timer| timer.0).min(), "step {step}");
        let oldest = model.queued.iter().map(|queued| queued.2).min();
        assert_eq!(queue.oldest_age(now), oldest.map(|since| now.since(since)), "step {step}");
        for key in KEYS {
            let failures = model.failures.get(key).copied().unwrap_or_default();
            assert_eq!(queue.num_requeues(&key), failures, "step {step}");
            assert_eq!(queue.contains(&key), model.queued.iter().any(|queued| queued.0 == key), "step {step}");
        }
        let busy = !model.queued.is_empty() || !model.processing.is_empty();
        assert_eq!((queue.is_shutting_down(), queue.is_draining()), (model.shut_down, model.draining && busy));
    }
}

/// The queue said as plainly as possible: lists that are walked.
struct Model {
    retries: Retries,
    low_every: u32,
    passed: u32,
    queued: Vec<(Key, Priority, Instant)>,
    /// Keys being processed, and whether they were added meanwhile.
    processing: BTreeMap<Key, Option<Priority>>,
    /// Time, order of setting, key, kind.
    timers: Vec<(Instant, u64, Key, Timer)>,
    set: u64,
    failures: BTreeMap<Key, u32>,
    windows: BTreeMap<Key, Instant>,
    shut_down: bool,
    draining: bool,
}

const BASE: Duration = Duration::from_millis(4);
const MAX: Duration = Duration::from_millis(100);

impl Model {
    fn add(&mut self, now: Instant, key: Key, priority: Priority) {
        if self.shut_down {
            return;
        }
        if let Some(dirty) = self.processing.get_mut(key) {
            *dirty = (*dirty).max(Some(priority));
            return;
        }
        match self.queued.iter().position(|queued| queued.0 == key) {
            Some(i) if self.queued[i].1 < priority => {
                self.queued.remove(i);
            }
            Some(_) => return,
            None => {}
        }
        self.queued.push((key, priority, now));
    }

    fn pass_time(&mut self, now: Instant) {
        while let Some(next) = self.timers.iter().min_by_key(|t| (t.0, t.1)).copied().filter(|t| t.0 <= now) {
            self.timers.retain(|timer| *timer != next);
            self.add(now, next.2, Priority::Normal);
        }
    }

    fn set(&mut self, now: Instant, key: Key, timer: Timer, at: Instant) {
        if at <= now {
            return self.add(now, key, Priority::Normal);
        }
        let running = self.timers.iter().position(|t| t.2 == key && t.3 == timer);
        if self.shut_down || running.is_some_and(|i| self.timers[i].0 <= at) {
            return;
        }
        if let Some(i) = running {
            self.timers.remove(i);
        }
        self.timers.push((at, self.set, key, timer));
        self.set += 1;
    }

    fn add_rate_limited(&mut self, now: Instant, key: Key) {
        let mut fail = |key| {
            let failures = self.failures.entry(key).or_default();
            *failures += 1;
            now + BASE.saturating_mul(1 << (*failures - 1).min(20)).min(MAX)
        };
        if self.retries == Retries::ClientGo || self.shut_down {
            let at = fail(key);
            return self.set(now, key, Timer::Reminder, at);
        }
        let open = self.windows.get(key).copied().filter(|end| *end > now);
        let end = open.unwrap_or_else(|| fail(key));
        self.windows.insert(key, end);
        self.set(now, key, Timer::Retry, end);
    }

    fn get(&mut self) -> Option<Key> {
        let first = |priority| self.queued.iter().position(|queued| queued.1 == priority);
        let (normal, low) = (first(Priority::Normal), first(Priority::Low));
        let i = match (normal, low) {
            (Some(normal), None) => {
                self.passed = 0;
                normal
            }
            (Some(normal), Some(_)) if self.passed + 1 < self.low_every => {
                self.passed += 1;
                normal
            }
            (_, Some(low)) => {
                self.passed = 0;
                low
            }
            (None, None) => return None,
        };
        let key = self.queued.remove(i).0;
        self.processing.insert(key, None);
        Some(key)
    }

    fn done(&mut self, now: Instant, key: Key) -> bool {
        match self.processing.remove(key) {
            Some(Some(priority)) => self.queued.push((key, priority, now)),
            Some(None) => {}
            None => return false,
        }
        true
    }

    fn forget(&mut self, key: Key) {
        self.failures.remove(key);
        self.windows.remove(key);
    }

    fn shut_down(&mut self, drain: bool) {
        self.timers.clear();
        self.windows.clear();
        (self.shut_down, self.draining) = (true, drain);
    }
}

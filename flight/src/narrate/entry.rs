//! An entry: a line of the log, and what it changes in the picture of the moment.

use std::collections::BTreeMap;
use std::fmt;

use sanskube::key::Key;
use sanskube::time::Now;

/// Something that happened, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The step in which it happened.
    pub step: u64,
    /// When.
    pub now: Now,
    /// What sort of thing it is.
    pub topic: Topic,
    /// What happened; empty for what is worth no line.
    pub text: String,
    /// The sets and pods that it is about.
    pub keys: Vec<Key>,
    /// The row that it changes.
    pub row: Option<Row>,
}

impl Entry {
    /// The wall clock in UTC, with milliseconds.
    pub fn time(&self) -> String {
        let micros = self.now.wall.to_micro_string();
        // Of six digits and a `Z` three digits stay.
        micros.get(..micros.len().saturating_sub(4)).unwrap_or(&micros).to_owned()
    }
}

/// What sort of thing an entry tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// An answer to a call.
    Answer,
    /// A change in a cache.
    Cache,
    /// A call.
    Call,
    /// A decision of a sync, and why.
    Decision,
    /// An event that is written for people to read.
    Event,
    /// Leadership.
    Lease,
    /// A key that waits to be synced.
    Queue,
    /// The end of all.
    Stop,
    /// A sync.
    Sync,
    /// A list or watch that failed.
    Trouble,
}

/// A row of the picture of the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The table that it is in.
    pub table: Table,
    /// Its name.
    pub name: String,
    /// What stands in it from now on; none: it is gone.
    pub value: Option<String>,
}

/// A table of the picture of the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// The sets in the caches.
    Sets,
    /// The pods in the cache.
    Pods,
    /// The keys that wait or are being synced.
    Queue,
    /// The calls in flight.
    Calls,
    /// The election.
    Lease,
}

/// The picture of a moment: what was known, waited for and in flight.
#[derive(Clone, Debug, Default)]
pub struct Picture(BTreeMap<Table, BTreeMap<String, String>>);

impl Picture {
    /// Takes over what an entry changes.
    pub fn apply(&mut self, entry: &Entry) {
        let Some(Row { table, name, value }) = &entry.row else { return };
        let rows = self.0.entry(*table).or_default();
        match value {
            Some(value) => rows.insert(name.clone(), value.clone()),
            None => rows.remove(name),
        };
    }

    /// The rows of a table, by name.
    pub fn rows(&self, table: Table) -> impl Iterator<Item = (&str, &str)> {
        self.0.get(&table).into_iter().flatten().map(|(name, value)| (&**name, &**value))
    }
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 5] = [Self::Sets, Self::Pods, Self::Queue, Self::Calls, Self::Lease];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sets => "sets",
            Self::Pods => "pods",
            Self::Queue => "queue",
            Self::Calls => "calls",
            Self::Lease => "lease",
        }
    }
}

impl Topic {
    /// All topics.
    pub const ALL: [Self; 10] = [
        Self::Answer,
        Self::Cache,
        Self::Call,
        Self::Decision,
        Self::Event,
        Self::Lease,
        Self::Queue,
        Self::Stop,
        Self::Sync,
        Self::Trouble,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Cache => "cache",
            Self::Call => "call",
            Self::Decision => "decision",
            Self::Event => "event",
            Self::Lease => "lease",
            Self::Queue => "queue",
            Self::Stop => "stop",
            Self::Sync => "sync",
            Self::Trouble => "trouble",
        }
    }
}

impl fmt::Display for Entry {
    /// One line: the wall clock with milliseconds, the step, the topic, the words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, topic, text, .. } = self;
        write!(f, "{} {:>6} {:<8} {text}", self.time(), format!("#{step}"), topic.as_str())
    }
}

//! A page: a replay to step through in a browser, as one file that needs nothing else.

use std::collections::VecDeque;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::narrate::{Entry, Picture, Row, Table, Topic};

/// How many entries a page shows. Of more, it shows the last ones, on the picture of what was before them.
pub const PAGE_ENTRIES: usize = 50_000;

/// Everything that is not data.
const TEMPLATE: &str = include_str!("page.html");
/// Where the data goes.
const DATA: &str = "{{data}}";

/// A page that is being filled.
#[derive(Debug, Default)]
pub struct Page {
    before: Picture,
    left_out: u64,
    entries: VecDeque<Entry>,
}

impl Page {
    /// Adds an entry at the end.
    pub fn add(&mut self, entry: Entry) {
        if self.entries.len() == PAGE_ENTRIES
            && let Some(first) = self.entries.pop_front()
        {
            self.before.apply(&first);
            self.left_out += 1;
        }
        self.entries.push_back(entry);
    }

    /// Writes the page. `notes` are lines about the whole: what was recorded, and what came of the replay.
    ///
    /// # Errors
    /// It could not be written.
    pub fn write(&self, mut out: impl Write, title: &str, notes: &[String]) -> io::Result<()> {
        let rows = |table: Table| self.before.rows(table).map(|(name, value)| json!([name, value])).collect();
        let before: Vec<Value> = Table::ALL.into_iter().map(rows).collect();
        let data = json!({
            "title": title,
            "notes": notes,
            "leftOut": self.left_out,
            "tables": Table::ALL.map(Table::as_str),
            "topics": Topic::ALL.map(Topic::as_str),
            "before": before,
            "entries": self.entries.iter().map(entry).collect::<Vec<_>>(),
        });
        // Within an element for data only `<` means something.
        let data = data.to_string().replace('<', "\\u003c");
        let (head, tail) = TEMPLATE.split_once(DATA).expect("the template has a place for the data");
        for part in [head, &data, tail] {
            out.write_all(part.as_bytes())?;
        }
        out.flush()
    }
}

/// `[step, time, nanoseconds since the epoch in milliseconds, topic, text, keys, table, name, value]`, the last three only with a row.
fn entry(entry: &Entry) -> Value {
    let Entry { step, now, topic, text, keys, row } = entry;
    let keys: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
    let mut value = json!([step, entry.time(), now.wall.as_nanos() / 1_000_000, *topic as usize, text, keys]);
    if let (Some(Row { table, name, value: shown }), Some(fields)) = (row, value.as_array_mut()) {
        fields.extend([json!(*table as usize), json!(name), json!(shown)]);
    }
    value
}

//! What makes two states one: a text of all that matters, with names, uids and versions by their order.
//!
//! The text has in it what the server holds, what the controller holds (its `Debug` shows expectations, the guard, the queue and the syncs under way), and
//! what is under way. Versions, uids and generated names are replaced by their rank among those that the text has, which keeps every comparison that
//! the controller could make. Each version that is mentioned has its object in the text, too. Left out are times, counters that only measure, and how often a
//! key has failed: they decide when something is done, and the exploration tries every time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use sanskube::machine::{Answer, Part};
use sanskube::object::{Object, ReplicaSetKind};
use sanskube::replicaset::ReplicaSetController;
use sanskube::replicaset::expectations::Expectation;
use sanskube::uid::Uid;
use serde_json::Value;

use super::scene::Scene;
use crate::world::Delivery;

/// Fields of `Debug` texts that are left out.
const LEFT_OUT: [&str; 18] = [
    "adds",
    "again_after",
    "complaint",
    "decisions",
    "expectations",
    "limiter",
    "lists",
    "next_ticket",
    "passed",
    "queue_duration",
    "retried",
    "rounds",
    "since",
    "troubles",
    "watches",
    "well",
    "windows",
    "work_duration",
];
/// Fields of `Debug` texts that are maps without an order.
const UNORDERED: [&str; 3] = ["records", "states", "timers"];
/// Numbers from here on are versions: nothing in a small world counts that far.
const FIRST_VERSION: u64 = 1000;

impl Scene {
    /// A number that is the same for states that are one. Two states that are not one have the same with a chance of 2⁻¹²⁸.
    pub fn fingerprint(&self) -> u128 {
        let text = rank(&self.text());
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, &text).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        half(0) << 64 | half(1)
    }

    /// All that matters, with the names of this very state.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut faults = self.faults.clone();
        faults.sort_unstable();
        let _ = writeln!(text, "{} {faults:?} {}", self.users, self.server_deadline().is_some());
        for (key, pod) in self.check.pods.all() {
            let _ = writeln!(text, "{key} {pod:?}");
        }
        for (key, set) in self.check.sets.all() {
            let _ = writeln!(text, "{key} {set:?}");
        }
        let timers: Vec<_> = self.timers().collect();
        for (id, client) in &self.world.clients {
            let Some(manager) = client.machine.manager() else { continue };
            text.push_str(&plain(&format!("{manager:?}")));
            let _ = writeln!(text, "\ntimer {}", timers.contains(id));
            let mut held: Vec<_> = manager.pods().iter().map(|pod| format!("{pod:?}")).collect();
            held.sort_unstable();
            let sets = manager.sets(ReplicaSetKind::ReplicaSet).into_iter().flat_map(|sets| sets.iter());
            held.extend(sets.map(|set| format!("{set:?} {}", set.uid())));
            let _ = writeln!(text, "{held:?}");
            let controller = manager.controller(ReplicaSetKind::ReplicaSet);
            for (uid, record) in controller.into_iter().flat_map(|controller| self.expectations(controller)) {
                let _ = writeln!(text, "{uid} {}", plain(&format!("{record:?}")));
            }
            for line in client.lines.values() {
                let path = if line.watch { line.request.path.split('?').next() } else { Some(&*line.request.path) };
                let _ = writeln!(text, "{} {path:?} {}", line.request.method.as_str(), line.watch);
            }
        }
        let mut under_way: BTreeMap<_, String> = BTreeMap::new();
        for delivery in self.world.under_way.values() {
            let (of, what) = match delivery {
                Delivery::Answer(client, answer) => ((*client, answer.call), part(answer)),
                Delivery::Request(client, call) => {
                    ((*client, call.id), format!("{:?} {}", call.request, String::from_utf8_lossy(&call.request.body)))
                }
            };
            let alive = self.world.clients.contains_key(&of.0);
            let _ = writeln!(under_way.entry(of).or_insert_with(|| format!("{alive} ")), "{what}");
        }
        under_way.values().for_each(|what| text.push_str(what));
        self.add_mentioned(&mut text);
        text
    }

    /// What a controller still expects. What it expected and has seen changes nothing any more.
    fn expectations<'a>(&self, controller: &'a ReplicaSetController) -> impl Iterator<Item = (Uid, &'a Expectation)> {
        let known: BTreeSet<String> = self.check.sets.known(|set| set.metadata.uid.clone());
        let records = known.into_iter().map(|uid| Uid::new(&uid));
        let records = records.filter_map(|uid| Some((uid.clone(), controller.expectations().get(&uid)?)));
        records.filter(|(_, record)| record.creations > 0 || record.deletions > 0)
    }

    /// Adds what each object was at each version that the text mentions.
    fn add_mentioned(&self, text: &mut String) {
        let version = |token| if let Token::Version(version) = token { Some(version) } else { None };
        let versions: BTreeSet<u64> = tokens(text).filter_map(|(_, _, token)| version(token)).collect();
        for version in versions {
            let pods = self.check.pods.changed_at(version).map(|(key, pod)| format!("{key} {pod:?}"));
            let sets = || self.check.sets.changed_at(version).map(|(key, set)| format!("{key} {set:?}"));
            if let Some(what) = pods.or_else(sets) {
                let _ = writeln!(text, "{version}: {what}");
            }
        }
    }
}

/// A part of an answer: of objects what the checks read of them.
fn part(answer: &Answer) -> String {
    let Part::Body(bytes) = &answer.part else { return format!("{:?}", answer.part) };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let told = lines.map(|line| {
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        let kind = value["type"].as_str().unwrap_or_default();
        let object = if kind.is_empty() { &value } else { &value["object"] };
        let metadata = &object["metadata"];
        format!("{kind} {} {} {} {}", object["kind"], metadata["name"], metadata["resourceVersion"], object["reason"])
    });
    told.collect::<Vec<_>>().join("\n")
}

/// A `Debug` text without what is left out, and without times.
fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        let value = after.strip_prefix(": ").unwrap_or_default();
        if LEFT_OUT.contains(&word) && !value.is_empty() {
            rest = &value[end_of_value(value)..];
        } else if UNORDERED.contains(&word) && value.starts_with('{') {
            let (map, behind) = value.split_at(end_of_value(value));
            let map = map.trim_end();
            let map = map.strip_prefix('{').and_then(|map| map.strip_suffix('}')).unwrap_or(map);
            let mut entries: Vec<String> = entries(map).map(plain).collect();
            entries.sort_unstable();
            let _ = write!(kept, "{word}: {{{}}}", entries.join(", "));
            rest = behind;
        } else if after.starts_with('(') && matches!(word, "Instant" | "Timestamp") {
            rest = after.find(')').map_or("", |end| &after[end + 1..]);
            // The ticket of a timer, which orders equal times.
            rest = rest.strip_prefix(", ").map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        } else {
            kept.push_str(word);
        }
    }
    kept.push_str(rest);
    kept
}

/// The entries of a map in a `Debug` text.
fn entries(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let start = text.find(|c| c != ',' && c != ' ')?;
        let end = start + end_of_value(&text[start..]).max(1);
        let entry = &text[start..end];
        text = &text[end..];
        Some(entry)
    })
}

/// Where a value ends within a `Debug` text: before the comma or the bracket that follows.
fn end_of_value(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' | ',' if depth == 0 => return at,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// A word of a text that is replaced, or left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Token<'a> {
    Date,
    Name(&'a str),
    Uid(&'a str),
    Version(u64),
}

/// The words of a text that are replaced, each with where it begins and ends.
fn tokens(text: &str) -> impl Iterator<Item = (usize, usize, Token<'_>)> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(word)?;
            let end = text[start..].find(|c| !word(c)).map_or(text.len(), |length| start + length);
            at = end;
            let token = match &text[start..end] {
                date if date.len() == 13 && date.starts_with("20") && date.as_bytes()[10] == b'T' => {
                    at = text[start..].find('Z').map_or(text.len(), |length| start + length);
                    Token::Date
                }
                name if name.len() == 7 && (name.starts_with("a-") || name.starts_with("b-")) => Token::Name(name),
                uid if uid.len() == 36 && uid.bytes().filter(|byte| *byte == b'-').count() == 4 => Token::Uid(uid),
                other => match other.parse() {
                    Ok(version) if version >= FIRST_VERSION => Token::Version(version),
                    _ => continue,
                },
            };
            return Some((start, at, token));
        }
    })
}

/// The text with versions, uids and names replaced by their rank among their like.
fn rank(text: &str) -> String {
    let all: BTreeSet<Token<'_>> = tokens(text).map(|(_, _, token)| token).collect();
    let (mut ranks, mut next) = (BTreeMap::new(), [0; 4]);
    for token in all {
        let kind = match token {
            Token::Date => 0,
            Token::Name(_) => 1,
            Token::Uid(_) => 2,
            Token::Version(_) => 3,
        };
        ranks.insert(token, (b"dnuv"[kind] as char, next[kind]));
        next[kind] += 1;
    }
    let (mut ranked, mut done) = (String::with_capacity(text.len()), 0);
    for (start, end, token) in tokens(text) {
        let (kind, rank) = ranks[&token];
        let _ = write!(ranked, "{}{kind}{rank}", &text[done..start]);
        done = end;
    }
    ranked.push_str(&text[done..]);
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_uids_and_versions_are_replaced_by_their_rank_and_dates_by_nothing() {
        let text = |name: &str, uid: &str, version: u64, at: &str| {
            format!(r#"Pod default/{name}@{version} {uid} 3 @{} "2027-01-15T08:00:{at}Z""#, version + 7)
        };
        let one = text("a-2bcdf", "0f8fad5b-d9cb-469f-a165-70867728950e", 1003, "00");
        let other = text("a-zzzzz", "7c9e6679-7425-40de-944b-e07fc1f90ae7", 2411, "01");
        assert_eq!(rank(&one), r#"Pod default/n0@v0 u0 3 @v1 "d0Z""#);
        assert_eq!(rank(&one), rank(&other));
    }

    #[test]
    fn times_measures_and_the_order_of_maps_are_left_out_of_a_debug_text() {
        let text = |states: &str| {
            format!(
                "Q {{ adds: 3, states: {{{states}}}, waiting: {{(Instant(5), 17): 1}}, passed: H {{ sums: [1, 2] }}, timers: {{}} }}"
            )
        };
        let plain = plain(&text(r#""b": S { since: Instant(7) }, "a": (1, 2)"#));
        assert_eq!(plain, r#"Q { , states: {"a": (1, 2), "b": S { }}, waiting: {(): 1}, , timers: {}}"#);
        assert_eq!(plain, super::plain(&text(r#""a": (1, 2), "b": S { since: Instant(8) }"#)));
    }
}

//! `Debug` texts, without what does not matter.

use std::fmt::Write;

/// Fields that are left out: measures, what decides when something is done, and what is looked at by itself.
const LEFT_OUT: [&str; 23] = [
    "adds",
    "again_after",
    "backoff",
    "complaint",
    "decisions",
    "expectations",
    "guard",
    "internal_errors",
    "limiter",
    "lists",
    "next_ticket",
    "pace",
    "passed",
    "queue_duration",
    "random",
    "retried",
    "rounds",
    "since",
    "troubles",
    "watches",
    "well",
    "windows",
    "work_duration",
];
/// Fields that are maps without an order.
const UNORDERED: [&str; 3] = ["records", "states", "timers"];

/// How a text is made plain.
#[derive(Clone, Copy)]
pub(super) struct Plain {
    /// Of moments it is kept whether they are past.
    pub(super) now: u64,
    /// Whether the order is kept in which timers run out.
    pub(super) timers_in_order: bool,
}

/// A `Debug` text without what is left out. Calls are named by `call`.
pub(super) fn plain(text: &str, how: Plain, call: impl Fn(u64) -> Option<usize> + Copy) -> String {
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
        } else if (UNORDERED.contains(&word) || !how.timers_in_order && word == "waiting") && value.starts_with('{') {
            let (map, behind) = value.split_at(end_of_value(value));
            let map = map.trim_end();
            let map = map.strip_prefix('{').and_then(|map| map.strip_suffix('}')).unwrap_or(map);
            let mut entries: Vec<String> = entries(map).map(|entry| plain(entry, how, call)).collect();
            entries.sort_unstable();
            let _ = write!(kept, "{word}: {{{}}}", entries.join(", "));
            rest = behind;
        } else if after.starts_with('(') && matches!(word, "Instant" | "Timestamp") {
            let end = after.find(')').unwrap_or(after.len() - 1);
            let is_past = word == "Instant" && after[1..end].parse().is_ok_and(|at: u64| at <= how.now);
            kept.push_str(if is_past { "past" } else { "" });
            rest = &after[end + 1..];
            // The ticket of a timer, which orders equal times.
            rest = rest.strip_prefix(", ").map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        } else if let Some(id) = after.strip_prefix('(').filter(|_| word == "CallId") {
            let end = id.find(')').unwrap_or(id.len());
            let nth = id[..end].parse().ok().and_then(call);
            let _ = write!(kept, "#{nth:?}");
            rest = &id[(end + 1).min(id.len())..];
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: Plain = Plain { now: 6, timers_in_order: true };

    #[test]
    fn times_measures_and_the_order_of_maps_are_left_out() {
        let text = |states: &str| {
            format!(
                "Q {{ adds: 3, states: {{{states}}}, waiting: {{(Instant(5), 17): 1}}, passed: H {{ sums: [1, 2] }}, timers: {{}} }}"
            )
        };
        let plain = |states: &str| plain(&text(states), HOW, |_| None);
        let one = plain(r#""b": S { since: Instant(7) }, "a": (1, 2)"#);
        assert_eq!(one, r#"Q { , states: {"a": (1, 2), "b": S { }}, waiting: {(past): 1}, , timers: {}}"#);
        assert_eq!(one, plain(r#""a": (1, 2), "b": S { since: Instant(8) }"#));
    }

    #[test]
    fn the_order_of_timers_may_be_left_out() {
        let text = |first: &str, second: &str| {
            format!("D {{ waiting: {{(Instant(7), 1): {first}, (Instant(8), 0): {second}}} }}")
        };
        let plain = |text: String, in_order| plain(&text, Plain { timers_in_order: in_order, ..HOW }, |_| None);
        assert_ne!(plain(text("a", "b"), true), plain(text("b", "a"), true));
        assert_eq!(plain(text("a", "b"), false), plain(text("b", "a"), false));
    }

    #[test]
    fn calls_are_named_by_their_place() {
        let text = "W { id: CallId(7), other: CallId(8) }";
        assert_eq!(plain(text, HOW, |call| (call == 7).then_some(1)), "W { id: #Some(1), other: #None }");
    }
}

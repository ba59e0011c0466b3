//! Text from elsewhere, as it may be shown on a terminal.

use std::borrow::Cow;

/// The text with its control characters spelled out, as `\n` or `\u{1b}`: what a server or a recording says ends no line, and gives a terminal no orders.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let mut shown = String::new();
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out_and_all_else_stays() {
        assert_eq!(printable("pods \"über\" → 3\\n"), "pods \"über\" → 3\\n");
        assert_eq!(printable("a\nb\r\t\u{1b}[2J\u{7f}\u{9b}"), "a\\nb\\r\\t\\u{1b}[2J\\u{7f}\\u{9b}");
    }
}

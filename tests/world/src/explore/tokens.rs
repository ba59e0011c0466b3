//! The words of a text that only tell things apart.

use std::collections::{BTreeMap, BTreeSet};

/// Numbers from here on are versions: nothing in a small world counts that far.
const FIRST_VERSION: u64 = 1000;

/// A word of a text that is replaced, or left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Token<'a> {
    /// When an object was made: it decides which pod is deleted first.
    Creation(&'a str),
    Date,
    Name(&'a str),
    Uid(&'a str),
    Version(u64),
}

/// The words of a text that are replaced, each with where it begins and ends.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (usize, usize, Token<'_>)> {
    let (bytes, word) = (text.as_bytes(), |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-');
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes[at..].iter().position(word)?;
            let end = bytes[start..].iter().position(|byte| !word(byte)).map_or(text.len(), |length| start + length);
            at = end;
            let token = match &text[start..end] {
                date if date.len() == 13 && date.starts_with("20") && date.as_bytes()[10] == b'T' => {
                    at = text[start..].find('Z').map_or(text.len(), |length| start + length);
                    if text[..start].ends_with("creation_timestamp: \"") {
                        Token::Creation(&text[start..at])
                    } else {
                        Token::Date
                    }
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

/// The text with some words replaced. What is asked is told what stands before the word, too.
pub(super) fn replace(text: &str, with: impl Fn(&str, Token<'_>) -> Option<String>) -> String {
    let (mut replaced, mut done) = (String::with_capacity(text.len()), 0);
    for (start, end, token) in tokens(text) {
        if let Some(with) = with(&text[..start], token) {
            replaced.push_str(&text[done..start]);
            replaced.push_str(&with);
            done = end;
        }
    }
    replaced.push_str(&text[done..]);
    replaced
}

/// The text with names, uids and times of creation replaced by their rank among their like, and other dates by nothing.
pub(super) fn rank(text: &str) -> String {
    let all: BTreeSet<Token<'_>> = tokens(text).map(|(_, _, token)| token).collect();
    let (mut ranks, mut next) = (BTreeMap::new(), [0; 5]);
    for token in all {
        let kind = match token {
            Token::Creation(_) => 0,
            Token::Date => 1,
            Token::Name(_) => 2,
            Token::Uid(_) => 3,
            Token::Version(_) => 4,
        };
        ranks.insert(token, format!("{}{}", b"cdnuv"[kind] as char, next[kind]));
        next[kind] += 1;
    }
    replace(text, |_, token| ranks.get(&token).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_uids_are_replaced_by_their_rank_and_dates_by_nothing() {
        let text =
            |name: &str, uid: &str, at: &str| format!(r#"Pod default/{name}@v0 {uid} 3 "2027-01-15T08:00:{at}Z""#);
        let one = text("a-2bcdf", "0f8fad5b-d9cb-469f-a165-70867728950e", "00");
        let other = text("a-zzzzz", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "01");
        assert_eq!(rank(&one), r#"Pod default/n0@v0 u0 3 "d0Z""#);
        assert_eq!(rank(&one), rank(&other));
    }
}

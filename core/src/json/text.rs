//! Strings of JSON.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::lanes::ONES;

/// The string that begins at `start`, behind its opening quote, and the offset behind its closing one. None: it is not a whole string.
///
/// Borrowed where it has no escapes. Whether it is UTF-8 is for the caller to find out.
#[inline]
pub(super) fn string(bytes: &[u8], start: usize) -> Option<(Cow<'_, [u8]>, usize)> {
    let end = start + plain_length(&bytes[start..]);
    match bytes.get(end)? {
        b'"' => Some((Cow::Borrowed(&bytes[start..end]), end + 1)),
        _ => unescaped(bytes, start).map(|(text, end)| (Cow::Owned(text), end)),
    }
}

/// The offset behind the string that begins at `start`. What its escapes stand for is not looked at.
pub(super) fn skip_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += plain_length(bytes.get(at..)?);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => return None,
        }
    }
}

/// How many bytes stand for themselves: up to a quote, a backslash or a control character.
#[inline]
fn plain_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks();
    for (nth, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // Taking one from a lane that is zero sets its highest bit, as does taking 32 from one that is less. It also borrows from the
        // lanes above, so that only the first bit tells the truth. Bytes that are not ASCII have the bit anyway and are none of those.
        let quotes = (word ^ (ONES * u64::from(b'"'))).wrapping_sub(ONES);
        let backslashes = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
        let controls = word.wrapping_sub(ONES * u64::from(b' '));
        let special = (quotes | backslashes | controls) & !word & (ONES << 7);
        if special != 0 {
            return nth * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | ..b' ');
    bytes.len() - rest.len() + rest.iter().take_while(|byte| is_plain(byte)).count()
}

#[cold]
fn unescaped(bytes: &[u8], start: usize) -> Option<(Vec<u8>, usize)> {
    let mut text = Vec::new();
    let mut at = start;
    loop {
        let plain = plain_length(bytes.get(at..)?);
        text.extend_from_slice(&bytes[at..at + plain]);
        at += plain;
        match bytes.get(at)? {
            b'"' => return Some((text, at + 1)),
            b'\\' => at = escape(bytes, at + 1, &mut text)?,
            _ => return None,
        }
    }
}

/// Adds what an escape stands for; `at` is the offset behind its backslash. Gives the offset behind it.
fn escape(bytes: &[u8], at: usize, text: &mut Vec<u8>) -> Option<usize> {
    let byte = match bytes.get(at)? {
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let (char, end) = code_point(bytes, at + 1)?;
            text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(end);
        }
        _ => return None,
    };
    text.push(byte);
    Some(at + 1)
}

/// The character of a `\u` escape, or of two that are a surrogate pair; `at` is the offset of the digits. None for half a pair.
fn code_point(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let first = hex(bytes, at)?;
    let end = at + 4;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map(|char| (char, end));
    }
    let second = bytes.get(end..)?.starts_with(b"\\u").then(|| hex(bytes, end + 2))??;
    let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10 | low)).map(|char| (char, end + 6))
}

fn hex(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at.checked_add(4)?)?;
    digits.iter().try_fold(0, |number, digit| Some(number << 4 | char::from(*digit).to_digit(16)?))
}

//! Finding the end of an object or array, which may come in pieces, without looking at what is in it.

use super::lanes::{ONES, lanes, parity, sum};
use crate::error::Malformed;

/// How deep objects and arrays may nest. API servers refuse far less.
pub(crate) const MAX_DEPTH: u32 = 512;

/// How many bytes are taken at once.
const BLOCK: usize = 64;
const WORDS: usize = BLOCK / 8;

/// Follows strings and nesting from the bracket that opens a value to the one that closes it.
///
/// Nothing else is looked at: whether what is in between is JSON is for those to say who read it. The work is linear, in all but
/// a few places some two operations a byte.
#[derive(Debug)]
pub(crate) struct Skim {
    depth: u32,
    in_string: bool,
    /// Whether the next byte stands behind a backslash.
    escaped: bool,
}

/// What the bytes of a block are, a lane for each.
struct Block {
    quotes: [u64; WORDS],
    backslashes: [u64; WORDS],
    opens: [u64; WORDS],
    closes: [u64; WORDS],
}

impl Block {
    #[inline(always)]
    fn new(bytes: &[u8; BLOCK]) -> Self {
        // The bit in which braces and brackets differ; no other byte is one of them with it set.
        const BRACE: u8 = 0x20;
        Self {
            quotes: lanes(bytes, |byte| byte == b'"'),
            backslashes: lanes(bytes, |byte| byte == b'\\'),
            opens: lanes(bytes, |byte| byte | BRACE == b'{'),
            closes: lanes(bytes, |byte| byte | BRACE == b'}'),
        }
    }
}

impl Skim {
    pub(crate) const fn new() -> Self {
        Self { depth: 0, in_string: false, escaped: false }
    }

    /// How many of these bytes belong to the value, if they hold its end. The first bytes ever must begin with its bracket.
    ///
    /// # Errors
    /// It nests deeper than [`MAX_DEPTH`].
    pub(crate) fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let (blocks, rest) = bytes.as_chunks();
        for (nth, bytes) in blocks.iter().enumerate() {
            let block = Block::new(bytes);
            if !self.take_inside(&block)
                && let Some(end) = self.take_words(bytes, &block)?
            {
                return Ok(Some(nth * BLOCK + end));
            }
        }
        Ok(self.take_bytes(rest)?.map(|end| bytes.len() - rest.len() + end))
    }

    /// Takes a block at once, unless there are escapes in it or the end may be, or too deep a nesting.
    #[inline(always)]
    fn take_inside(&mut self, block: &Block) -> bool {
        if self.escaped || block.backslashes.iter().fold(0, |all, word| all | word) != 0 {
            return false;
        }
        let (mut opened, mut closed) = (0, 0);
        let mut in_string = self.in_string;
        for nth in 0..WORDS {
            let (strings, after) = strings(block.quotes[nth], in_string);
            opened += block.opens[nth] & !strings;
            closed += block.closes[nth] & !strings;
            in_string = after;
        }
        self.take_brackets(sum(opened), sum(closed), in_string)
    }

    /// Takes a block word by word, unless it holds the end.
    #[inline(never)]
    fn take_words(&mut self, bytes: &[u8; BLOCK], block: &Block) -> Result<Option<usize>, Malformed> {
        for (nth, bytes) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let (strings, in_string) = strings(block.quotes[nth], self.in_string);
            let (opened, closed) = (sum(block.opens[nth] & !strings), sum(block.closes[nth] & !strings));
            let plain = !self.escaped && block.backslashes[nth] == 0;
            if !(plain && self.take_brackets(opened, closed, in_string))
                && let Some(end) = self.take_bytes(bytes)?
            {
                return Ok(Some(nth * 8 + end));
            }
        }
        Ok(None)
    }

    /// Takes so many brackets, unless the end may be among them, or too deep a nesting.
    #[inline(always)]
    const fn take_brackets(&mut self, opened: u32, closed: u32, in_string: bool) -> bool {
        let inside = closed < self.depth && self.depth + opened <= MAX_DEPTH;
        if inside {
            self.depth = self.depth + opened - closed;
            self.in_string = in_string;
        }
        inside
    }

    /// Takes bytes one by one, up to the end.
    fn take_bytes(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.in_string,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' if self.depth == MAX_DEPTH => return Err(Malformed::new("JSON", "it nests too deep")),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Ok(Some(at + 1));
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

/// A lane for each byte of a word that stands in a string, and whether the next byte does.
#[inline(always)]
const fn strings(quotes: u64, in_string: bool) -> (u64, bool) {
    let strings = parity(quotes) ^ if in_string { ONES } else { 0 };
    (strings, strings >> 56 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rand::SplitMix64;
    use alloc::vec::Vec;

    /// The end as a scan of one byte after the other finds it.
    fn end_by_bytes(bytes: &[u8]) -> Option<usize> {
        let (mut depth, mut in_string, mut escaped) = (0, false, false);
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = in_string,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at + 1);
            }
        }
        None
    }

    #[test]
    fn the_end_is_found_wherever_the_value_is_cut() {
        let mut random = SplitMix64::new(3);
        let mut found = 0;
        for _ in 0..3000 {
            let length = random.next_u64() as usize % 400;
            let noise = (0..length).map(|_| b"{}[]\"\"\\\\ abcdefghijklmnop"[random.next_u64() as usize % 25]);
            let bytes: Vec<u8> = [b'{'].into_iter().chain(noise).collect();
            let expected = end_by_bytes(&bytes);
            found += usize::from(expected.is_some_and(|end| end > 64));
            let size = 1 + random.next_u64() as usize % 150;
            let mut skim = Skim::new();
            let mut before = 0;
            let mut end = None;
            for piece in bytes.chunks(size) {
                end = skim.end(piece).unwrap().map(|end| before + end);
                if end.is_some() {
                    break;
                }
                before += piece.len();
            }
            assert_eq!(end, expected, "{:?} by {size}", bytes.escape_ascii());
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn nesting_has_an_exact_bound_wherever_it_is_reached() {
        for ahead in [0, 1, 30, 63, 64, 200] {
            for (depth, fits) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
                let depth = depth as usize - 1;
                let text = ["[", &"1".repeat(ahead), &"[".repeat(depth), &"]".repeat(depth), "]"].concat();
                assert_eq!(Skim::new().end(text.as_bytes()).is_ok(), fits, "{ahead} {depth}");
            }
        }
    }
}

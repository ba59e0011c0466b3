//! A scanner of JSON that may be cut anywhere.

use crate::error::Malformed;

/// How deep objects and arrays may nest. API servers refuse far less.
const MAX_DEPTH: u32 = 512;

/// Follows strings and nesting through JSON, a byte at a time.
#[derive(Debug)]
pub(super) struct Scanner {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Scanner {
    pub(super) const fn new() -> Self {
        Self { depth: 0, in_string: false, escaped: false }
    }

    /// How many of the next bytes change nothing, neither in nor outside of a string. They need not be stepped over.
    pub(super) fn skip(&self, bytes: &[u8]) -> usize {
        let end = if self.escaped {
            Some(0)
        } else if self.in_string {
            bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'))
        } else {
            bytes.iter().position(|byte| matches!(byte, b'"' | b',' | b'[' | b']' | b'{' | b'}'))
        };
        end.unwrap_or(bytes.len())
    }

    /// Takes a byte and says whether it is part of the structure: outside of strings, or the quote that begins one.
    pub(super) fn step(&mut self, byte: u8) -> Result<bool, Malformed> {
        if self.in_string {
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
            }
            return Ok(false);
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(Malformed::new("JSON", "it nests too deep"));
                }
            }
            b'}' | b']' => {
                self.depth =
                    self.depth.checked_sub(1).ok_or_else(|| Malformed::new("JSON", "its brackets do not match"))?;
            }
            _ => {}
        }
        Ok(true)
    }

    /// How many objects and arrays are open.
    pub(super) const fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) const fn is_in_string(&self) -> bool {
        self.in_string
    }
}

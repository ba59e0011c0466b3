//! Numbers of variable length.

use crate::json::Unexpected;

/// A number whose bytes come one by one: seven bits each, the lowest first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Varint {
    value: u64,
    bits: u32,
}

impl Varint {
    /// Takes the next byte, which stands at the offset `at`. The number, if this was its last one.
    #[inline]
    pub(crate) fn push(&mut self, byte: u8, at: usize) -> Result<Option<u64>, Unexpected> {
        let seven = u64::from(byte & 0x7f);
        // The tenth byte has the last bit.
        if self.bits == 63 && seven > 1 {
            return Err(Unexpected::new("number of 64 bits", at));
        }
        self.value |= seven << self.bits;
        if byte < 0x80 {
            return Ok(Some(self.value));
        }
        if self.bits == 63 {
            return Err(Unexpected::new("number of 64 bits", at));
        }
        self.bits += 7;
        Ok(None)
    }

    /// Whether no byte of it has come.
    pub(crate) const fn is_empty(self) -> bool {
        self.bits == 0
    }
}

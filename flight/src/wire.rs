//! The encoding of single values: what is put into a recording, and taken out of it again.

use std::time::Duration;

/// A value is not what it should be, or the bytes end before it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bad(pub(crate) &'static str);

/// No text in a recording but a body is longer.
const TEXT_BYTES: usize = 64 << 10;
/// No time span of a configuration is longer: ten thousand years, so that sums and products of a few of them are still durations.
const LONGEST: u64 = 10_000 * 366 * 86_400;

/// Puts values at the end of bytes.
pub(crate) trait Put {
    /// A number, the shorter the smaller it is.
    fn put(&mut self, number: u64);
    /// A number around zero, the shorter the nearer to it.
    fn put_signed(&mut self, number: i64);
    /// Bytes, with their length.
    fn put_bytes(&mut self, bytes: &[u8]);
    /// A span of time.
    fn put_duration(&mut self, duration: Duration);
}

impl Put for Vec<u8> {
    fn put(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.push(number as u8);
    }

    fn put_signed(&mut self, number: i64) {
        self.put(((number << 1) ^ (number >> 63)) as u64);
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.put(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }

    fn put_duration(&mut self, duration: Duration) {
        self.put(duration.as_secs());
        self.put(duration.subsec_nanos().into());
    }
}

/// Takes values from the beginning of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Take<'a>(pub(crate) &'a [u8]);

impl<'a> Take<'a> {
    #[cfg(test)]
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Bad> {
        let (&first, rest) = self.0.split_first().ok_or(Bad("a byte"))?;
        self.0 = rest;
        Ok(first)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Bad> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Bad("a number"))
    }

    /// A number of a smaller type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Bad> {
        T::try_from(self.number()?).map_err(|_| Bad("a small number"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Bad> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Bad> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Bad("yes or no")),
        }
    }

    /// So many bytes.
    pub(crate) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Bad> {
        let (first, rest) = self.0.split_first_chunk().ok_or(Bad("a value"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Bad> {
        let length = self.small()?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Bad("bytes"))?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<String, Bad> {
        let bytes = Some(self.bytes()?).filter(|bytes| bytes.len() <= TEXT_BYTES);
        bytes.and_then(|bytes| str::from_utf8(bytes).ok()).map(str::to_owned).ok_or(Bad("a text"))
    }

    /// A span of time of any length.
    pub(crate) fn any_duration(&mut self) -> Result<Duration, Bad> {
        let (seconds, nanos) = (self.number()?, self.small()?);
        if nanos < 1_000_000_000 { Ok(Duration::new(seconds, nanos)) } else { Err(Bad("a span of time")) }
    }

    /// A span of time that can be reckoned with.
    pub(crate) fn duration(&mut self) -> Result<Duration, Bad> {
        Some(self.any_duration()?).filter(|time| time.as_secs() <= LONGEST).ok_or(Bad("a span of time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_as_they_were_put() {
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            bytes.put(number);
            let signed = number as i64;
            bytes.put_signed(signed);
            bytes.put_signed(signed.wrapping_neg());
            let mut take = Take(&bytes);
            assert_eq!(take.number(), Ok(number));
            assert_eq!((take.signed(), take.signed()), (Ok(signed), Ok(signed.wrapping_neg())));
            assert!(take.is_empty());
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        // One bit more than 64, and a number without an end.
        for bytes in [&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..], &[0x80; 20], &[0x80], &[]] {
            assert!(Take(bytes).number().is_err(), "{bytes:x?}");
        }
        assert_eq!(Take(&[5, b'a']).bytes(), Err(Bad("bytes")));
        assert_eq!(Take(&[2, 0xc3, 0x28]).text(), Err(Bad("a text")));
        assert_eq!(Take(&[2]).flag(), Err(Bad("yes or no")));
        let mut long = Vec::new();
        long.put_duration(Duration::MAX);
        assert_eq!(Take(&long).duration(), Err(Bad("a span of time")));
    }
}

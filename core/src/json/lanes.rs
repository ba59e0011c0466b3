//! Many bytes of JSON looked at in one step.
//!
//! A question to each of a row of bytes is answered by a row of bytes that are one or zero, the answers of eight bytes being a word. The
//! compiler makes vector instructions of such a row wherever there are any; what depends on the order of the bytes is then
//! arithmetic on words.

/// A one in every lane of a word.
pub(super) const ONES: u64 = u64::from_le_bytes([1; 8]);

/// For each byte a lane: one where `is` holds, else zero. The first byte is the lowest lane of the first word.
#[inline(always)]
pub(super) fn lanes<const BYTES: usize, const WORDS: usize>(
    bytes: &[u8; BYTES],
    is: impl Fn(u8) -> bool,
) -> [u64; WORDS] {
    const { assert!(BYTES == WORDS * 8) };
    let mut flags = [0; BYTES];
    for (flag, byte) in flags.iter_mut().zip(bytes) {
        *flag = u8::from(is(*byte));
    }
    let words = flags.as_chunks().0;
    core::array::from_fn(|nth| u64::from_le_bytes(words[nth]))
}

/// The sum of the lanes, if it is below 256.
#[inline]
pub(super) const fn sum(word: u64) -> u32 {
    (word.wrapping_mul(ONES) >> 56) as u32
}

/// For each lane one where an odd number of lanes up to it is one, itself included; else zero.
#[inline]
pub(super) const fn parity(word: u64) -> u64 {
    word.wrapping_mul(ONES) & ONES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_bytes_is_told_as_its_bytes_are_one_by_one() {
        let bytes: [u8; 16] = *b"ab\"\"\0\xff\x80\"...\"...\"";
        let words: [u64; 2] = lanes(&bytes, |byte| byte == b'"');
        let told: [[u8; 8]; 2] = words.map(u64::to_le_bytes);
        assert_eq!(told, [[0, 0, 1, 1, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0, 1]]);
        assert_eq!(words.map(sum), [3, 2]);
        assert_eq!(parity(words[0]).to_le_bytes(), [0, 0, 1, 0, 0, 0, 0, 1]);
    }
}

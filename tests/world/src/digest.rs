//! A digest of all that happens in a world.

use std::hash::Hasher;

/// A fast hash, without a key: it tells runs apart that nobody has made alike on purpose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest(u64);

impl Digest {
    fn mix(&mut self, word: u64) {
        // The odd number next to 2⁶⁴ divided by the golden ratio.
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        }
        let mut rest = [0; 8];
        rest[..words.remainder().len()].copy_from_slice(words.remainder());
        self.mix(u64::from_le_bytes(rest));
        self.mix(bytes.len() as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

//! A digest: the fingerprint of a run of bytes.

/// FNV-1a with 64 bits: small, quick, and any one byte that differs makes another digest, in its lower half alone, too.
///
/// It finds what went wrong by itself, not what somebody has forged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u64);

impl Digest {
    /// The digest of nothing.
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// The digest of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut digest = Self::new();
        digest.add(bytes);
        digest
    }

    /// Adds bytes at the end.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// All of it.
    pub(crate) fn whole(self) -> u64 {
        self.0
    }

    /// Its lower half.
    pub(crate) fn half(self) -> u32 {
        self.0 as u32
    }
}

//! A small deterministic generator of random numbers, for jitter and for spreading load.
//!
//! The core draws no entropy: whoever builds a machine gives it a seed, and the same seed gives the same run.

/// Steele, Lea and Flood's SplitMix64. Eight bytes of state, every seed is good, not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator that `seed` stands for.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from zero up to, but not including, one.
    pub const fn next_unit(&mut self) -> f64 {
        // The 53 highest bits fill the mantissa exactly.
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_reference_implementation() {
        let mut random = SplitMix64::new(1_234_567);
        let first: [u64; 3] = core::array::from_fn(|_| random.next_u64());
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn units_lie_from_zero_to_below_one() {
        let mut random = SplitMix64::new(7);
        let units: [f64; 1000] = core::array::from_fn(|_| random.next_unit());
        assert!(units.iter().all(|unit| (0.0..1.0).contains(unit)));
        assert!(units.iter().any(|unit| *unit < 0.05) && units.iter().any(|unit| *unit > 0.95));
    }
}

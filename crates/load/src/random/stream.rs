//! Seeded random numbers by index: the n-th value of a stream is computed without the values before it.
//!
//! SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) is a hash of a counter, so a stream needs no state and is the same on every
//! machine.

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// One stream of random values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RandomStream(u64);

impl RandomStream {
    /// The stream number `number` of a seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        Self(mix(mix(seed) ^ number.wrapping_mul(STEP)))
    }

    /// A stream derived from this one.
    pub(crate) fn inner(self, number: u64) -> Self {
        Self::new(self.0, number)
    }

    /// The n-th value.
    #[inline]
    pub(crate) fn bits(self, n: u64) -> u64 {
        mix(self.0.wrapping_add(n.wrapping_add(1).wrapping_mul(STEP)))
    }

    /// The n-th value, uniform over `0 < value ≤ 1`.
    #[inline]
    pub(crate) fn fraction(self, n: u64) -> f64 {
        ((self.bits(n) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// The n-th value, exponential with mean 1.
    #[inline]
    pub(crate) fn exponential(self, n: u64) -> f64 {
        -self.fraction(n).ln()
    }
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

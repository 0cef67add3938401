//! Seeded random numbers for the bootstrap and for the simulations of tests, the same on every machine and in every version:
//! SplitMix64 (Steele, Lea, Flood 2014).

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which must not be 0. The bias of the multiplication is below 2^-50 for the few values used here.
    pub(crate) fn next_below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.bits()) * (end as u128);
        usize::try_from(wide >> 64)
            .expect("a product of 64 bits and a usize, shifted by 64 bits, is below the usize")
    }
}

#[cfg(test)]
impl Random {
    /// Above 0, at most 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in f64")]
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Lognormal around `median`; `spread` is the standard deviation of the logarithm.
    pub(crate) fn lognormal(&mut self, median: f64, spread: f64) -> f64 {
        median * (spread * self.normal()).exp()
    }
}

//! Random numbers that are the same in every run: number `n` of a seed needs no state.

/// Number `n` of a stream of uniform 64-bit numbers (splitmix64, Steele, Lea and Flood 2014).
pub fn random(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub fn fraction(seed: u64, n: u64) -> f64 {
    (random(seed, n) >> 11) as f64 / (1_u64 << 53) as f64
}

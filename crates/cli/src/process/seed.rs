//! A new seed for a run that has none of its own: each run has its own order and its own arrivals, so that what an order does to
//! results differs from run to run instead of being the same in all.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Random seeds are short, so they are easy to type.
const MODULUS: u64 = 1_000_000_007;

/// A random seed, from the operating system.
pub(crate) fn draw() -> u64 {
    // The standard library's only random numbers: the keys with which each of these hashes come from the system.
    RandomState::new().build_hasher().finish() % MODULUS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{MODULUS, draw};

    #[test]
    fn seeds_differ() {
        let seeds: BTreeSet<u64> = (0..100).map(|_| draw()).collect();
        assert!(seeds.len() > 95 && seeds.iter().all(|seed| *seed < MODULUS));
    }
}

//! A shuffle that is the same on every machine and in every version: a published order can be made again from its seed.
//!
//! Random bits come from SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), bounded without bias by Lemire's method (ACM
//! TOMACS 2019), used by Fisher and Yates from the last place to the first. A library's generator may change with its
//! version; this one is fixed by a golden file.

/// A source of permutations.
#[derive(Debug)]
pub(crate) struct Shuffle {
    state: u64,
}

impl Shuffle {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = u64::try_from(last + 1).expect("a length fits 64 bits");
            let chosen = usize::try_from(self.next_below(bound)).expect("below a length");
            items.swap(last, chosen);
        }
    }

    /// Uniform below `bound`, which is not 0.
    fn next_below(&mut self, bound: u64) -> u64 {
        let unfair = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next()) * u128::from(bound);
            let (high, low) = ((product >> 64) as u64, product as u64);
            if low >= unfair {
                return high;
            }
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }
}

/// An example of a seed for a study that names none, always the same: FNV-1a (32 bits) of its name.
pub(crate) fn seed_of(name: &str) -> u64 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_paper() {
        // Reference values of the authors' program for the seed 1234567.
        let mut shuffle = Shuffle::new(1_234_567);
        let bits: Vec<_> = (0..3).map(|_| shuffle.next()).collect();
        assert_eq!(
            bits,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut counts = std::collections::BTreeMap::<_, u32>::new();
        let mut shuffle = Shuffle::new(1);
        for _ in 0..60_000 {
            let mut items = [1, 2, 3];
            shuffle.shuffle(&mut items);
            *counts.entry(items).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(
            counts.values().all(|count| (9_600..10_400).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn seeds_are_those_of_fnv() {
        assert_eq!(seed_of(""), 0x811c_9dc5);
        assert_eq!(seed_of("a"), 0xe40c_292c);
        assert_eq!(seed_of("foobar"), 0xbf9c_f968);
    }
}

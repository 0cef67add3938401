//! Random numbers that follow from a study's seed.

/// What SplitMix64 adds for each word: the golden ratio, as an odd number.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Endless random words, the same for the same seed (SplitMix64 by Steele, Lea and Flood).
pub(crate) fn words(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(STEP);
        mix_word(state)
    })
}

/// SplitMix64's finishing steps (OOPSLA 2014): similar words become very different ones.
pub(crate) fn mix_word(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

//! Chance that follows from a study's seed.

/// What SplitMix64 adds for each word: the golden ratio, as an odd number.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Words without an end, the same ones for the same seed (SplitMix64 by Steele, Lea and Flood).
pub(crate) fn words(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(STEP);
        mix_word(state)
    })
}

/// SplitMix64's finishing steps (OOPSLA 2014): of words that differ in little, words that differ in much.
pub(crate) fn mix_word(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

//! Which values each resample of the bootstrap draws. The seed is constant, so that this depends on the sizes of the samples
//! alone: it is drawn once for each size, and kept. `estimate` uses them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::random::Random;

/// One less than a multiple of 40, so that both 2.5 % ends are values of the sample.
pub(crate) const RESAMPLES: usize = 1_999;
const SEED: u64 = 0x77a6_61e1;
/// Larger samples are drawn again each time: a table takes 8 kB for each value.
const KEPT_VALUES_MAX: usize = 64;
/// A study has few sizes.
const TABLES_MAX: usize = 64;

/// How many values the sample has, and the one that it is compared with; that is 0 without such.
pub(crate) type Sizes = (usize, usize);

/// Indices into both samples, one resample after another.
type Table = Arc<[u32]>;

static KEPT: Mutex<BTreeMap<Sizes, Table>> = Mutex::new(BTreeMap::new());

/// Calls `each` with the indices that each resample draws from either sample, with repetition.
pub(crate) fn each_resample(sizes: Sizes, mut each: impl FnMut(&[u32], &[u32])) {
    let values = sizes.0 + sizes.1;
    if values == 0 {
        return;
    }
    let mut split = |indices: &[u32]| {
        let (new, old) = indices.split_at(sizes.0);
        each(new, old);
    };
    if values <= KEPT_VALUES_MAX {
        table(sizes).chunks_exact(values).for_each(split);
        return;
    }
    let mut random = Random::from_seed(SEED);
    let mut indices = Vec::with_capacity(values);
    for _ in 0..RESAMPLES {
        indices.clear();
        draw(&mut random, sizes, &mut indices);
        split(&indices);
    }
}

fn table(sizes: Sizes) -> Table {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = kept.get(&sizes) {
        return Arc::clone(table);
    }
    let mut random = Random::from_seed(SEED);
    let mut indices = Vec::with_capacity(RESAMPLES * (sizes.0 + sizes.1));
    for _ in 0..RESAMPLES {
        draw(&mut random, sizes, &mut indices);
    }
    let table: Table = indices.into();
    if kept.len() < TABLES_MAX {
        kept.insert(sizes, Arc::clone(&table));
    }
    table
}

/// The indices of one resample.
fn draw(random: &mut Random, (new, old): Sizes, indices: &mut Vec<u32>) {
    let mut of_sample = |size: usize| {
        let index = |_| u32::try_from(random.next_below(size)).expect("fewer than 2^32 trials");
        indices.extend((0..size).map(index));
    };
    of_sample(new);
    of_sample(old);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_is_drawn() {
        let check = |sizes: Sizes| {
            for _ in 0..2 {
                let mut random = Random::from_seed(SEED);
                let mut resamples = 0;
                each_resample(sizes, |new, old| {
                    assert_eq!((new.len(), old.len()), sizes);
                    for (indices, size) in [(new, sizes.0), (old, sizes.1)] {
                        for index in indices {
                            assert_eq!(*index as usize, random.next_below(size), "{sizes:?}");
                        }
                    }
                    resamples += 1;
                });
                assert_eq!(resamples, RESAMPLES);
            }
        };
        check((8, 0));
        check((10, 0));
        check((10, 8));
        check((8, 10));
        check((KEPT_VALUES_MAX, 0));
        check((KEPT_VALUES_MAX + 1, 0));
        check((32, 33));
        // More sizes than are kept.
        (1..=2 * TABLES_MAX).for_each(|size| check((size % 50 + 8, size / 50 + 1)));
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(kept.len(), TABLES_MAX);
    }
}

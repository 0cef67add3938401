//! The same done to many things, on all CPUs at once: a run has a thousand trials, and none needs another.

use std::{num::NonZero, panic, thread};

/// What `each` makes of the items, in their order.
pub fn parallel_map<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let share = items.len().div_ceil(cpus).max(1);
    if share >= items.len() {
        return items.iter().map(each).collect();
    }
    let each = &each;
    thread::scope(|scope| {
        let shares: Vec<_> = items
            .chunks(share)
            .map(|share| scope.spawn(move || share.iter().map(each).collect::<Vec<R>>()))
            .collect();
        let of_share = |share: thread::ScopedJoinHandle<'_, Vec<R>>| {
            share
                .join()
                .unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        };
        shares.into_iter().flat_map(of_share).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::parallel_map;

    #[test]
    fn the_order_stays() {
        let check = |count: u32| {
            let items: Vec<u32> = (0..count).collect();
            let expected: Vec<u32> = items.iter().map(|one| one * 2).collect();
            assert_eq!(parallel_map(&items, |one| one * 2), expected, "{count}");
        };
        [0, 1, 2, 3, 1_000].into_iter().for_each(check);
    }

    #[test]
    #[should_panic(expected = "of item 7")]
    fn a_panic_is_passed_on() {
        parallel_map(&[1, 7], |one| assert!(*one != 7, "of item {one}"));
    }
}

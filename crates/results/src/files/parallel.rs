//! Applies a function to many items on all CPUs: the trials of a run are many and independent.

use std::{
    num::NonZero,
    panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Chunks for each CPU: a CPU that is busy with other work takes fewer of them.
const CHUNKS_PER_CPU: usize = 16;

/// The results of `each` for the items, in their order.
pub fn parallel_map<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = cpus.min(items.len());
    if workers < 2 {
        return items.iter().map(each).collect();
    }
    let chunks: Vec<&[T]> = items
        .chunks(items.len().div_ceil(workers * CHUNKS_PER_CPU))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = chunks.get(index) else {
                return made;
            };
            made.push((index, chunk.iter().map(&each).collect::<Vec<R>>()));
        }
    };
    let mut made: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let of_one = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker
                .join()
                .unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        };
        all.into_iter().flat_map(of_one).collect()
    });
    made.sort_unstable_by_key(|(index, _)| *index);
    made.into_iter().flat_map(|(_, chunk)| chunk).collect()
}

#[cfg(test)]
mod tests {
    use super::parallel_map;

    #[test]
    fn the_order_stays() {
        let check = |count: u32| {
            let items: Vec<u32> = (0..count).collect();
            let expected: Vec<u32> = items.iter().map(|item| item * 2).collect();
            assert_eq!(parallel_map(&items, |item| item * 2), expected, "{count}");
        };
        [0, 1, 2, 3, 31, 32, 33, 1_000].into_iter().for_each(check);
    }

    #[test]
    #[should_panic(expected = "of item 7")]
    fn a_panic_is_passed_on() {
        parallel_map(&[1, 7], |item| assert!(*item != 7, "of item {item}"));
    }
}

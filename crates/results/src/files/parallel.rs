//! Applies a function to many items on all CPUs: the trials of a run are many and independent.

use std::{
    num::NonZero,
    panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread::{self, ScopedJoinHandle},
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
    let work = || map_chunks(&chunks, &next, &each);
    let mut made: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        all.into_iter().flat_map(join).collect()
    });
    made.sort_unstable_by_key(|(index, _)| *index);
    made.into_iter().flat_map(|(_, chunk)| chunk).collect()
}

/// The results of the chunks that other workers have not taken, each with the chunk's index.
fn map_chunks<T, R>(
    chunks: &[&[T]],
    next: &AtomicUsize,
    each: &impl Fn(&T) -> R,
) -> Vec<(usize, Vec<R>)> {
    let mut made = Vec::new();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(chunk) = chunks.get(index) else {
            return made;
        };
        made.push((index, chunk.iter().map(each).collect()));
    }
}

fn join<R>(worker: ScopedJoinHandle<'_, R>) -> R {
    worker
        .join()
        .unwrap_or_else(|panicked| panic::resume_unwind(panicked))
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

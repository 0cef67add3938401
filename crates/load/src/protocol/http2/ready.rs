//! Which of a connection's streams can be polled: wakers that set a bit.
//!
//! `h2` needs wakers that are `Send`. These never leave the thread, so the bits are never contended; they save a lock or an
//! allocation per request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Wake, Waker},
};

/// The bits of one connection.
#[derive(Debug)]
pub(super) struct Ready {
    streams: Box<[AtomicU64]>,
    connection: AtomicBool,
}

impl Ready {
    pub(super) fn new(streams: usize) -> Arc<Self> {
        let words = std::iter::repeat_with(AtomicU64::default)
            .take(streams.div_ceil(64))
            .collect();
        Arc::new(Self {
            streams: words,
            connection: AtomicBool::new(false),
        })
    }

    /// The next index at or after `from` whose bit is set; clears the bit.
    pub(super) fn next_stream(&self, from: usize) -> Option<usize> {
        let mut skipped = u64::MAX << (from % 64);
        for (index, word) in self.streams.iter().enumerate().skip(from / 64) {
            let set = word.load(Ordering::Relaxed) & skipped;
            if set != 0 {
                let bit = set.trailing_zeros();
                word.fetch_and(!(1 << bit), Ordering::Relaxed);
                return Some(index * 64 + bit as usize);
            }
            skipped = u64::MAX;
        }
        None
    }

    pub(super) fn set_stream(&self, index: usize) {
        self.streams[index / 64].fetch_or(1 << (index % 64), Ordering::Relaxed);
    }

    pub(super) fn set_connection(&self) {
        self.connection.store(true, Ordering::Relaxed);
    }

    /// Whether the connection itself can be polled; clears the flag.
    pub(super) fn take_connection(&self) -> bool {
        self.connection.swap(false, Ordering::Relaxed)
    }
}

struct OfStream {
    ready: Arc<Ready>,
    index: usize,
}

struct OfConnection(Arc<Ready>);

impl Wake for OfStream {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.set_stream(self.index);
    }
}

impl Wake for OfConnection {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.set_connection();
    }
}

/// A waker that marks the stream at this index.
pub(super) fn of_stream(ready: &Arc<Ready>, index: usize) -> Waker {
    Waker::from(Arc::new(OfStream {
        ready: Arc::clone(ready),
        index,
    }))
}

/// A waker that marks the connection.
pub(super) fn of_connection(ready: &Arc<Ready>) -> Waker {
    Waker::from(Arc::new(OfConnection(Arc::clone(ready))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn woken_streams_are_found_once_and_in_order() {
        let check = |streams: usize, woken: &[usize], expected: &[usize]| {
            let ready = Ready::new(streams);
            for &index in woken {
                of_stream(&ready, index).wake();
            }
            let mut indices = Vec::new();
            let mut from = 0;
            while let Some(index) = ready.next_stream(from) {
                indices.push(index);
                from = index + 1;
            }
            assert_eq!(indices, expected, "{woken:?} of {streams}");
            assert_eq!(ready.next_stream(0), None);
        };
        check(1, &[], &[]);
        check(1, &[0, 0], &[0]);
        check(64, &[63, 0], &[0, 63]);
        check(200, &[199, 64, 63, 128], &[63, 64, 128, 199]);
    }

    #[test]
    fn a_woken_connection_is_returned_once() {
        let ready = Ready::new(1);
        assert!(!ready.take_connection());
        of_connection(&ready).wake_by_ref();
        assert!(ready.take_connection());
        assert!(!ready.take_connection());
    }
}

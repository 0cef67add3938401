//! Which of a connection's streams can go on: wakers that set a bit.
//!
//! `h2` wants wakers that may cross threads. These never do, so that the bits are never contended; a lock or an
//! allocation per request is what they save.

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

    /// The next place at or after `from` whose bit is set; it is cleared.
    pub(super) fn next_stream(&self, from: usize) -> Option<usize> {
        let mut skipped = u64::MAX << (from % 64);
        for (place, word) in self.streams.iter().enumerate().skip(from / 64) {
            let set = word.load(Ordering::Relaxed) & skipped;
            if set != 0 {
                let bit = set.trailing_zeros();
                word.fetch_and(!(1 << bit), Ordering::Relaxed);
                return Some(place * 64 + bit as usize);
            }
            skipped = u64::MAX;
        }
        None
    }

    pub(super) fn set_stream(&self, place: usize) {
        self.streams[place / 64].fetch_or(1 << (place % 64), Ordering::Relaxed);
    }

    pub(super) fn set_connection(&self) {
        self.connection.store(true, Ordering::Relaxed);
    }

    /// Whether the connection itself can go on; asked once.
    pub(super) fn take_connection(&self) -> bool {
        self.connection.swap(false, Ordering::Relaxed)
    }
}

struct OfStream {
    ready: Arc<Ready>,
    place: usize,
}

struct OfConnection(Arc<Ready>);

impl Wake for OfStream {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.set_stream(self.place);
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

/// A waker that notes the stream at this place.
pub(super) fn of_stream(ready: &Arc<Ready>, place: usize) -> Waker {
    Waker::from(Arc::new(OfStream {
        ready: Arc::clone(ready),
        place,
    }))
}

/// A waker that notes the connection.
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
            for &place in woken {
                of_stream(&ready, place).wake();
            }
            let mut found = Vec::new();
            let mut from = 0;
            while let Some(place) = ready.next_stream(from) {
                found.push(place);
                from = place + 1;
            }
            assert_eq!(found, expected, "{woken:?} of {streams}");
            assert_eq!(ready.next_stream(0), None);
        };
        check(1, &[], &[]);
        check(1, &[0, 0], &[0]);
        check(64, &[63, 0], &[0, 63]);
        check(200, &[199, 64, 63, 128], &[63, 64, 128, 199]);
    }

    #[test]
    fn a_woken_connection_is_told_once() {
        let ready = Ready::new(1);
        assert!(!ready.take_connection());
        of_connection(&ready).wake_by_ref();
        assert!(ready.take_connection());
        assert!(!ready.take_connection());
    }
}

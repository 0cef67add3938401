//! Streams that this side has ended before the peer has. The peer may have sent more before it knew, which is no mistake (RFC 9113,
//! section 5.1).

use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct DroppedStreams {
    /// In the order in which they were dropped.
    numbers: VecDeque<u32>,
    /// Most numbers that are kept.
    most: usize,
    /// The highest of those that are not kept any more: up to it, any stream may have been dropped.
    forgotten: u32,
}

impl DroppedStreams {
    pub(super) fn new(most: usize) -> Self {
        Self {
            numbers: VecDeque::new(),
            most,
            forgotten: 0,
        }
    }

    pub(super) fn note(&mut self, stream: u32) {
        if self.numbers.len() == self.most
            && let Some(oldest) = self.numbers.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
        self.numbers.push_back(stream);
    }

    /// Whether the stream may be one of them.
    pub(super) fn may_have(&self, stream: u32) -> bool {
        stream <= self.forgotten || self.numbers.contains(&stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stream_that_was_dropped_is_forgotten() {
        let mut streams = DroppedStreams::new(100);
        let mut numbers = (0..300).map(|number| 4 * number + 1);
        for stream in numbers.clone() {
            streams.note(stream);
        }
        assert!(numbers.clone().all(|stream| streams.may_have(stream)));
        let last = numbers.next_back().unwrap();
        assert!(!streams.may_have(last - 2) && !streams.may_have(last + 2));
        assert_eq!(streams.numbers.len(), 100);
    }
}

//! Merges the slices of all workers into complete intervals in order. Pure.

use std::{collections::VecDeque, time::Duration};

use waggle_spec::TimeKind;

use super::{
    histogram::add,
    outcome::{Counts, Interval},
    recorder::Slice,
};
use crate::job::partition::Due;

/// Collects slices until an interval has come from every worker.
#[derive(Debug)]
pub(crate) struct Merger {
    interval: u64,
    next: u64,
    due: Due,
    queues: Vec<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    slices: VecDeque<Box<Slice>>,
    has_ended: bool,
    /// In flight and open in its last slice; after the end of a worker these values stay.
    in_flight: u64,
    connections_open: u64,
}

impl Merger {
    pub(crate) fn new(workers: usize, interval: u64, due: Due) -> Self {
        let queues = std::iter::repeat_with(Queue::default)
            .take(workers)
            .collect();
        Self {
            interval,
            next: 0,
            due,
            queues,
        }
    }

    /// Takes the next slice of a worker.
    pub(crate) fn take(&mut self, slice: Box<Slice>) {
        let queue = &mut self.queues[slice.worker];
        queue.has_ended |= slice.is_final;
        queue.slices.push_back(slice);
    }

    /// No worker will hand over anything more, even if its final slice is missing.
    pub(crate) fn end(&mut self) {
        for queue in &mut self.queues {
            queue.has_ended = true;
        }
    }

    /// One worker will hand over nothing more.
    pub(crate) fn end_worker(&mut self, worker: usize) {
        self.queues[worker].has_ended = true;
    }

    /// A worker whose next slice is missing for the next interval, if there is one.
    pub(crate) fn lacking(&self) -> Option<usize> {
        let last = self.needed_up_to();
        let lacks =
            |queue: &Queue| !queue.has_ended && queue.slices.iter().all(|slice| slice.last < last);
        self.queues.iter().position(lacks)
    }

    /// Whether every worker has ended and nothing is left.
    pub(crate) fn is_done(&self) -> bool {
        self.queues
            .iter()
            .all(|queue| queue.has_ended && queue.slices.is_empty())
    }

    /// The next interval, if every worker has handed over its part, and the slices that it was made of.
    #[expect(
        clippy::vec_box,
        reason = "slices go back to their workers in the boxes they came in"
    )]
    pub(crate) fn next(&mut self) -> Option<(Interval, Vec<Box<Slice>>)> {
        let last = self.complete_up_to()?;
        let mut used = Vec::new();
        for queue in &mut self.queues {
            while let Some(slice) = queue.slices.pop_front_if(|slice| slice.last <= last) {
                queue.in_flight = slice.counts.in_flight;
                queue.connections_open = slice.counts.connections_open;
                used.push(slice);
            }
        }
        if used.is_empty() {
            return None;
        }
        let mut merged = self.merge(&used);
        merged.counts.in_flight = self.queues.iter().map(|queue| queue.in_flight).sum();
        merged.counts.connections_open =
            self.queues.iter().map(|queue| queue.connections_open).sum();
        self.next = last + 1;
        Some((merged, used))
    }

    /// The earliest interval boundary that no slice of any worker spans.
    fn complete_up_to(&self) -> Option<u64> {
        self.lacking().is_none().then(|| self.needed_up_to())
    }

    /// The earliest interval boundary that no slice so far spans.
    fn needed_up_to(&self) -> u64 {
        let mut last = self.next;
        loop {
            let mut end = last;
            for queue in &self.queues {
                let mut ends = queue.slices.iter().map(|slice| slice.last);
                end = end.max(ends.find(|end| *end >= last).unwrap_or(last));
            }
            if end == last {
                return last;
            }
            last = end;
        }
    }

    fn merge(&self, slices: &[Box<Slice>]) -> Interval {
        let start = self.next * self.interval;
        let end = slices.iter().map(|slice| slice.end).max().unwrap_or(start);
        let steps = slices.first().map_or(0, |slice| slice.steps.len());
        let mut interval = Interval::new(self.next, Duration::from_nanos(start), steps);
        interval.length = Duration::from_nanos(end.saturating_sub(start));
        for worker in slices.chunk_by(|piece, next| piece.worker == next.worker) {
            let mut counts = Counts::default();
            for slice in worker {
                counts.follow(&slice.counts);
                for (kind, sum) in interval.times.iter_mut() {
                    add(sum, &slice.times[self.noted_as(kind)]);
                }
                for (sum, part) in interval.steps.iter_mut().zip(&slice.steps) {
                    sum.add(part);
                }
            }
            interval.counts.join(&counts);
        }
        interval
    }

    /// Where workers have a time: in a closed load the service time is the response time.
    fn noted_as(&self, kind: TimeKind) -> TimeKind {
        match (kind, self.due) {
            (TimeKind::Service, Due::AtSending) => TimeKind::Response,
            _ => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::histogram::histogram;

    const MS: u64 = 1_000_000;

    /// A slice of a worker from one interval to another, with as many requests sent as its last interval's number.
    fn slice(worker: usize, first: u64, last: u64, is_final: bool) -> Box<Slice> {
        let mut slice = Slice::new(worker, 0);
        (slice.first, slice.last, slice.end, slice.is_final) =
            (first, last, (last + 1) * 10 * MS, is_final);
        slice.counts.sent = last;
        slice.counts.in_flight = worker as u64 + 1;
        slice.times[TimeKind::Response].saturating_record(last);
        slice
    }

    /// Slices `(worker, first, last, is_final)` in order of arrival; the result: for each interval its index, its length in ms,
    /// the requests sent and those in flight.
    fn check(
        workers: usize,
        slices: &[(usize, u64, u64, bool)],
        expected: &[(u64, u64, u64, u64)],
    ) {
        let mut merger = Merger::new(workers, 10 * MS, Due::AtSending);
        let mut intervals = Vec::new();
        for &(worker, first, last, is_final) in slices {
            merger.take(slice(worker, first, last, is_final));
            while let Some((interval, _)) = merger.next() {
                assert_eq!(
                    interval.times[TimeKind::Response].len(),
                    interval.times[TimeKind::Service].len()
                );
                assert_eq!(interval.start, Duration::from_millis(10 * interval.index));
                let length = u64::try_from(interval.length.as_millis()).unwrap();
                intervals.push((
                    interval.index,
                    length,
                    interval.counts.sent,
                    interval.counts.in_flight,
                ));
            }
        }
        assert_eq!(intervals, expected, "{slices:?}");
        assert_eq!(
            merger.is_done(),
            slices.iter().filter(|(.., is_final)| *is_final).count() == workers
        );
    }

    #[test]
    fn an_interval_is_complete_when_every_worker_has_handed_over_its_slice() {
        check(
            1,
            &[(0, 0, 0, false), (0, 1, 1, true)],
            &[(0, 10, 0, 1), (1, 10, 1, 1)],
        );
        check(2, &[(0, 0, 0, false), (0, 1, 1, false)], &[]);
        let crossed = [
            (0, 0, 0, false),
            (0, 1, 1, true),
            (1, 0, 0, false),
            (1, 1, 1, true),
        ];
        check(2, &crossed, &[(0, 10, 0, 3), (1, 10, 2, 3)]);
    }

    #[test]
    fn a_worker_that_has_ended_is_not_waited_for_and_leaves_its_states() {
        let slices = [
            (0, 0, 0, true),
            (1, 0, 0, false),
            (1, 1, 1, false),
            (1, 2, 2, true),
        ];
        check(2, &slices, &[(0, 10, 0, 3), (1, 10, 1, 3), (2, 10, 2, 3)]);
    }

    #[test]
    fn slices_over_several_intervals_make_one_long_interval() {
        let slices = [
            (0, 0, 2, false),
            (1, 0, 0, false),
            (1, 1, 1, false),
            (1, 2, 3, false),
            (0, 3, 3, true),
            (1, 4, 4, true),
        ];
        // The slice of worker 0 ends with interval 2, that of worker 1 spans 2 and 3: there is no boundary before 3.
        check(2, &slices, &[(0, 40, 2 + 1 + 3 + 3, 3), (4, 10, 4, 3)]);
    }

    #[test]
    fn percentiles_are_those_of_all_requests_of_all_workers() {
        // Worker 0 is fast and has most requests, worker 1 slow: a mean of their percentiles would be far off.
        let value = |worker: u64, request: u64| 100 + worker * 5_000 + request * (7 + worker * 31);
        let requests = [9_000, 1_000];
        let mut merger = Merger::new(2, 10 * MS, Due::BySchedule);
        let mut truth = Vec::new();
        for (worker, count) in [(0, requests[0]), (1, requests[1])] {
            for interval in 0..4 {
                let mut slice = slice(worker, interval, interval, interval == 3);
                slice.times[TimeKind::Response].reset();
                for request in (0..count).filter(|request| request % 4 == interval) {
                    let value = value(worker as u64, request);
                    slice.times[TimeKind::Response].saturating_record(value);
                    truth.push(value);
                }
                merger.take(slice);
            }
        }
        let mut all = histogram();
        while let Some((interval, _)) = merger.next() {
            all.add(&interval.times[TimeKind::Response]).unwrap();
        }
        assert!(merger.is_done());
        assert_eq!(all.len(), requests[0] + requests[1]);
        truth.sort_unstable();
        for (per_mille, rank) in [(500, 4_999), (900, 8_999), (990, 9_899), (999, 9_989)] {
            let reported = all.value_at_quantile(f64::from(per_mille) / 1e3);
            let expected = truth[rank];
            assert!(
                all.equivalent(reported, expected),
                "p{per_mille}: {reported}, in truth {expected}"
            );
        }
    }
}

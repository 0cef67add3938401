//! The history of a load: a bounded number of slices, which grow with the load, and the latest intervals unchanged.

use std::collections::VecDeque;

use waggle_load::Interval;
use waggle_spec::TimeKind;

use super::spectrum::Spectrum;
use crate::trial::{aggregate::as_f64, phase::Phase};

/// Maximum number of slices; above it, neighbours are merged in pairs.
const SLICES_MAX: usize = 480;
/// Maximum number of latest intervals: one minute of them.
const LATEST_MAX: usize = 240;
/// Length of [`TimeRange::Latest`] in seconds.
pub(super) const LATEST_S: f64 = 60.0;

/// The part of the load that is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TimeRange {
    #[default]
    Whole,
    Latest,
}

/// One or several successive intervals.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    /// Since the start of the load, in seconds.
    pub(super) start_s: f64,
    pub(super) seconds: f64,
    pub(super) phase: Phase,
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) response_time: Spectrum,
    percentiles: [Option<f64>; 4],
}

/// The lines of the chart.
pub(super) const PERCENTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

impl Slice {
    pub(super) fn from_interval(interval: &Interval, phase: Phase) -> Self {
        let mut slice = Self {
            start_s: interval.start.as_secs_f64(),
            seconds: interval.length.as_secs_f64(),
            phase,
            succeeded: interval.counts.succeeded,
            failed: interval.counts.failed,
            response_time: Spectrum::from_histogram(&interval.times[TimeKind::Response]),
            percentiles: [None; 4],
        };
        slice.note_percentiles();
        slice
    }

    fn note_percentiles(&mut self) {
        self.percentiles = PERCENTILES.map(|(_, quantile)| self.response_time.quantile(quantile));
    }

    /// In µs, in the order of [`PERCENTILES`]; `None` if no request succeeded.
    pub(super) fn percentiles(&self) -> &[Option<f64>; 4] {
        &self.percentiles
    }

    pub(super) fn end_s(&self) -> f64 {
        self.start_s + self.seconds
    }

    pub(super) fn rate_per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            as_f64(self.succeeded) / self.seconds
        } else {
            0.0
        }
    }

    fn follow(&mut self, next: &Self) {
        self.seconds += next.seconds;
        self.succeeded += next.succeeded;
        self.failed += next.failed;
        self.response_time.add(&next.response_time);
        self.note_percentiles();
    }
}

/// The slices of a load so far.
#[derive(Debug, Clone)]
pub(super) struct History {
    whole: Vec<Slice>,
    latest: VecDeque<Slice>,
    /// Number of intervals per slice.
    intervals_per_slice: u32,
    in_last: u32,
}

impl Default for History {
    fn default() -> Self {
        Self {
            whole: Vec::new(),
            latest: VecDeque::new(),
            intervals_per_slice: 1,
            in_last: 0,
        }
    }
}

impl History {
    pub(super) fn add(&mut self, slice: Slice) {
        if self.latest.len() == LATEST_MAX {
            self.latest.pop_front();
        }
        self.latest.push_back(slice.clone());
        match self.whole.last_mut() {
            // A slice never spans two phases, so warm-up and measured phase are not mixed.
            Some(last) if self.in_last < self.intervals_per_slice && last.phase == slice.phase => {
                last.follow(&slice);
                self.in_last += 1;
            }
            _ => {
                self.whole.push(slice);
                self.in_last = 1;
            }
        }
        if self.whole.len() > SLICES_MAX {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let mut halved: Vec<Slice> = Vec::with_capacity(SLICES_MAX / 2 + 1);
        let mut is_full = true;
        for slice in self.whole.drain(..) {
            match halved.last_mut() {
                Some(last) if !is_full && last.phase == slice.phase => {
                    last.follow(&slice);
                    is_full = true;
                }
                _ => {
                    halved.push(slice);
                    is_full = false;
                }
            }
        }
        self.whole = halved;
        if is_full {
            self.in_last += self.intervals_per_slice;
        }
        self.intervals_per_slice *= 2;
    }

    /// The slices of a time range, the oldest first.
    pub(super) fn slices(
        &self,
        range: TimeRange,
    ) -> Box<dyn DoubleEndedIterator<Item = &Slice> + '_> {
        match range {
            TimeRange::Whole => Box::new(self.whole.iter()),
            TimeRange::Latest => Box::new(self.latest.iter()),
        }
    }

    /// The latest interval.
    pub(super) fn latest_slice(&self) -> Option<&Slice> {
        self.latest.back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(index: u32, phase: Phase) -> Slice {
        Slice {
            start_s: f64::from(index) * 0.25,
            seconds: 0.25,
            phase,
            succeeded: u64::from(index),
            failed: 1,
            response_time: Spectrum::default(),
            percentiles: [None; 4],
        }
    }

    #[test]
    fn history_of_a_long_load_is_bounded_and_complete() {
        let check = |intervals: u32, warm_up: u32| {
            let mut history = History::default();
            for index in 0..intervals {
                let phase = if index < warm_up {
                    Phase::WarmUp
                } else {
                    Phase::Measured
                };
                history.add(slice(index, phase));
            }
            let slices: Vec<&Slice> = history.slices(TimeRange::Whole).collect();
            assert!(slices.len() <= SLICES_MAX, "{}", slices.len());
            for pair in slices.windows(2) {
                assert!((pair[0].end_s() - pair[1].start_s).abs() < 1e-6);
            }
            let sum =
                |field: fn(&Slice) -> u64| slices.iter().map(|slice| field(slice)).sum::<u64>();
            assert_eq!(sum(|slice| slice.failed), u64::from(intervals));
            let expected: u64 = (0..u64::from(intervals)).sum();
            assert_eq!(sum(|slice| slice.succeeded), expected);
            let warm: f64 = slices
                .iter()
                .filter(|slice| slice.phase == Phase::WarmUp)
                .map(|slice| slice.seconds)
                .sum();
            assert!((warm - f64::from(warm_up) * 0.25).abs() < 1e-6);
            assert!(history.slices(TimeRange::Latest).count() <= LATEST_MAX);
        };
        check(1, 0);
        check(480, 3);
        check(481, 0);
        check(20_000, 41);
    }
}

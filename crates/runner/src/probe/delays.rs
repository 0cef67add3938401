//! Delays until visible, of the records sent in the measured phase.
//!
//! The start of that phase is decided shortly after its first records were sent, and some of them have been seen by then. So the
//! delays of the newest intervals are kept separately until it is known whether they count.

use hdrhistogram::Histogram;

use crate::histogram::histogram;

/// Intervals that are kept separately; the decision comes within one.
const UNDECIDED: u64 = 4;
/// The measured phase: intervals `from .. to` of the load, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Collects delays by the interval in which their record was sent.
#[derive(Debug)]
pub(crate) struct Delays {
    window: Option<Window>,
    counted: Histogram<u64>,
    undecided: Vec<(u64, Histogram<u64>)>,
}

impl Delays {
    pub(crate) fn new() -> Self {
        Self {
            window: None,
            counted: histogram(),
            undecided: Vec::new(),
        }
    }

    /// The record was sent in `interval` and seen `delay_us` later.
    pub(crate) fn note(&mut self, interval: u64, delay_us: u64) {
        match self.window {
            Some(window) => {
                if (window.from..window.to).contains(&interval) {
                    self.counted.saturating_record(delay_us);
                }
            }
            None => self.undecided_of(interval).saturating_record(delay_us),
        }
    }

    /// Sets the measured phase, now that it is known.
    pub(crate) fn decide(&mut self, window: Window) {
        if self.window.replace(window).is_some() {
            return;
        }
        for (interval, delays) in self.undecided.drain(..) {
            if (window.from..window.to).contains(&interval) {
                self.counted.add(delays).expect("both have the same bounds");
            }
        }
    }

    pub(crate) fn histogram(&self) -> &Histogram<u64> {
        &self.counted
    }

    fn undecided_of(&mut self, interval: u64) -> &mut Histogram<u64> {
        self.undecided
            .retain(|(other, _)| other + UNDECIDED > interval);
        let index = match self
            .undecided
            .iter()
            .position(|(other, _)| *other == interval)
        {
            Some(index) => index,
            None => {
                self.undecided.push((interval, histogram()));
                self.undecided.len() - 1
            }
        };
        &mut self.undecided[index].1
    }
}

#[cfg(test)]
mod tests {
    use super::{Delays, Window};

    #[track_caller]
    fn check(before: &[u64], window: Window, after: &[u64], counted: u64) {
        let mut delays = Delays::new();
        before
            .iter()
            .for_each(|interval| delays.note(*interval, 10));
        delays.decide(window);
        after.iter().for_each(|interval| delays.note(*interval, 10));
        assert_eq!(delays.histogram().len(), counted);
    }

    #[test]
    fn only_what_was_sent_while_measuring_counts() {
        check(&[0, 1, 2, 3], Window { from: 3, to: 5 }, &[2, 3, 4, 5], 3);
        check(&[7, 7, 8, 6], Window { from: 7, to: 9 }, &[], 3);
        check(&[], Window { from: 0, to: 1 }, &[0, 1], 1);
    }

    #[test]
    fn memory_does_not_grow_with_the_warm_up() {
        let mut delays = Delays::new();
        (0..1000).for_each(|interval| delays.note(interval, 1));
        assert!(delays.undecided.len() <= 4);
    }
}

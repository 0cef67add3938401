//! The stretches of time in which a probe followed records, one after another with something skipped in between.
//!
//! Records of one stretch come from one state of the store: it stalls for all of them or for none. So a stretch, and not a record,
//! is what a sample has drawn.

use super::delays::Window;

/// First and last interval of the load in which records of a stretch were sent.
type Sent = (u64, u64);

/// Grows by one entry for each window, of which there are a few in a second.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    ended: Vec<Sent>,
    current: Option<Sent>,
}

impl Stretches {
    /// A record that was sent in this interval was followed.
    pub(crate) fn note(&mut self, interval: u64) {
        self.current = Some(match self.current {
            Some((first, last)) => (first.min(interval), last.max(interval)),
            None => (interval, interval),
        });
    }

    /// What follows belongs to another stretch.
    pub(crate) fn end(&mut self) {
        self.ended.extend(self.current.take());
    }

    /// The stretches with records that were sent in these intervals.
    pub(crate) fn count_within(&self, window: Window) -> u64 {
        let all = self.ended.iter().chain(&self.current);
        let within = all.filter(|(first, last)| *first < window.to && window.from <= *last);
        within.count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_with_records_of_the_measured_phase_are_counted() {
        let check = |stretches: &[&[u64]], expected: u64| {
            let mut noted = Stretches::default();
            for (place, intervals) in stretches.iter().enumerate() {
                if place > 0 {
                    noted.end();
                }
                intervals.iter().for_each(|interval| noted.note(*interval));
            }
            let window = Window { from: 5, to: 10 };
            assert_eq!(noted.count_within(window), expected, "{stretches:?}");
        };
        check(&[], 0);
        check(&[&[]], 0);
        check(&[&[1, 4], &[10]], 0);
        check(&[&[1, 4, 5], &[7], &[], &[9, 12], &[10]], 3);
        // As a whole from the warm-up to the drain.
        check(&[&[3, 12]], 1);
    }
}

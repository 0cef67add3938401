//! When the load of a file began and ended, and its intervals. Pure.

/// No more intervals than this in a trial, so that a run can be read at once.
const INTERVALS_MAX: u64 = 2_000;
/// Intervals have one of these lengths; longer ones are doubled.
const LENGTHS_MS: [u64; 13] = [
    250, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
    1_800_000,
];

/// The intervals of a load. Times are in µs since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeline {
    pub(crate) start_us: u64,
    /// Intervals are counted from here in both directions, so that one begins with the measured phase.
    pub(crate) measure_us: u64,
    pub(crate) end_us: u64,
    pub(crate) interval_us: u64,
}

impl Timeline {
    /// With the shortest intervals that are not too many.
    pub(crate) fn new((start_us, end_us): (u64, u64), measure_us: u64, shortest_us: u64) -> Self {
        let all = LENGTHS_MS.into_iter().map(|ms| ms * 1_000);
        let longest = LENGTHS_MS[LENGTHS_MS.len() - 1] * 1_000;
        let doubled = std::iter::successors(Some(longest * 2), |length| length.checked_mul(2));
        let of = |interval_us| Self {
            start_us,
            measure_us,
            end_us,
            interval_us,
        };
        let mut lengths = all.chain(doubled).filter(|length| *length >= shortest_us);
        let fits = |length: &u64| of(*length).len() <= INTERVALS_MAX;
        of(lengths.find(fits).unwrap_or(u64::MAX))
    }

    /// With longer intervals.
    pub(crate) fn longer(&self) -> Self {
        let shortest_us = self.interval_us.saturating_add(1);
        Self::new((self.start_us, self.end_us), self.measure_us, shortest_us)
    }

    pub(crate) fn warm_up_intervals(&self) -> u64 {
        (self.measure_us - self.start_us).div_ceil(self.interval_us)
    }

    pub(crate) fn len(&self) -> u64 {
        let measured = (self.end_us - self.measure_us).div_ceil(self.interval_us);
        self.warm_up_intervals() + measured
    }

    /// The interval of an instant; what is later than the end belongs to the last.
    pub(crate) fn index(&self, at_us: u64) -> usize {
        let warm_up = self.warm_up_intervals();
        let index = match at_us.checked_sub(self.measure_us) {
            Some(after) => warm_up + after / self.interval_us,
            None => warm_up.saturating_sub((self.measure_us - at_us).div_ceil(self.interval_us)),
        };
        let index = index.min(self.len().saturating_sub(1));
        usize::try_from(index).unwrap_or(usize::MAX)
    }

    /// Start and end of an interval.
    pub(crate) fn span(&self, index: usize) -> (u64, u64) {
        let warm_up = self.warm_up_intervals();
        let index = index as u64;
        let at = |index: u64| match index.checked_sub(warm_up) {
            Some(after) => self
                .measure_us
                .saturating_add(after.saturating_mul(self.interval_us)),
            None => self
                .measure_us
                .saturating_sub((warm_up - index).saturating_mul(self.interval_us)),
        };
        (
            at(index).clamp(self.start_us, self.end_us),
            at(index + 1).clamp(self.start_us, self.end_us),
        )
    }

    /// Seconds from the start of the load to an instant.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a span of µs stays far below 2^53"
    )]
    pub(crate) fn seconds(&self, at_us: u64) -> f64 {
        at_us.saturating_sub(self.start_us) as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_aligned_with_the_measured_phase() {
        let line = Timeline::new((1_000_000, 3_600_000), 1_600_000, 0);
        assert_eq!(line.interval_us, 250_000);
        assert_eq!((line.warm_up_intervals(), line.len()), (3, 11));
        assert_eq!(line.span(0), (1_000_000, 1_100_000));
        assert_eq!(line.span(2), (1_350_000, 1_600_000));
        assert_eq!(line.span(3), (1_600_000, 1_850_000));
        assert_eq!(line.span(10), (3_350_000, 3_600_000));
        for index in 0..11 {
            let (start, end) = line.span(index);
            assert_eq!((line.index(start), line.index(end - 1)), (index, index));
        }
        assert_eq!(line.index(3_600_000), 10);
        assert_eq!(line.index(9_000_000), 10);
    }

    #[test]
    fn intervals_are_never_too_many() {
        let check = |seconds: u64, interval_ms: u64| {
            let line = Timeline::new((0, seconds * 1_000_000), 0, 0);
            assert_eq!(line.interval_us, interval_ms * 1_000, "{seconds} s");
            assert!(line.len() <= INTERVALS_MAX);
        };
        check(1, 250);
        check(500, 250);
        check(501, 500);
        check(86_400, 60_000);
        check(86_400 * 365 * 10, 230_400_000);
    }
}

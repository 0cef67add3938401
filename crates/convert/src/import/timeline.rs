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
    /// The start, or where an interval begins.
    pub(crate) measure_us: u64,
    pub(crate) end_us: u64,
    /// An interval begins here, and the others follow in both directions; those at the ends may be shorter.
    pub(crate) grid_us: u64,
    pub(crate) interval_us: u64,
}

impl Timeline {
    /// With an interval that begins with the measured phase; the shortest intervals that are not too many.
    pub(crate) fn new((start_us, end_us): (u64, u64), measure_us: u64) -> Self {
        let timeline = Self {
            start_us,
            measure_us,
            end_us,
            grid_us: measure_us,
            interval_us: 0,
        };
        timeline.with_intervals_from(0)
    }

    /// The shortest intervals that are not too many, and not shorter than this.
    pub(crate) fn with_intervals_from(&self, shortest_us: u64) -> Self {
        let longest = LENGTHS_MS[LENGTHS_MS.len() - 1] * 1_000;
        let doubled = std::iter::successors(Some(longest * 2), |length| length.checked_mul(2));
        let all = LENGTHS_MS.into_iter().map(|ms| ms * 1_000).chain(doubled);
        let timeline = |interval_us| Self {
            interval_us,
            ..*self
        };
        let fits = |length: &u64| {
            *length >= shortest_us.max(1) && timeline(*length).len() <= INTERVALS_MAX
        };
        timeline(all.into_iter().find(fits).unwrap_or(u64::MAX))
    }

    /// Intervals before the grid's point, the first of which may have a part of its length.
    fn before_grid(&self) -> u64 {
        self.grid_us
            .saturating_sub(self.start_us)
            .div_ceil(self.interval_us)
    }

    pub(crate) fn warm_up_intervals(&self) -> u64 {
        match self.measure_us > self.start_us {
            true => self.before_grid(),
            false => 0,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        let after = self.end_us.saturating_sub(self.grid_us);
        self.before_grid() + after.div_ceil(self.interval_us)
    }

    /// The interval of an instant; what is before the start or after the end belongs to the first and the last.
    pub(crate) fn index(&self, at_us: u64) -> usize {
        let before = self.before_grid();
        let index = match at_us.checked_sub(self.grid_us) {
            Some(after) => before + after / self.interval_us,
            None => before.saturating_sub((self.grid_us - at_us).div_ceil(self.interval_us)),
        };
        let index = index.min(self.len().saturating_sub(1));
        usize::try_from(index).unwrap_or(usize::MAX)
    }

    /// Start and end of an interval.
    pub(crate) fn span(&self, index: usize) -> (u64, u64) {
        let index = index as u64;
        (self.start_of(index), self.start_of(index + 1))
    }

    /// The instant at which an interval starts; that of one behind the last is the end.
    fn start_of(&self, index: u64) -> u64 {
        let before = self.before_grid();
        let length = |count: u64| count.saturating_mul(self.interval_us);
        let instant = match index.checked_sub(before) {
            Some(after) => self.grid_us.saturating_add(length(after)),
            None => self.grid_us.saturating_sub(length(before - index)),
        };
        instant.clamp(self.start_us, self.end_us)
    }

    /// Length of an interval in seconds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a span of µs stays far below 2^53"
    )]
    pub(crate) fn interval_s(&self) -> f64 {
        self.interval_us as f64 / 1e6
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
        let line = Timeline::new((1_000_000, 3_600_000), 1_600_000);
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
    fn both_ends_of_whole_seconds_may_be_short() {
        let line = Timeline {
            grid_us: 2_000_000,
            ..Timeline::new((1_600_000, 4_300_000), 1_600_000)
        };
        let line = line.with_intervals_from(1_000_000);
        assert_eq!((line.warm_up_intervals(), line.len()), (0, 4));
        assert_eq!(line.span(0), (1_600_000, 2_000_000));
        assert_eq!(line.span(3), (4_000_000, 4_300_000));
        let indices =
            [1_000_000, 2_000_000, 3_000_000, 4_000_000].map(|instant| line.index(instant));
        assert_eq!(indices, [0, 1, 2, 3]);
    }

    #[test]
    fn intervals_are_never_too_many() {
        let check = |seconds: u64, interval_ms: u64| {
            let line = Timeline::new((0, seconds * 1_000_000), 0);
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

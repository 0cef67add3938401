//! Histograms with the bounds that are exported. Pure.

use hdrhistogram::Histogram;

/// Upper bounds in microseconds: those that OpenTelemetry advises for HTTP (5 ms to 10 s), and five below them, because a server
/// on the same machine often answers within 5 ms.
pub(super) const BOUNDS_US: [u64; 19] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000,
    750_000, 1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000,
];

/// Times by bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Buckets {
    /// One for each bound, and one for what is above all of them.
    pub(super) counts: [u64; BOUNDS_US.len() + 1],
    pub(super) sum_us: u64,
}

impl Buckets {
    /// Adds times in microseconds. Those that the histogram keeps as one value (0.1 % apart) go to the bucket of the lowest.
    pub(super) fn add(&mut self, times: &Histogram<u64>) {
        for step in times.iter_recorded() {
            let value = step.value_iterated_to();
            let lowest = times.lowest_equivalent(value);
            let bucket = BOUNDS_US.partition_point(|bound| *bound < lowest);
            self.counts[bucket] += step.count_at_value();
            self.sum_us += times.median_equivalent(value) * step.count_at_value();
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Bounds in seconds.
pub(super) fn bounds_s() -> impl Iterator<Item = f64> {
    BOUNDS_US.iter().map(|bound| seconds(*bound))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sums beyond 2^53 µs (285 years) may lose their last digits"
)]
pub(super) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::aggregate::histogram;

    #[test]
    fn each_time_is_in_the_bucket_of_its_bound() {
        let check = |micros: u64, expected: usize| {
            let mut times = histogram();
            times.record_n(micros, 3).unwrap();
            let mut buckets = Buckets::default();
            buckets.add(&times);
            assert_eq!(buckets.counts[expected], 3, "{micros} µs: {buckets:?}");
            assert_eq!(buckets.count(), 3);
            let (sum, expected) = (seconds(buckets.sum_us), seconds(3 * micros));
            assert!((sum / expected - 1.0).abs() < 0.001, "{sum}, {expected}");
        };
        for (bucket, bound) in BOUNDS_US.iter().enumerate() {
            check(*bound, bucket);
            check(bound + bound / 50, bucket + 1);
        }
        check(1, 0);
        check(3_600_000_000, BOUNDS_US.len());
    }
}

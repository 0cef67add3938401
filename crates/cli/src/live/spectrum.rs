//! Compact histograms on a logarithmic scale, small enough to keep hundreds of them for the charts.

use hdrhistogram::Histogram;

use crate::trial::aggregate::as_f64;

/// Classes per doubling: a class is 4.4 % wide, finer than the screen.
const CLASSES_PER_DOUBLING: f64 = 16.0;
/// Up to one hour in µs.
const CLASSES: usize = 512;

/// Number of samples per class of time.
#[derive(Debug, Clone)]
pub(super) struct Spectrum {
    classes: Box<[u64]>,
    count: u64,
    /// The largest sample in µs.
    pub(super) max: u64,
}

impl Default for Spectrum {
    fn default() -> Self {
        Self {
            classes: vec![0; CLASSES].into_boxed_slice(),
            count: 0,
            max: 0,
        }
    }
}

impl Spectrum {
    pub(super) fn from_histogram(histogram: &Histogram<u64>) -> Self {
        let mut spectrum = Self::default();
        for step in histogram.iter_recorded() {
            let count = step.count_at_value();
            spectrum.classes[class_of(step.value_iterated_to())] += count;
            spectrum.count += count;
        }
        if spectrum.count > 0 {
            spectrum.max = histogram.max();
        }
        spectrum
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sum, part) in self.classes.iter_mut().zip(&other.classes) {
            *sum += part;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// The time at a quantile, with the precision of a class; `None` without samples.
    pub(super) fn quantile(&self, quantile: f64) -> Option<f64> {
        let wanted = (quantile * as_f64(self.count)).ceil().max(1.0);
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if *count > 0 && as_f64(seen) >= wanted {
                return Some(middle(class).min(as_f64(self.max)));
            }
        }
        None
    }

    /// The decimal logarithms of the smallest and the largest class with samples; `None` without samples.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let first = self.classes.iter().position(|count| *count > 0)?;
        let last = self.classes.iter().rposition(|count| *count > 0)?;
        Some((edge(first), edge(last + 1)))
    }

    /// Number of samples between two decimal logarithms; a class counts with the part that is in the range.
    pub(super) fn count_between(&self, from: f64, to: f64) -> f64 {
        let per_log10 = CLASSES_PER_DOUBLING / std::f64::consts::LOG10_2;
        let (from, to) = ((from * per_log10).max(0.0), (to * per_log10).max(0.0));
        let first = floor_index(from).min(CLASSES);
        let last = floor_index(to.ceil()).min(CLASSES);
        (first..last)
            .zip(&self.classes[first..last])
            .filter(|(_, count)| **count > 0)
            .map(|(class, count)| {
                let begin = as_f64(class as u64);
                let part = (begin + 1.0).min(to) - begin.max(from);
                part.max(0.0) * as_f64(*count)
            })
            .sum()
    }
}

fn class_of(us: u64) -> usize {
    floor_index(as_f64(us.max(1)).log2() * CLASSES_PER_DOUBLING).min(CLASSES - 1)
}

/// The decimal logarithm of the smallest time of a class.
fn edge(class: usize) -> f64 {
    as_f64(class as u64) / CLASSES_PER_DOUBLING * std::f64::consts::LOG10_2
}

fn middle(class: usize) -> f64 {
    ((as_f64(class as u64) + 0.5) / CLASSES_PER_DOUBLING).exp2()
}

/// A value rounded down to an index.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounds down on purpose; the conversion saturates"
)]
pub(super) fn floor_index(value: f64) -> usize {
    value as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::aggregate::histogram;

    fn spectrum_from(values: &[u64]) -> Spectrum {
        let mut filled = histogram();
        for value in values {
            filled.record(*value).unwrap();
        }
        Spectrum::from_histogram(&filled)
    }

    #[test]
    fn quantiles_have_the_precision_of_a_class() {
        let check = |values: &[u64], quantile: f64, expected: f64| {
            let actual = spectrum_from(values).quantile(quantile).unwrap();
            assert!(
                (actual / expected - 1.0).abs() < 0.05,
                "{actual} for {expected}"
            );
        };
        check(&[100; 10], 0.5, 100.0);
        check(&[100, 200, 300, 400, 5_000], 0.5, 300.0);
        check(&[100, 200, 300, 400, 5_000], 1.0, 5_000.0);
        check(&[1], 0.99, 1.0);
        check(&[3_600_000_000], 0.99, 3.6e9);
        assert_eq!(spectrum_from(&[]).quantile(0.5), None);
    }

    #[test]
    fn sum_equals_one_histogram_of_all_samples() {
        let mut sum = spectrum_from(&[100, 900]);
        sum.add(&spectrum_from(&[50, 40_000]));
        let whole = spectrum_from(&[50, 100, 900, 40_000]);
        assert_eq!((&sum.classes, sum.max), (&whole.classes, whole.max));
        let (from, to) = sum.range().unwrap();
        assert!((sum.count_between(from, to) - 4.0).abs() < 1e-9);
        assert!((sum.count_between(2.5, 9.0) - 2.0).abs() < 1e-9);
    }
}

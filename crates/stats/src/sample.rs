//! Means, medians and straight lines of small samples.

use crate::student::two_sided;

#[expect(
    clippy::cast_precision_loss,
    reason = "sizes of samples are far below 2^52"
)]
pub(crate) fn size(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of requests are far below 2^52"
)]
pub(crate) fn count_as_f64(count: u64) -> f64 {
    count as f64
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / size(values.len())
}

pub(crate) fn squares_about(values: &[f64], level: f64) -> f64 {
    values
        .iter()
        .map(|value| (value - level) * (value - level))
        .sum()
}

/// Of a sample that is not empty.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

/// By how much the standard error of a mean is larger than that of values without memory, where each value resembles
/// the one before: sqrt((1 + r) / (1 - r)) for a correlation r of neighbours. What a fit left over estimates r too
/// low by about 1/n, which is added again.
pub(crate) fn memory(rest: &[f64]) -> f64 {
    const ALIKE_MAX: f64 = 0.8;
    let squares: f64 = rest.iter().map(|off| off * off).sum();
    if squares <= 0.0 {
        return 1.0;
    }
    let products: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let alike = (products / squares + 1.0 / size(rest.len())).clamp(0.0, ALIKE_MAX);
    ((1.0 + alike) / (1.0 - alike)).sqrt()
}

/// A straight line by least squares.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    middle: f64,
    level: f64,
    pub(crate) slope: f64,
    /// Sum of squares of the places about their middle.
    width: f64,
    rest: Vec<f64>,
}

impl Line {
    /// `None` for fewer than three points, or where all stand at one place.
    pub(crate) fn fit(places: &[f64], values: &[f64]) -> Option<Self> {
        if places.len() < 3 || places.len() != values.len() {
            return None;
        }
        let (middle, level) = (mean(places), mean(values));
        let width = squares_about(places, middle);
        if width <= 0.0 {
            return None;
        }
        let products = places
            .iter()
            .zip(values)
            .map(|(place, value)| (place - middle) * (value - level));
        let slope = products.sum::<f64>() / width;
        let rest = places
            .iter()
            .zip(values)
            .map(|(place, value)| value - level - slope * (place - middle))
            .collect();
        Some(Self {
            middle,
            level,
            slope,
            width,
            rest,
        })
    }

    pub(crate) fn value_at(&self, place: f64) -> f64 {
        self.level + self.slope * (place - self.middle)
    }

    /// How often values without a slope, with this much noise (at least `noise_min`), look like this or steeper.
    pub(crate) fn chance_without_slope(&self, noise_min: f64) -> f64 {
        let degrees = size(self.rest.len() - 2);
        let squares: f64 = self.rest.iter().map(|off| off * off).sum();
        let variance = (squares / degrees)
            .max(noise_min * noise_min)
            .max(f64::MIN_POSITIVE);
        two_sided(
            self.slope / ((variance / self.width).sqrt() * memory(&self.rest)),
            degrees,
        )
    }
}

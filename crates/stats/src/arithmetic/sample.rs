//! Means, medians and straight lines of small samples.

use crate::arithmetic::student::two_sided;

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

/// The median of a sample that is not empty.
///
/// # Panics
/// If it is empty.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

/// Factor by which autocorrelation enlarges the standard error of a mean: sqrt((1 + r) / (1 - r)) for a correlation r of
/// neighbours. Residuals of a fit underestimate r by about 1/n, which is added again.
pub(crate) fn autocorrelation_factor(residuals: &[f64]) -> f64 {
    const CORRELATION_MAX: f64 = 0.8;
    let squares: f64 = residuals.iter().map(|off| off * off).sum();
    if squares <= 0.0 {
        return 1.0;
    }
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation =
        (products / squares + 1.0 / size(residuals.len())).clamp(0.0, CORRELATION_MAX);
    ((1.0 + correlation) / (1.0 - correlation)).sqrt()
}

/// A straight line by least squares.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    middle: f64,
    level: f64,
    pub(crate) slope: f64,
    /// Sum of squares of the x values about their mean.
    width: f64,
    residuals: Vec<f64>,
}

impl Line {
    /// `None` for fewer than three points, or if all have the same x.
    pub(crate) fn fit(xs: &[f64], values: &[f64]) -> Option<Self> {
        if xs.len() < 3 || xs.len() != values.len() {
            return None;
        }
        let (middle, level) = (mean(xs), mean(values));
        let width = squares_about(xs, middle);
        if width <= 0.0 {
            return None;
        }
        let products = xs
            .iter()
            .zip(values)
            .map(|(x, value)| (x - middle) * (value - level));
        let slope = products.sum::<f64>() / width;
        let residuals = xs
            .iter()
            .zip(values)
            .map(|(x, value)| value - level - slope * (x - middle))
            .collect();
        Some(Self {
            middle,
            level,
            slope,
            width,
            residuals,
        })
    }

    pub(crate) fn value_at(&self, x: f64) -> f64 {
        self.level + self.slope * (x - self.middle)
    }

    /// The standard error of the slope, enlarged by the autocorrelation of the residuals.
    pub(crate) fn slope_error(&self) -> f64 {
        let squares: f64 = self.residuals.iter().map(|off| off * off).sum();
        let variance = squares / size(self.residuals.len() - 2);
        (variance / self.width).sqrt() * autocorrelation_factor(&self.residuals)
    }

    /// Probability of this slope or a steeper one if there is none, with this much noise (at least `noise_min`).
    pub(crate) fn slope_p_value(&self, noise_min: f64) -> f64 {
        let degrees = size(self.residuals.len() - 2);
        let squares: f64 = self.residuals.iter().map(|off| off * off).sum();
        let variance = (squares / degrees)
            .max(noise_min * noise_min)
            .max(f64::MIN_POSITIVE);
        two_sided(
            self.slope / ((variance / self.width).sqrt() * autocorrelation_factor(&self.residuals)),
            degrees,
        )
    }
}

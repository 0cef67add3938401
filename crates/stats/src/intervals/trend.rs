//! A trend in a series over time: what it amounts to from the first point to the last.

use crate::{
    arithmetic::{
        sample::{Line, size},
        student::critical_95,
    },
    intervals::estimate::{Estimate, TestedEstimate},
};

/// Fewer points show no trend.
pub const MIN_TREND_POINTS: usize = 4;

/// The last level ÷ the first, by a straight line through the logarithms, with its 95 % interval; `None` of fewer than
/// [`MIN_TREND_POINTS`] points, at one instant, or if a value is not above 0.
#[must_use]
pub fn trend(times: &[f64], values: &[f64]) -> Option<TestedEstimate> {
    let is_positive = |value: &f64| *value > 0.0 && value.is_finite();
    if values.len() < MIN_TREND_POINTS || !values.iter().all(is_positive) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let line = Line::fit(times, &logs)?;
    let first = times.iter().copied().fold(f64::INFINITY, f64::min);
    let last = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let change = line.slope * (last - first);
    let off = critical_95(size(values.len() - 2)) * line.slope_error() * (last - first);
    let interval = ((change - off).exp(), (change + off).exp());
    Some(TestedEstimate {
        estimate: Estimate::finite(change.exp(), Some(interval), values.len())?,
        p_value: Some(line.slope_p_value(0.0)),
        is_paired: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    #[test]
    fn by_hand() {
        let times = [0.0, 1.0, 2.0, 3.0];
        let check = |values: &[f64], expected: Option<f64>| {
            let slope = trend(&times[..values.len()], values).map(|slope| slope.estimate.point);
            let rounded = slope.map(|point| (point * 1e6).round() / 1e6);
            assert_eq!(rounded, expected, "{values:?}");
        };
        check(&[1.0, 1.0, 1.0], None);
        check(&[1.0, 1.0, 1.0, 1.0], Some(1.0));
        check(&[1.0, 2.0, 4.0, 8.0], Some(8.0));
        check(&[1.0, 0.0, 4.0, 8.0], None);
        assert_eq!(trend(&[1.0; 4], &[1.0, 2.0, 3.0, 4.0]), None);
    }

    #[test]
    fn a_level_series_seldom_has_a_trend_and_a_drift_is_found() {
        let share = |drift: f64| {
            let detection = (0..1_000_u64).filter(|seed| {
                let mut random = Random::from_seed(*seed);
                let times: Vec<f64> = (0..12).map(f64::from).collect();
                let values: Vec<f64> = times
                    .iter()
                    .map(|time| random.lognormal(1_000.0 * (drift * time / 11.0).exp(), 0.03))
                    .collect();
                let detection = trend(&times, &values).unwrap();
                detection.p_value.unwrap() < 0.01
            });
            size(detection.count()) / 1_000.0
        };
        let (level, drifting) = (share(0.0), share(0.2));
        assert!(level <= 0.02, "{level}");
        assert!(drifting >= 0.95, "{drifting}");
    }
}

//! A logarithmic axis: its range and its ticks.

use std::f64::consts::LOG10_2;

/// Range, as decimal logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogAxis {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// Ticks per power of ten, as decimal logarithms of 1, 2 and 5.
const STEPS: [f64; 3] = [0.0, LOG10_2, 1.0 - LOG10_2];

impl LogAxis {
    /// From the tick below the smallest to the tick above the largest value.
    pub(super) fn from_range(least: f64, most: f64) -> Self {
        let from = marks(least - 1.0, least + 1e-9).last();
        let to = marks(most - 1e-9, most + 1.0).next();
        let from = from.unwrap_or(least);
        Self {
            from,
            to: to.unwrap_or(most).max(from + STEPS[1]),
        }
    }

    /// Relative position of a decimal logarithm; 0 to 1 within the axis.
    pub(super) fn relative_position(&self, log: f64) -> f64 {
        (log - self.from) / (self.to - self.from)
    }

    /// The ticks with their positions among `count`, in order, at least `apart` positions apart. Powers of ten take precedence.
    pub(super) fn marks(&self, count: u16, apart: u16) -> Vec<(u16, f64)> {
        let mut chosen: Vec<(u16, f64)> = Vec::new();
        let mut wanted: Vec<f64> = marks(self.from - 1e-9, self.to + 1e-9).collect();
        let rank = |log: f64| {
            let fraction = log - log.floor();
            u8::from(fraction > 0.01) + u8::from((fraction - STEPS[1]).abs() < 0.01)
        };
        wanted.sort_by(|tick, other| rank(*tick).cmp(&rank(*other)).then(tick.total_cmp(other)));
        for log in wanted {
            let position = self.position(log, count);
            if chosen
                .iter()
                .all(|(taken, _)| taken.abs_diff(position) >= apart)
            {
                chosen.push((position, log));
            }
        }
        chosen.sort_by_key(|(position, _)| *position);
        chosen
    }

    /// Position of a decimal logarithm among `count`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the positions"
    )]
    pub(super) fn position(&self, log: f64, count: u16) -> u16 {
        let last = f64::from(count.saturating_sub(1));
        (self.relative_position(log) * last)
            .round()
            .clamp(0.0, last) as u16
    }
}

/// Ticks between two decimal logarithms, in order.
fn marks(from: f64, to: f64) -> impl Iterator<Item = f64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "logarithms of times up to an hour"
    )]
    let powers = (from.floor() as i32)..=(to.ceil() as i32);
    powers
        .flat_map(|power| STEPS.map(|step| f64::from(power) + step))
        .filter(move |mark| (from..=to).contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_start_and_end_at_ticks() {
        let check = |least: f64, most: f64, from: f64, to: f64| {
            let axis = LogAxis::from_range(least.log10(), most.log10());
            let near = |end: f64, expected: f64| (end - expected.log10()).abs() < 1e-6;
            assert!(near(axis.from, from) && near(axis.to, to), "{axis:?}");
        };
        check(60.0, 1_200.0, 50.0, 2_000.0);
        check(100.0, 1_000.0, 100.0, 1_000.0);
        check(300.0, 300.0, 200.0, 500.0);
        check(1.0, 1.0, 1.0, 2.0);
    }

    #[test]
    fn ticks_are_apart_and_powers_of_ten_take_precedence() {
        let axis = LogAxis { from: 2.0, to: 4.0 };
        let check = |count: u16, apart: u16, expected: &[(u16, f64)]| {
            let ticks: Vec<(u16, f64)> = axis
                .marks(count, apart)
                .into_iter()
                .map(|(position, log)| (position, 10f64.powf(log).round()))
                .collect();
            assert_eq!(ticks, expected);
        };
        check(5, 2, &[(0, 100.0), (2, 1_000.0), (4, 10_000.0)]);
        check(9, 4, &[(0, 100.0), (4, 1_000.0), (8, 10_000.0)]);
    }
}

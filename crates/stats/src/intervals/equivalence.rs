//! Whether a level is shown to be steady: positive evidence, where `steady` only says that no change was shown.
//!
//! The second half of a stretch is compared with the first, on logarithms. Steady is what lies within a tolerance with 95 % on either
//! side (two one-sided tests: Schuirmann, 1987). A stretch that is shorter than the time constant of a warm-up cannot show it; how
//! often that happens is in docs/design/0046. Over trials the same halves show a change that all of them have.

use crate::{
    arithmetic::{
        holm::rejection_limit,
        sample::{autocorrelation_factor, mean, size, squares_about},
        student::{critical_90, two_sided},
    },
    intervals::estimate::{Estimate, mean_interval},
};

/// Fewer bins than this show nothing.
pub const MIN_EQUIVALENT_BINS: usize = 8;
/// How many of the last bins are looked at: noise needs more of them.
const WINDOWS: [usize; 7] = [8, 12, 16, 24, 32, 48, 64];
/// More bins than this are never looked at.
pub const MAX_EQUIVALENT_BINS: usize = WINDOWS[WINDOWS.len() - 1];
/// Noise that rounding alone makes.
const ROUNDING: f64 = 1e-4;

/// Whether the last bins are shown to have one level, to within `tolerance` (a share), or to within `resolution` (in the bins' unit).
/// Bins that are zero or less, or not finite, show nothing.
#[must_use]
pub fn is_equivalent(bins: &[f64], tolerance: f64, resolution: f64) -> bool {
    let windows = WINDOWS.iter().filter(|window| **window <= bins.len());
    windows
        .filter_map(|window| Halves::new(&bins[bins.len() - window..]))
        .any(|halves| halves.is_equivalent(tolerance, resolution))
}

/// Second half ÷ first half of the bins of one trial, as a logarithm; `None` of fewer than [`MIN_EQUIVALENT_BINS`], or if one of them
/// is zero or less, or not finite.
#[must_use]
pub fn half_change(bins: &[f64]) -> Option<f64> {
    if bins.len() < MIN_EQUIVALENT_BINS {
        return None;
    }
    Some(Halves::new(bins)?.change)
}

/// A change that the trials of a cell have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeOverTrials {
    /// Second half ÷ first half of the measured phase, over trials.
    pub ratio: Estimate,
    /// How often trials without a common change show at least so much.
    pub p_value: f64,
    /// How often trials whose change does not matter show at least so much.
    pub p_value_beyond: f64,
    /// Whether a gain or a loss that matters is shown, among all cells: see [`hold_changes`].
    pub is_shown: bool,
}

/// A gain within the measured phase is what a warm-up left over; as little of it as this is too much if it is shown.
const MAX_GAIN: f64 = 0.01;
/// A loss is something else, such as a store that grows, and may be part of what is measured.
const MAX_LOSS: f64 = 0.05;

/// How often any of many cells without a change is said to have one.
const FAMILY: f64 = 0.03;

/// Keeps the changes that are shown together. A run has many cells, and of 24 without any change one has by chance what would convince in a
/// single one (Holm, 1979).
pub fn hold_changes<'a>(changes: impl IntoIterator<Item = &'a mut ChangeOverTrials>) {
    let mut all: Vec<&mut ChangeOverTrials> = changes.into_iter().collect();
    let p_values: Vec<f64> = all.iter().map(|change| change.p_value_beyond).collect();
    let limit = rejection_limit(&p_values, FAMILY);
    for change in &mut all {
        change.is_shown = change.p_value_beyond <= limit;
    }
}

/// How far a change on the log scale is beyond what does not matter; 0: it is within.
fn excess_change(change: f64) -> f64 {
    let gain = change - MAX_GAIN.ln_1p();
    let loss = (-MAX_LOSS).ln_1p() - change;
    gain.max(loss).max(0.0)
}

/// From [`half_change`] of each trial; `None` of fewer than three trials. The trial is the unit here too, so that neighbouring bins of
/// one trial may resemble each other as much as they like.
#[must_use]
pub fn change_over_trials(changes: &[f64]) -> Option<ChangeOverTrials> {
    if changes.len() < 3 || changes.iter().any(|change| !change.is_finite()) {
        return None;
    }
    let (middle, interval) = mean_interval(changes);
    let degrees = size(changes.len() - 1);
    let error = (squares_about(changes, middle) / degrees / size(changes.len())).sqrt();
    Some(ChangeOverTrials {
        ratio: Estimate::finite(
            middle.exp(),
            interval.map(|(low, high)| (low.exp(), high.exp())),
            changes.len(),
        )?,
        p_value: two_sided(middle / error.max(ROUNDING), degrees),
        p_value_beyond: two_sided(excess_change(middle) / error.max(ROUNDING), degrees),
        is_shown: false,
    })
}

/// Both halves of a stretch, on logarithms; of an odd number of bins the middle one is left out.
struct Halves {
    level: f64,
    /// Second less first.
    change: f64,
    /// Of the change, with its degrees of freedom.
    error: f64,
    degrees: f64,
}

impl Halves {
    fn new(bins: &[f64]) -> Option<Self> {
        if bins.len() < 4 || bins.iter().any(|bin| *bin <= 0.0 || !bin.is_finite()) {
            return None;
        }
        let logs: Vec<f64> = bins.iter().map(|bin| bin.ln()).collect();
        let half = logs.len() / 2;
        let (first, second) = (&logs[..half], &logs[logs.len() - half..]);
        let (before, after) = (mean(first), mean(second));
        let residuals: Vec<f64> = first
            .iter()
            .map(|log| log - before)
            .chain(second.iter().map(|log| log - after))
            .collect();
        let degrees = size(2 * half - 2);
        let variance = squares_about(&residuals, 0.0) / degrees;
        Some(Self {
            level: mean(&logs),
            change: after - before,
            error: (variance * 2.0 / size(half)).sqrt() * autocorrelation_factor(&residuals),
            degrees,
        })
    }

    fn is_equivalent(&self, tolerance: f64, resolution: f64) -> bool {
        let level = self.level.exp();
        let tolerance = tolerance.max(if level > 0.0 { resolution / level } else { 0.0 });
        self.bound() <= tolerance.ln_1p()
    }

    /// The largest change that the 90 % interval leaves open.
    fn bound(&self) -> f64 {
        self.change.abs() + critical_90(self.degrees) * self.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    /// Goodput that approaches 1,000 from `1 - below` of it with this time constant, in bins of a second.
    fn warming_up(
        random: &mut Random,
        bins: u32,
        (below, constant_s): (f64, f64),
        noise: f64,
    ) -> Vec<f64> {
        let level = |bin: u32| 1.0 - below * (-(f64::from(bin) + 0.5) / constant_s).exp();
        (0..bins)
            .map(|bin| random.lognormal(1_000.0 * level(bin), noise))
            .collect()
    }

    /// The bin after which a warm-up of at most 30 bins ends, and whether it was shown to be steady.
    fn end(series: &[f64]) -> (usize, bool) {
        let ends = (1..=series.len()).find(|bins| is_equivalent(&series[..*bins], 0.05, 0.0));
        (ends.unwrap_or(series.len()), ends.is_some())
    }

    #[test]
    fn a_warm_up_ends_when_it_is_shown_to_be_steady() {
        let check = |curve: (f64, f64), noise: f64, left_max: f64, shown_min: usize| {
            let mut left = 0.0;
            let mut shown = 0;
            for seed in 0..200 {
                let series = warming_up(&mut Random::from_seed(seed), 30, curve, noise);
                let (bins, is_shown) = end(&series);
                shown += usize::from(is_shown);
                left += curve.0 * (-(size(bins)) / curve.1).exp() / 200.0;
            }
            assert!(
                left <= left_max && shown >= shown_min,
                "{curve:?} {noise}: {left} {shown}"
            );
        };
        // No warm-up at all, little noise: over soon; a test for a change would have ended after four bins, with half of the
        // transient left.
        check((0.0, 1.0), 0.03, 0.0, 190);
        check((0.5, 2.0), 0.03, 0.01, 180);
        check((0.5, 5.0), 0.03, 0.02, 150);
        check((0.3, 10.0), 0.03, 0.06, 100);
        // With much noise thirty bins show nothing, and nothing is claimed.
        check((0.5, 5.0), 0.10, 0.01, 0);
    }

    #[test]
    fn the_resolution_of_a_time_is_no_change() {
        let bins = [3.0, 3.0, 4.0, 3.0, 4.0, 4.0, 3.0, 4.0];
        assert!(!is_equivalent(&bins, 0.05, 0.0));
        assert!(is_equivalent(&bins, 0.05, 4.0));
        assert!(is_equivalent(&[5.0; 8], 0.05, 0.0));
        assert!(!is_equivalent(&[5.0; 7], 0.05, 0.0));
        assert!(!is_equivalent(&[0.0; 8], 0.05, 0.0));
        assert_eq!(half_change(&[5.0; 7]), None);
        assert_eq!(half_change(&[5.0; 8]), Some(0.0));
    }

    /// Trials of 20 bins whose neighbours have this correlation; in the second half the level is `to`.
    fn share_found(trials: usize, correlation: f64, to: f64) -> f64 {
        let detections = (0..500).filter(|seed| {
            let mut random = Random::from_seed(*seed);
            let changes: Vec<f64> = (0..trials)
                .map(|_| {
                    let mut off = random.normal();
                    let bins: Vec<f64> = (0..20)
                        .map(|bin| {
                            off = correlation * off
                                + (1.0 - correlation * correlation).sqrt() * random.normal();
                            (if bin < 10 { 1.0 } else { to }) * (0.1 * off).exp()
                        })
                        .collect();
                    half_change(&bins).unwrap()
                })
                .collect();
            change_over_trials(&changes).unwrap().p_value < 0.05
        });
        size(detections.count()) / 500.0
    }

    #[test]
    fn a_change_over_trials_is_found_and_noise_with_memory_is_none() {
        for correlation in [0.0, 0.4, 0.7] {
            for trials in [3, 5, 8] {
                let share = share_found(trials, correlation, 1.0);
                assert!(
                    (0.02..=0.08).contains(&share),
                    "{trials} {correlation}: {share}"
                );
            }
        }
        assert!(share_found(5, 0.0, 0.85) > 0.95);
        assert!(share_found(5, 0.4, 0.85) > 0.90);
        assert!(share_found(5, 0.7, 0.85) > 0.75);
    }

    /// Runs of cells without a change, whose trials have half-changes of this scatter: how often any of them is said to change.
    #[test]
    fn of_many_cells_without_a_change_none_is_said_to_have_one() {
        let check = |cells: usize, trials: usize, spread: f64| {
            let wrong = (0..1_000).filter(|seed| {
                let mut random = Random::from_seed(*seed);
                let mut cell = || {
                    let changes: Vec<f64> = (0..trials).map(|_| spread * random.normal()).collect();
                    change_over_trials(&changes).unwrap()
                };
                let mut all: Vec<ChangeOverTrials> = (0..cells).map(|_| cell()).collect();
                hold_changes(&mut all);
                all.iter().any(|change| change.is_shown)
            });
            let share = size(wrong.count()) / 1_000.0;
            assert!(share <= 0.05, "{cells} {trials} {spread}: {share}");
        };
        for trials in [3, 5] {
            for spread in [0.05, 0.10] {
                check(24, trials, spread);
                check(1, trials, spread);
            }
        }
    }

    #[test]
    fn a_change_that_matters_is_shown() {
        let is_shown = |changes: &[f64]| {
            let mut all = [change_over_trials(changes).unwrap()];
            hold_changes(&mut all);
            all[0].is_shown
        };
        assert!(is_shown(&[0.20, 0.21, 0.19]));
        assert!(is_shown(&[-0.30, -0.31, -0.28]));
        assert!(!is_shown(&[-0.040, -0.041, -0.042]));
        assert!(!is_shown(&[0.20, 0.50, 0.01]));
        // Of a run with a change in one of 24 cells.
        let mut all: Vec<ChangeOverTrials> = (0..24)
            .map(|cell| {
                let to = if cell == 3 { -0.5 } else { 0.0 };
                change_over_trials(&[to + 0.01, to - 0.01, to + 0.005, to]).unwrap()
            })
            .collect();
        hold_changes(&mut all);
        let shown: Vec<usize> = (0..24).filter(|cell| all[*cell].is_shown).collect();
        assert_eq!(shown, [3]);
    }
}

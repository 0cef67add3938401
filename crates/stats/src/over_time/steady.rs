//! Whether a stretch of time has one level: change points and drift over the logarithms of its bins.
//!
//! Source: method rule 5; Barrett et al., OOPSLA 2017. Used over the last bins of a warm-up and over the measured phase. Whether
//! a backlog grows is in `backlog`. Why it is built this way: docs/design/0003-verdicts.md.

use crate::arithmetic::{
    sample::{Line, autocorrelation_factor, mean, median, size, squares_about},
    student::two_sided,
};

/// Fewer bins than this say nothing.
pub const MIN_STEADY_BINS: usize = 4;
/// How often noise alone may be called a change, over all series together.
const FALSE_ALARMS: f64 = 0.03;
/// Series × (steps, drift).
const TESTS: f64 = 8.0;
/// Neighbouring splits see nearly the same bins: however many there are, they count as at most this many independent tests
/// (fitted to simulations of 4 to 120 bins).
const INDEPENDENT_SPLITS: f64 = 28.0;
/// A change below this share of the level is of no interest, however certain; and the same for p99, for the tail of one bin rests
/// on few samples.
const MIN_CHANGE: f64 = 0.10;
const MIN_CHANGE_P99: f64 = 0.25;
/// With fewer bins only larger changes count: few bins do not show the autocorrelation of the noise, which can look like a change
/// of level.
const MANY_BINS: usize = 30;
const MIN_CHANGE_FEW: f64 = 0.20;
const MIN_CHANGE_P99_FEW: f64 = 0.40;
/// With so few bins a test has no power; a change of this size then counts without one.
const FEW_BINS: usize = 8;
const LARGE_CHANGE: f64 = 1.25;
/// Assumed noise of a constant series: a smaller difference is rounding.
const RESOLUTION: f64 = 0.005;
/// A change of fewer cores than this is ignored, however large it is relative to a small level.
const MIN_CHANGE_CORES: f64 = 0.02;
/// A bin in which nothing happened counts as this share of the largest.
const NOTHING: f64 = 0.01;

/// The series that are tested, one value per bin. An empty series was not observed; a bin that is not finite is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SteadyBins<'a> {
    pub throughput: &'a [f64],
    pub p50: &'a [f64],
    pub p99: &'a [f64],
    pub cpu: &'a [f64],
    /// A change of the times by less than this, in their own unit, is of no interest.
    pub min_time_change: f64,
}

/// Which series changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Series {
    Throughput,
    P50,
    P99,
    Cpu,
}

/// How it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// From one level to another, at a bin.
    Step,
    /// Bit by bit, over all bins.
    Drift,
}

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steadiness {
    Steady,
    Unsteady {
        what: Series,
        shape: Shape,
        /// First bin of the new level; the middle of a drift.
        at_bin: usize,
        /// Level before and after, in the series' own unit; first and last value of a drift's line.
        from: f64,
        to: f64,
    },
    /// Fewer than [`MIN_STEADY_BINS`] bins.
    TooShort,
}

/// Finds the clearest change in any of the series.
#[must_use]
pub fn steady(bins: &SteadyBins<'_>) -> Steadiness {
    let all = [
        (Series::Throughput, bins.throughput),
        (Series::P50, bins.p50),
        (Series::P99, bins.p99),
        (Series::Cpu, bins.cpu),
    ];
    if all.iter().all(|(_, values)| values.len() < MIN_STEADY_BINS) {
        return Steadiness::TooShort;
    }
    let changes = all.into_iter().filter_map(|(what, values)| {
        Some((what, change(what, values, bins.smallest_change(what))?))
    });
    match changes.min_by(|a, b| a.1.p_value.total_cmp(&b.1.p_value)) {
        None => Steadiness::Steady,
        Some((what, change)) => Steadiness::Unsteady {
            what,
            shape: change.shape,
            at_bin: change.at_bin,
            from: change.from.exp(),
            to: change.to.exp(),
        },
    }
}

impl SteadyBins<'_> {
    /// The least change of a series that is of interest, in its own unit.
    fn smallest_change(&self, what: Series) -> f64 {
        match what {
            Series::Throughput => 0.0,
            Series::P50 | Series::P99 => self.min_time_change,
            Series::Cpu => MIN_CHANGE_CORES,
        }
    }
}

/// A change that noise does not explain; levels are logarithms.
struct Change {
    shape: Shape,
    at_bin: usize,
    from: f64,
    to: f64,
    /// How often noise alone would look like this.
    p_value: f64,
}

impl Change {
    /// Whether it is large and clear enough for a series with so many bins, and at least as large as what is of interest.
    fn matters(&self, what: Series, bins: usize, least: f64) -> bool {
        if (self.to.exp() - self.from.exp()).abs() < least {
            return false;
        }
        let min_change = match (what == Series::P99, bins < MANY_BINS) {
            (false, false) => MIN_CHANGE,
            (false, true) => MIN_CHANGE_FEW,
            (true, false) => MIN_CHANGE_P99,
            (true, true) => MIN_CHANGE_P99_FEW,
        };
        let size = (self.to - self.from).abs();
        let few = bins < FEW_BINS && what != Series::P99 && size >= LARGE_CHANGE.ln_1p();
        few || (size >= min_change.ln_1p() && self.p_value <= FALSE_ALARMS / TESTS)
    }
}

fn change(what: Series, values: &[f64], least: f64) -> Option<Change> {
    let logs = Logs::from_values(values);
    let bins = logs.values.len();
    if bins < MIN_STEADY_BINS {
        return None;
    }
    let change = [logs.step(), logs.drift()]
        .into_iter()
        .flatten()
        .filter(|change| change.matters(what, bins, least));
    change.min_by(|a, b| a.p_value.total_cmp(&b.p_value))
}

/// The logarithms of the bins that have a value, and which bins they are.
struct Logs {
    values: Vec<f64>,
    bins: Vec<usize>,
}

impl Logs {
    fn from_values(values: &[f64]) -> Self {
        let finite = || {
            values
                .iter()
                .enumerate()
                .filter(|(_, value)| value.is_finite())
        };
        let largest = finite().map(|(_, value)| *value).fold(0.0, f64::max);
        if largest <= 0.0 {
            return Self {
                values: vec![],
                bins: vec![],
            };
        }
        let log = |value: f64| value.max(largest * NOTHING).ln();
        Self {
            values: finite().map(|(_, value)| log(*value)).collect(),
            bins: finite().map(|(bin, _)| bin).collect(),
        }
    }

    /// The split with the largest t between its two sides.
    fn step(&self) -> Option<Change> {
        let count = self.values.len();
        let side = 2.max(count.div_ceil(8));
        let splits = side..=count.checked_sub(side)?;
        let splits_tried = size(splits.clone().count());
        let independent = splits_tried / (1.0 + splits_tried / INDEPENDENT_SPLITS);
        let (split, t) = splits
            .map(|split| (split, self.t_of(split)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (before, after) = self.values.split_at(split);
        let (mean_before, mean_after) = (mean(before), mean(after));
        let residuals: Vec<f64> = before
            .iter()
            .map(|value| value - mean_before)
            .chain(after.iter().map(|value| value - mean_after))
            .collect();
        Some(Change {
            shape: Shape::Step,
            at_bin: self.bins[split],
            // Medians: one wild bin is no new level.
            from: median(before),
            to: median(after),
            p_value: two_sided(t / autocorrelation_factor(&residuals), size(count - 2))
                * independent,
        })
    }

    fn t_of(&self, split: usize) -> f64 {
        let (before, after) = self.values.split_at(split);
        let (mean_before, mean_after) = (mean(before), mean(after));
        let squares = squares_about(before, mean_before) + squares_about(after, mean_after);
        let variance = (squares / size(self.values.len() - 2)).max(RESOLUTION * RESOLUTION);
        let spread = (variance * (1.0 / size(before.len()) + 1.0 / size(after.len()))).sqrt();
        (mean_after - mean_before).abs() / spread
    }

    /// The straight line through the bins.
    fn drift(&self) -> Option<Change> {
        let times: Vec<f64> = self.bins.iter().map(|bin| size(*bin)).collect();
        let line = Line::fit(&times, &self.values)?;
        Some(Change {
            shape: Shape::Drift,
            at_bin: self.bins[self.bins.len() / 2],
            from: line.value_at(*times.first()?),
            to: line.value_at(*times.last()?),
            p_value: line.slope_p_value(RESOLUTION),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    const SEEDS: u64 = 1_000;

    /// What happens to a series: its level goes from 1 to `to`, at once in the middle, or gradually.
    #[derive(Clone, Copy)]
    struct Course {
        shape: Shape,
        to: f64,
    }

    const LEVEL: Course = Course {
        shape: Shape::Step,
        to: 1.0,
    };

    fn series(random: &mut Random, bins: usize, jitter: f64, course: Course) -> Vec<f64> {
        let level = |bin: usize| match course.shape {
            Shape::Step if bin < bins / 2 => 1.0,
            Shape::Step => course.to,
            Shape::Drift => 1.0 + (course.to - 1.0) * size(bin) / size(bins - 1),
        };
        (0..bins)
            .map(|bin| random.lognormal(1_000.0 * level(bin), jitter))
            .collect()
    }

    /// The share of seeds in which bins of this course in throughput, over noise in all else, are called unsteady.
    fn share_flagged(bins: usize, jitter: f64, course: Course) -> f64 {
        let flagged = (0..SEEDS).filter(|seed| {
            let mut random = Random::from_seed(*seed);
            let throughput = series(&mut random, bins, jitter, course);
            let [p50, p99, cpu] = [(); 3].map(|()| series(&mut random, bins, jitter, LEVEL));
            let steadiness = steady(&SteadyBins {
                throughput: &throughput,
                p50: &p50,
                p99: &p99,
                cpu: &cpu,
                min_time_change: 0.0,
            });
            matches!(steadiness, Steadiness::Unsteady { .. })
        });
        size(flagged.count()) / size(usize::try_from(SEEDS).unwrap())
    }

    #[test]
    fn noise_is_rarely_called_a_change() {
        for bins in [4, 6, 8, 10, 12, 20, 40, 120] {
            for jitter in [0.05, 0.10, 0.20] {
                let share = share_flagged(bins, jitter, LEVEL);
                assert!(share <= 0.05, "{bins} bins, jitter {jitter}: {share}");
            }
        }
    }

    #[test]
    fn a_shift_of_thirty_percent_is_found() {
        let check = |bins, jitter, to| {
            let share = share_flagged(
                bins,
                jitter,
                Course {
                    shape: Shape::Step,
                    to,
                },
            );
            assert!(
                share >= 0.95,
                "{bins} bins, jitter {jitter}, to {to}: {share}"
            );
        };
        check(10, 0.05, 0.7);
        check(12, 0.05, 1.3);
        check(20, 0.10, 0.7);
        check(60, 0.10, 1.3);
    }

    #[test]
    fn a_slow_drift_is_found() {
        let check = |bins, jitter, to| {
            let share = share_flagged(
                bins,
                jitter,
                Course {
                    shape: Shape::Drift,
                    to,
                },
            );
            assert!(
                share >= 0.95,
                "{bins} bins, jitter {jitter}, to {to}: {share}"
            );
        };
        check(12, 0.05, 0.7);
        check(30, 0.10, 0.7);
        check(60, 0.10, 1.35);
    }

    /// The share of seeds in which noise whose neighbours have a correlation of 0.4 is called unsteady.
    fn share_flagged_with_memory(bins: usize, jitter: f64) -> f64 {
        let flagged = (0..SEEDS).filter(|seed| {
            let mut random = Random::from_seed(*seed);
            let [throughput, p50, p99, cpu] = [(); 4].map(|()| {
                let mut off = random.normal();
                let mut next = || {
                    off = 0.4 * off + 0.84_f64.sqrt() * random.normal();
                    1_000.0 * (jitter * off).exp()
                };
                (0..bins).map(|_| next()).collect::<Vec<f64>>()
            });
            let steadiness = steady(&SteadyBins {
                throughput: &throughput,
                p50: &p50,
                p99: &p99,
                cpu: &cpu,
                min_time_change: 0.0,
            });
            matches!(steadiness, Steadiness::Unsteady { .. })
        });
        size(flagged.count()) / size(usize::try_from(SEEDS).unwrap())
    }

    #[test]
    fn noise_with_memory_is_not_called_a_change_much_more_often() {
        let check = |bins, jitter, limit| {
            let share = share_flagged_with_memory(bins, jitter);
            assert!(share <= limit, "{bins} bins, jitter {jitter}: {share}");
        };
        for bins in [6, 8, 12, 20, 30, 60] {
            check(bins, 0.05, 0.05);
            check(bins, 0.10, 0.13);
        }
    }

    fn check(throughput: &[f64], expected: Steadiness) {
        assert_eq!(
            steady(&SteadyBins {
                throughput,
                ..SteadyBins::default()
            }),
            expected,
            "{throughput:?}"
        );
    }

    #[test]
    fn the_bin_and_the_levels_of_a_step_are_reported() {
        let bins = [100.0, 101.0, 99.0, 100.0, 50.0, 50.0, 51.0, 50.0, 49.0];
        let Steadiness::Unsteady {
            what,
            shape,
            at_bin,
            from,
            to,
        } = steady(&SteadyBins {
            p50: &bins,
            ..SteadyBins::default()
        })
        else {
            panic!("not found");
        };
        assert_eq!((what, shape, at_bin), (Series::P50, Shape::Step, 4));
        assert!(
            (from - 100.0).abs() < 1e-9 && (to - 50.0).abs() < 1e-9,
            "{from} {to}"
        );
    }

    #[test]
    fn odd_inputs_have_an_answer() {
        check(&[], Steadiness::TooShort);
        check(&[1.0; MIN_STEADY_BINS - 1], Steadiness::TooShort);
        check(&[1.0; MIN_STEADY_BINS], Steadiness::Steady);
        check(&[0.0; 10], Steadiness::Steady);
        check(&[f64::NAN; 10], Steadiness::Steady);
        check(
            &[5.0, 5.0, f64::NAN, 5.0, f64::INFINITY, 5.0, 5.0, 5.0],
            Steadiness::Steady,
        );
        // One wild bin is no new level.
        check(
            &[
                100.0, 101.0, 100.0, 102.0, 300.0, 101.0, 99.0, 100.0, 101.0, 100.0,
            ],
            Steadiness::Steady,
        );
        // A rise too short for any test, and too large to overlook.
        let rising = steady(&SteadyBins {
            throughput: &[100.0, 400.0, 700.0, 900.0],
            ..SteadyBins::default()
        });
        assert!(
            matches!(
                rising,
                Steadiness::Unsteady {
                    what: Series::Throughput,
                    ..
                }
            ),
            "{rising:?}"
        );
        // A system that stopped answering.
        let stopped = steady(&SteadyBins {
            throughput: &[100.0, 100.0, 101.0, 99.0, 0.0, 0.0, 0.0, 0.0],
            ..SteadyBins::default()
        });
        assert!(
            matches!(stopped, Steadiness::Unsteady { at_bin: 4, .. }),
            "{stopped:?}"
        );
    }
}

//! A number over whole runs: its interval with the run as the unit, and how much runs differ beyond what their trials explain.
//!
//! Two levels, as Kalibera and Jones (ISMM 2013) have them: trials within a run, and runs. The interval rests on the runs' values
//! alone, so it holds whatever the trials do; the trials only tell which part of the scatter more of them would remove. Rates:
//! docs/design/0087.

use crate::{
    arithmetic::sample::{mean, size, squares_about},
    history::change_point::HistoryRun,
    intervals::estimate::{Estimate, Scale, estimate},
};

/// Fewer runs give no interval over runs.
pub const MIN_RUNS: usize = 3;

/// A number over runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverRuns {
    /// The geometric mean of the runs' values, with Student's interval over the runs; its count is that of the runs.
    pub estimate: Estimate,
    /// Standard deviation of the logarithm of a run's value: all of its scatter.
    pub scatter: f64,
    /// The part of it that trials explain: the standard error of a run's value by its own trials. `None`: not known.
    pub within: Option<f64>,
    /// The part that they do not explain, and that more trials in a run would not remove.
    pub between: Option<f64>,
}

impl OverRuns {
    /// What runs have of the variance of a run's value beyond their trials: from 0, more trials help as more runs do, to 1, only more
    /// runs help.
    #[must_use]
    pub fn share_between(&self) -> Option<f64> {
        let (within, between) = (self.within?.powi(2), self.between?.powi(2));
        let all = within + between;
        (all > 0.0).then(|| between / all)
    }
}

/// `None` of fewer than [`MIN_RUNS`], or if a value is below zero or not finite, or none is above zero.
#[must_use]
pub fn over_runs(runs: &[HistoryRun], scale: Scale) -> Option<OverRuns> {
    let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
    let is_usable = |value: &f64| value.is_finite() && *value >= 0.0;
    let is_any_above = values.iter().any(|value| *value > 0.0);
    if runs.len() < MIN_RUNS || !values.iter().all(is_usable) || !is_any_above {
        return None;
    }
    let logs = scale.logs(&values);
    let variance = squares_about(&logs, mean(&logs)) / size(logs.len() - 1);
    let errors: Option<Vec<f64>> = runs.iter().map(|run| run.log_error).collect();
    let within =
        errors.map(|errors| mean(&errors.iter().map(|error| error * error).collect::<Vec<_>>()));
    Some(OverRuns {
        estimate: estimate(&values, scale)?,
        scatter: variance.sqrt(),
        within: within.map(f64::sqrt),
        between: within.map(|within| (variance - within).max(0.0).sqrt()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    const SEEDS: u64 = 2_000;

    /// Runs of so many trials whose levels scatter by `between`, and their trials by `within`.
    fn runs(
        random: &mut Random,
        (runs, trials): (usize, usize),
        (between, within): (f64, f64),
    ) -> Vec<HistoryRun> {
        let mut run = || {
            let level = random.lognormal(1_000.0, between);
            let trials: Vec<f64> = (0..trials)
                .map(|_| random.lognormal(level, within))
                .collect();
            HistoryRun::from_estimate(&estimate(&trials, Scale::default()).unwrap())
        };
        (0..runs).map(|_| run()).collect()
    }

    fn contains(estimate: Estimate) -> bool {
        let (low, high) = estimate.interval.unwrap();
        (low..=high).contains(&1_000.0)
    }

    /// The interval over runs contains the level at its rate; that of one run is of this run, and does not.
    #[test]
    fn an_interval_over_runs_contains_the_level() {
        let check = |size: (usize, usize), scatter: (f64, f64)| {
            let covered = (0..SEEDS).filter(|seed| {
                let runs = runs(&mut Random::from_seed(*seed), size, scatter);
                contains(over_runs(&runs, Scale::default()).unwrap().estimate)
            });
            let share = covered.count();
            // Of 2,000 a rate of 95 % shows as 93.5 to 96.5 % in 998 of 1,000 cases.
            assert!(
                (1_870..=1_930).contains(&share),
                "{size:?} {scatter:?}: {share}"
            );
        };
        for runs in [3, 5, 10] {
            check((runs, 3), (0.0, 0.05));
            check((runs, 5), (0.05, 0.05));
            check((runs, 3), (0.2, 0.02));
        }
    }

    #[test]
    fn an_interval_of_one_run_misses_the_level_of_all() {
        let covered = (0..SEEDS).filter(|seed| {
            let mut random = Random::from_seed(*seed);
            let level = random.lognormal(1_000.0, 0.05);
            let trials: Vec<f64> = (0..5).map(|_| random.lognormal(level, 0.05)).collect();
            contains(estimate(&trials, Scale::default()).unwrap())
        });
        let share = covered.count();
        assert!((1_300..=1_450).contains(&share), "{share}");
    }

    /// The mean of the two parts over many sets of runs is the planted one.
    #[test]
    fn the_scatter_is_divided_between_runs_and_trials() {
        let check = |(between, within): (f64, f64), expected: f64| {
            let mut sums = (0.0, 0.0);
            for seed in 0..SEEDS {
                let runs = runs(&mut Random::from_seed(seed), (6, 4), (between, within));
                let summary = over_runs(&runs, Scale::default()).unwrap();
                sums.0 += summary.scatter.powi(2);
                sums.1 += summary.within.unwrap().powi(2);
            }
            let share = 1.0 - sums.1 / sums.0;
            assert!(
                (share - expected).abs() < 0.03,
                "{between} {within}: {share}"
            );
        };
        check((0.0, 0.05), 0.0);
        check((0.05, 0.1), 0.5);
        check((0.1, 0.02), 0.99);
    }

    #[test]
    fn by_hand() {
        let run = |value, log_error| HistoryRun { value, log_error };
        let e = std::f64::consts::E;
        let known = [
            run(1.0, Some(0.5)),
            run(e, Some(0.5)),
            run(e * e, Some(0.5)),
        ];
        let summary = over_runs(&known, Scale::default()).unwrap();
        assert!((summary.estimate.point - e).abs() < 1e-12 && summary.estimate.count == 3);
        assert!((summary.scatter - 1.0).abs() < 1e-12);
        assert!((summary.share_between().unwrap() - 0.75).abs() < 1e-12);
        let unknown = [run(1.0, None), run(e, Some(0.5)), run(e * e, Some(0.5))];
        let summary = over_runs(&unknown, Scale::default()).unwrap();
        assert_eq!((summary.within, summary.share_between()), (None, None));
        let alike = [run(2.0, Some(0.1)); 3];
        let summary = over_runs(&alike, Scale::default()).unwrap();
        assert_eq!(summary.share_between(), Some(0.0));
        for nothing in [&known[..2], &[run(0.0, None); 3], &[run(-1.0, None); 4]] {
            assert_eq!(over_runs(nothing, Scale::default()), None);
        }
    }
}

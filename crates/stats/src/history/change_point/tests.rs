//! How often noise is called a change, and how often changes are found.

use super::*;
use crate::arithmetic::random::Random;

const SEEDS: u64 = 1_000;
const LIMITS: ChangeLimits = ChangeLimits {
    false_alarms: 0.01,
    min_change: 0.0,
};

/// A number whose level is multiplied by a ratio at each of some runs.
struct Course<'a> {
    runs: usize,
    scatter: f64,
    changes: &'a [(usize, f64)],
}

impl Course<'_> {
    fn find_changes(&self, seed: u64) -> Vec<ChangePoint> {
        change_points(&self.runs(seed), Scale::default(), LIMITS).unwrap()
    }

    fn runs(&self, seed: u64) -> Vec<HistoryRun> {
        let mut random = Random::from_seed(seed);
        let level = |run: usize| -> f64 {
            let past = self.changes.iter().filter(|(position, _)| *position <= run);
            past.map(|(_, ratio)| ratio).product()
        };
        (0..self.runs)
            .map(|run| history_run(random.lognormal(1_000.0 * level(run), self.scatter)))
            .collect()
    }

    /// The share of seeds whose change points are as `is_true` says.
    fn share(&self, is_true: impl Fn(&[ChangePoint]) -> bool) -> f64 {
        let seeds = (0..SEEDS).filter(|seed| is_true(&self.find_changes(*seed)));
        size(seeds.count()) / 1_000.0
    }

    /// The share of seeds in which each change is found within two runs.
    fn share_found(&self) -> f64 {
        self.share(|points| {
            let is_found = |position: usize| {
                points
                    .iter()
                    .any(|change| change.index.abs_diff(position) <= 2)
            };
            self.changes.iter().all(|(position, _)| is_found(*position))
        })
    }
}

fn history_run(value: f64) -> HistoryRun {
    HistoryRun {
        value,
        log_error: None,
    }
}

fn history(values: &[f64]) -> Vec<HistoryRun> {
    values.iter().map(|value| history_run(*value)).collect()
}

#[test]
fn noise_is_called_a_change_in_one_of_a_hundred_histories() {
    for runs in [4, 6, 10, 19, 20, 30, 40, 60, 100, 200] {
        let course = Course {
            runs,
            scatter: 0.03,
            changes: &[],
        };
        let share = course.share(|points| !points.is_empty());
        assert!(share <= 0.02, "{runs} runs: {share}");
    }
}

#[test]
fn changes_are_found_within_two_runs() {
    let check = |runs, scatter, changes: &[(usize, f64)], expected: f64| {
        let course = Course {
            runs,
            scatter,
            changes,
        };
        let share = course.share_found();
        assert!(share >= expected, "{runs} {scatter} {changes:?}: {share}");
        let more = course.share(|points| points.len() > changes.len());
        assert!(more <= 0.03, "{runs} {scatter} {changes:?}: {more} more");
    };
    check(30, 0.02, &[(15, 1.05)], 0.90);
    check(60, 0.02, &[(30, 1.05)], 0.92);
    check(200, 0.05, &[(100, 0.90)], 0.85);
    check(40, 0.02, &[(15, 1.10), (30, 1.05)], 0.85);
    // As soon as there are two runs of the new level.
    check(40, 0.02, &[(38, 1.10)], 0.95);
    // Up, and down again.
    check(40, 0.02, &[(15, 1.10), (25, 1.0 / 1.10)], 0.95);
    check(14, 0.02, &[(5, 1.20), (10, 1.0 / 1.20)], 0.95);
}

#[test]
fn a_large_change_is_still_there_when_the_level_comes_back() {
    let values = [
        264.0, 251.0, 270.0, 258.0, 262.0, 87_000.0, 91_000.0, 84_000.0, 88_000.0, 90_000.0, 260.0,
        255.0, 266.0,
    ];
    let starts = |runs: usize| -> Vec<usize> {
        let points = change_points(&history(&values[..runs]), Scale::default(), LIMITS).unwrap();
        points.iter().map(|change| change.index).collect()
    };
    assert_eq!(starts(10), [5]);
    // A single run is no level yet, and hides nothing.
    assert_eq!(starts(11), [5]);
    assert_eq!(starts(13), [5, 10]);
}

#[test]
fn the_interval_of_a_change_contains_the_true_ratio() {
    let course = Course {
        runs: 40,
        scatter: 0.02,
        changes: &[(20, 1.06)],
    };
    let share = course.share(|points| {
        let holds = |change: &ChangePoint| {
            let (low, high) = change.ratio.interval.unwrap();
            (low..=high).contains(&1.06)
        };
        points.len() == 1 && holds(&points[0])
    });
    assert!(share >= 0.90, "{share}");
}

#[test]
fn the_smallest_change_is_found_in_four_of_five_histories() {
    for (runs, scatter) in [
        (4, 0.02),
        (6, 0.02),
        (10, 0.02),
        (20, 0.03),
        (40, 0.03),
        (60, 0.05),
        (200, 0.05),
    ] {
        let without = Course {
            runs,
            scatter,
            changes: &[],
        };
        let smallest: Vec<f64> = (0..SEEDS)
            .filter_map(|seed| smallest_change(&without.runs(seed), &[], Scale::default(), LIMITS))
            .collect();
        let typical = median(&smallest);
        let with = Course {
            changes: &[(runs / 2, 1.0 + typical)],
            ..without
        };
        let share = with.share(|points| !points.is_empty());
        assert!((0.76..=0.90).contains(&share), "{runs} {scatter}: {share}");
    }
}

#[test]
fn the_smallest_change_counts_from_the_last_change_on() {
    let check = |runs: &[HistoryRun], starts: &[usize], expected: Option<f64>| {
        let change = smallest_change(runs, starts, Scale::default(), LIMITS);
        let is_near = match (change, expected) {
            (Some(change), Some(expected)) => (change / expected - 1.0).abs() < 0.01,
            (change, expected) => change == expected,
        };
        assert!(is_near, "{change:?} {expected:?}");
    };
    let mut runs = history(&[10.0, 10.1, 9.9, 10.0, 10.1, 20.0, 20.2, 19.8, 20.0, 20.1]);
    // Two splits: the quantile of t with 3 degrees of freedom at 0.0025 on each side is 7.4533.
    check(&runs, &[5], Some(0.07597));
    check(&runs, &[8], None);
    check(&runs[..3], &[], None);
    for run in &mut runs {
        run.log_error = Some(0.02);
    }
    check(&runs, &[5], Some(0.20357));
    let limits = ChangeLimits {
        min_change: 0.05,
        ..LIMITS
    };
    let still = history(&[7.0; 30]);
    let change = smallest_change(&still, &[], Scale::default(), limits).unwrap();
    assert!((change - 0.05).abs() < 1e-3, "{change}");
}

#[test]
fn a_change_has_its_levels() {
    let runs = history(&[10.0, 10.1, 9.9, 10.0, 10.1, 20.0, 20.2, 19.8, 20.0, 20.1]);
    let changes = change_points(&runs, Scale::default(), LIMITS).unwrap();
    let [change] = changes[..] else {
        panic!("{changes:?}")
    };
    assert_eq!((change.index, change.ratio.count), (5, 10));
    assert!((change.before - 10.02).abs() < 0.01 && (change.after - 20.02).abs() < 0.01);
    assert!((change.ratio.point - 1.998).abs() < 0.01 && change.p_value < 1e-6);
}

#[test]
fn a_single_slow_run_is_no_change() {
    for index in [0, 12, 38, 39] {
        let mut random = Random::from_seed(index);
        let mut runs: Vec<HistoryRun> = (0..40)
            .map(|_| history_run(random.lognormal(100.0, 0.02)))
            .collect();
        runs[usize::try_from(index).unwrap()].value *= 1.5;
        assert_eq!(change_points(&runs, Scale::default(), LIMITS), Some(vec![]));
    }
}

#[test]
fn small_changes_can_be_left_out() {
    let values: Vec<f64> = (0..40)
        .map(|run| if run < 20 { 100.0 } else { 103.0 })
        .collect();
    let count = |min_change| {
        let limits = ChangeLimits {
            min_change,
            ..LIMITS
        };
        let points = change_points(&history(&values), Scale::default(), limits);
        points.unwrap().len()
    };
    assert_eq!((count(0.0), count(0.02), count(0.05)), (1, 1, 0));
    let coarse = Scale::from_resolution(5.0);
    assert_eq!(
        change_points(&history(&values), coarse, LIMITS),
        Some(vec![])
    );
}

#[test]
fn the_scatter_is_at_least_that_of_each_run() {
    let mut runs = history(&[100.0, 100.1, 100.0, 100.1, 102.0, 102.1, 102.0, 102.1]);
    let count = |runs: &[HistoryRun]| change_points(runs, Scale::default(), LIMITS).unwrap().len();
    assert_eq!(count(&runs), 1);
    for run in &mut runs {
        run.log_error = Some(0.02);
    }
    assert_eq!(count(&runs), 0);
}

#[test]
fn the_error_of_a_run_is_that_of_its_interval() {
    let trials: Vec<f64> = [0.98_f64, 1.0, 1.02].map(|trial| 100.0 * trial).to_vec();
    let estimate = crate::intervals::estimate::estimate(&trials, Scale::default()).unwrap();
    let run = HistoryRun::from_estimate(&estimate);
    // The standard deviation of the logarithms is 0.02, divided by √3.
    assert!((run.log_error.unwrap() - 0.0115).abs() < 2e-4, "{run:?}");
    assert_eq!(history_run(100.0).log_error, None);
}

#[test]
fn what_is_no_history_has_no_change_points() {
    let check = |values: &[f64], expected: Option<usize>| {
        let points = change_points(&history(values), Scale::default(), LIMITS);
        assert_eq!(points.map(|points| points.len()), expected, "{values:?}");
    };
    check(&[], Some(0));
    check(&[1.0, 2.0, 3.0], Some(0));
    check(&[0.0; 30], Some(0));
    check(&[7.0; 30], Some(0));
    check(&[1.0, -1.0, 1.0, 1.0], None);
    check(&[1.0, f64::NAN, 1.0, 1.0], None);
    check(&vec![1.0; MAX_HISTORY + 1], None);
}

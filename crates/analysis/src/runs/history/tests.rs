//! How often histories of simulated runs are right, and what a change is called. The rates are in docs/design/0051.

use std::sync::LazyLock;

use rand::{Rng, SeedableRng, rngs::StdRng};

use waggle_results::{AgentHostInfo, RunInfo};

use super::*;
use crate::tests::simulated_run::{Scatter, Simulated, share};

const CELLS: usize = 4;
/// One trial of a run differs from the next by so much, and one run from the next, on the log scale.
const TRIAL_SCATTER: f64 = 0.02;
const RUN_SCATTER: f64 = 0.015;
const SETTINGS: HistorySettings = HistorySettings {
    min_change: 0.02,
    metrics: Vec::new(),
    hosts: HostScope::Each,
};

/// A run of four cells.
static TEMPLATE: LazyLock<Model> = LazyLock::new(|| {
    let simulated = Simulated {
        scatter: Scatter::Equal,
        repetitions: 3,
        ratio: 1.0,
    };
    let mut model = simulated.model(1);
    model.cells.truncate(CELLS);
    let cells: Vec<u32> = model.cells.iter().map(|cell| cell.cell).collect();
    model
        .trials
        .retain(|trial| cells.contains(&trial.info.key.cell));
    // What a history does not need is not cloned.
    model.effects = None;
    model.curves = None;
    model.comparisons.clear();
    model
});

/// Runs of four cells; the goodput of the first one is multiplied by a ratio from each of some runs on.
struct Course<'a> {
    runs: usize,
    changes: &'a [(usize, f64)],
    /// Runs on another host, which is half as fast.
    slow: &'a [usize],
}

impl Course<'_> {
    fn runs(&self, seed: u64) -> Vec<NamedRun> {
        let mut random = StdRng::seed_from_u64(seed);
        let run = |index| self.run(TEMPLATE.clone(), index, &mut random);
        (0..self.runs).map(run).collect()
    }

    fn run(&self, mut model: Model, index: usize, random: &mut StdRng) -> NamedRun {
        let is_slow = self.slow.contains(&index);
        let past = self.changes.iter().filter(|(from, _)| *from <= index);
        let level = past.map(|(_, ratio)| ratio).product::<f64>();
        let host = if is_slow { 0.5 } else { 1.0 };
        let runs: Vec<f64> = (0..CELLS).map(|_| RUN_SCATTER * normal(random)).collect();
        for trial in &mut model.trials {
            let cell = usize::try_from(trial.info.key.cell - 1).unwrap();
            let cell_level = if cell == 0 { level } else { 1.0 };
            let noise = (runs[cell] + TRIAL_SCATTER * normal(random)).exp();
            trial.numbers.as_mut().unwrap().goodput_per_s = 1_000.0 * cell_level * host * noise;
        }
        model.info.host.memory_bytes = 8 << 30;
        model.info.host.name = if is_slow { "slow" } else { "fast" }.to_owned();
        model.info.started_utc = format!("2026-01-{:02}T{:02}:00:00Z", 1 + index / 24, index % 24);
        NamedRun {
            name: format!("run-{index:03}"),
            model,
        }
    }

    fn history(&self, seed: u64) -> HistoryModel {
        history(self.runs(seed), &SETTINGS).unwrap()
    }
}

fn normal(random: &mut StdRng) -> f64 {
    let (a, b): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// The run at which each change begins, with its cell.
fn list_changes(history: &HistoryModel) -> Vec<(usize, usize)> {
    let series = history.series();
    let runs = series.flat_map(|(_, series)| {
        let changes = series.changes.iter();
        changes.map(|change| (series.cell, series.points[change.at].run))
    });
    runs.collect()
}

#[test]
fn planted_changes_are_found_and_a_slow_host_is_none() {
    let check = |slow: &[usize], least: f64| {
        let course = Course {
            runs: 40,
            changes: &[(14, 0.90), (28, 0.95)],
            slow,
        };
        let right = share(300, |seed| {
            let changes = list_changes(&course.history(seed));
            let is_near = |index: usize| {
                changes
                    .iter()
                    .any(|(cell, run)| *cell == 0 && run.abs_diff(index) <= 2)
            };
            is_near(14) && is_near(28)
        });
        assert!(right >= least, "{slow:?}: {right}");
        let more = share(1_000, |seed| list_changes(&course.history(seed)).len() > 2);
        assert!(more <= 0.01, "{slow:?}: {more} more");
    };
    check(&[20], 0.90);
    check(&[5, 12, 20, 33], 0.88);
}

#[test]
fn a_history_without_a_change_shows_one_in_a_hundred() {
    let check = |slow: &[usize]| {
        let course = Course {
            runs: 40,
            changes: &[],
            slow,
        };
        let wrong = share(1_000, |seed| {
            !list_changes(&course.history(seed)).is_empty()
        });
        assert!(wrong <= 0.01, "{slow:?}: {wrong}");
    };
    check(&[20]);
    check(&[5, 12, 20, 33]);
    check(&[30, 31, 32, 33, 34, 35, 36, 37, 38, 39]);
}

#[test]
fn a_change_is_called_by_its_direction() {
    let check = |changes: &[(usize, f64)], judgements: &[ChangeJudgement], outcome| {
        let course = Course {
            runs: 40,
            changes,
            slow: &[],
        };
        let history = course.history(7);
        let all = history.series().flat_map(|(_, series)| &series.changes);
        let all: Vec<ChangeJudgement> = all.map(|change| change.judgement).collect();
        assert_eq!((all.as_slice(), history.outcome()), (judgements, outcome));
    };
    use ChangeJudgement::{Better, Worse};
    check(&[], &[], HistoryOutcome::NoChange);
    check(&[(20, 0.8)], &[Worse], HistoryOutcome::Worse);
    check(&[(20, 1.25)], &[Better], HistoryOutcome::Better);
    let back = [(10, 0.8), (30, 1.25)];
    check(&back, &[Worse, Better], HistoryOutcome::Better);
    let half_back = [(10, 0.8), (30, 1.1)];
    check(&half_back, &[Worse, Better], HistoryOutcome::Worse);
}

#[test]
fn a_note_that_accepts_closes_the_changes_before_it_and_no_later_one() {
    let course = Course {
        runs: 40,
        changes: &[(10, 0.8), (30, 0.8)],
        slow: &[],
    };
    let check_note = |noted: Option<usize>, metric: Option<&str>, accepted: &[bool], outcome| {
        let mut runs = course.runs(7);
        if let Some(index) = noted {
            runs[index].model.notes.push(Note {
                written_utc: String::new(),
                text: "new disk".to_owned(),
                accepts: true,
                metric: metric.map(str::to_owned),
            });
        }
        let history = history(runs, &SETTINGS).unwrap();
        let all = history.series().flat_map(|(_, series)| &series.changes);
        let all: Vec<bool> = all.map(|change| change.is_accepted).collect();
        assert_eq!(
            (all.as_slice(), history.outcome()),
            (accepted, outcome),
            "{noted:?} {metric:?}"
        );
    };
    let check = |noted, accepted: &[bool], outcome| check_note(noted, None, accepted, outcome);
    check(None, &[false, false], HistoryOutcome::Worse);
    check(Some(20), &[true, false], HistoryOutcome::Worse);
    check(Some(39), &[true, true], HistoryOutcome::NoChange);
    // Before all changes: about one that is placed some runs too late.
    check(Some(2), &[false, false], HistoryOutcome::Worse);
    // About one metric: changes of others are not accepted.
    let goodput = Some("goodput_per_s");
    check_note(Some(39), goodput, &[true, true], HistoryOutcome::NoChange);
    let other = Some("delivery_delay_p99_us");
    check_note(Some(39), other, &[false, false], HistoryOutcome::Worse);
}

#[test]
fn a_change_with_the_kernel_is_undecided_and_one_with_a_version_is_not() {
    let course = Course {
        runs: 30,
        changes: &[(15, 0.8)],
        slow: &[],
    };
    let check = |change: fn(&mut RunInfo), from: usize, expected: ChangeJudgement, count| {
        let mut runs = course.runs(1);
        for run in &mut runs[from..] {
            change(&mut run.model.info);
        }
        let history = history(runs, &SETTINGS).unwrap();
        let change = &history.metrics[0].series[0].changes[0];
        assert_eq!(
            (change.judgement, change.conditions.len()),
            (expected, count)
        );
    };
    let conditions = ChangeJudgement::Undecided(ChangeDoubt::Conditions);
    let kernel = |info: &mut RunInfo| info.host.kernel = "6.99".to_owned();
    check(kernel, 15, conditions, 1);
    check(kernel, 16, conditions, 1);
    check(kernel, 22, ChangeJudgement::Worse, 0);
    let memory = |info: &mut RunInfo| info.host.memory_bytes += 1 << 20;
    check(memory, 15, ChangeJudgement::Worse, 0);
    let system = |info: &mut RunInfo| info.system = "other".to_owned();
    check(system, 15, ChangeJudgement::Worse, 1);
    check(system, 16, ChangeJudgement::Worse, 0);
}

#[test]
fn doubtful_values_leave_a_change_undecided() {
    let course = Course {
        runs: 30,
        changes: &[(15, 0.8)],
        slow: &[],
    };
    let judgement = |doubtful: std::ops::Range<usize>, bias| {
        let mut runs = course.runs(1);
        for run in &mut runs[doubtful] {
            run.model.cells[0].doubts = vec![(waggle_stats::Aspect::Goodput, vec![bias])];
        }
        history(runs, &SETTINGS).unwrap().metrics[0].series[0].changes[0].judgement
    };
    use waggle_stats::Bias;
    let open = ChangeJudgement::Undecided(ChangeDoubt::Values);
    assert_eq!(judgement(15..30, Bias::AtLeast), open);
    assert_eq!(judgement(15..30, Bias::AtMost), ChangeJudgement::Worse);
    assert_eq!(judgement(0..15, Bias::AtMost), open);
    assert_eq!(judgement(20..25, Bias::AtLeast), ChangeJudgement::Worse);
}

#[test]
fn hosts_can_be_taken_together() {
    let course = Course {
        runs: 12,
        changes: &[(6, 0.8)],
        slow: &[],
    };
    let mut runs = course.runs(3);
    for (index, run) in runs.iter_mut().enumerate() {
        run.model.info.host.name = format!("runner-{index}");
    }
    let error = history(runs.clone(), &SETTINGS).unwrap_err();
    let expected = HistoryError::TooFewRuns {
        runs: 1,
        all: 12,
        needed: 3,
    };
    assert_eq!(error, expected);
    let together = HistorySettings {
        hosts: HostScope::Together,
        ..SETTINGS
    };
    let joint_history = history(runs, &together).unwrap();
    assert_eq!(joint_history.outcome(), HistoryOutcome::Worse);
    assert_eq!(joint_history.metrics[0].series.len(), CELLS);
}

/// An agent on a host of its own.
fn agent(name: &str, cpus: u32) -> AgentHostInfo {
    AgentHostInfo {
        number: 1,
        name: name.to_owned(),
        machine: name.to_owned(),
        kernel: String::new(),
        architecture: String::new(),
        cpu_model: "Xeon".to_owned(),
        cpus,
        cpu_quota: None,
        pod: None,
        is_same_program: true,
    }
}

#[test]
fn runs_with_other_hosts_of_agents_are_in_another_series() {
    let course = Course {
        runs: 12,
        changes: &[(6, 0.8)],
        slow: &[],
    };
    let with_agents = |later: fn() -> AgentHostInfo| {
        let mut runs = course.runs(3);
        for (index, run) in runs.iter_mut().enumerate() {
            let host = if index < 6 {
                agent("load-1", 2)
            } else {
                later()
            };
            run.model.info.agents = vec![host];
        }
        runs
    };
    let other_name = || agent("load-2", 2);
    let other_hardware = || agent("load-1", 4);
    let apart = history(with_agents(other_name), &SETTINGS).unwrap();
    assert_eq!(apart.outcome(), HistoryOutcome::NoChange);
    assert_eq!(apart.metrics[0].series.len(), 2 * CELLS);
    let names = ["load-1", "load-2"].map(|on| format!("fast with agents on {on} (2 × Xeon)"));
    assert_eq!(apart.host_names, names);
    assert_eq!(apart.host_moves(), [(0, 6)]);

    let together = |runs| {
        let settings = HistorySettings {
            hosts: HostScope::Together,
            ..SETTINGS
        };
        history(runs, &settings).unwrap()
    };
    assert_eq!(
        together(with_agents(other_name)).outcome(),
        HistoryOutcome::Worse
    );
    let changed = together(with_agents(other_hardware));
    let change = &changed.metrics[0].series[0].changes[0];
    assert_eq!(
        change.judgement,
        ChangeJudgement::Undecided(ChangeDoubt::Conditions)
    );
}

#[test]
fn a_host_that_is_no_longer_used_does_not_count() {
    let course = Course {
        runs: 40,
        changes: &[(10, 0.8)],
        slow: &(20..40).collect::<Vec<usize>>(),
    };
    let history = course.history(1);
    assert_eq!(history.metrics[0].series[0].changes.len(), 1);
    assert_eq!(history.outcome(), HistoryOutcome::NoChange);
    assert_eq!(history.host_moves(), [(0, 20)]);
}

#[test]
fn runs_that_are_no_history_are_an_error() {
    let course = Course {
        runs: 8,
        changes: &[],
        slow: &[],
    };
    let runs = course.runs(1);
    let check = |change: fn(&mut Model), expected: &str| {
        let mut runs = runs.clone();
        change(&mut runs[3].model);
        let error = format!("{:?}", history(runs, &SETTINGS).unwrap_err());
        assert!(error.contains(expected), "{error}");
    };
    check(|model| model.info.study = "other".to_owned(), "Studies");
    let error = history(runs[..2].to_vec(), &SETTINGS).unwrap_err();
    assert!(matches!(error, HistoryError::TooFewRuns { runs: 2, .. }));
    let three = history(runs[..3].to_vec(), &SETTINGS).unwrap();
    assert_eq!(three.outcome(), HistoryOutcome::NoChange);
    assert!(three.series().all(|(_, series)| series.over_runs.is_some()));
    assert!(history(Vec::new(), &SETTINGS).is_err());
    let unknown = HistorySettings {
        metrics: vec![vec!["colour".to_owned()]],
        ..SETTINGS
    };
    let error = history(runs.clone(), &unknown).unwrap_err();
    assert_eq!(
        error,
        HistoryError::Runs(CompareError::NoMetric("colour".to_owned()))
    );
    let mut fewer = runs;
    fewer[7].model.cells.truncate(2);
    let shared_history = history(fewer, &SETTINGS).unwrap();
    assert_eq!(
        (
            shared_history.cells.len(),
            shared_history.former_cells.len()
        ),
        (2, 2)
    );
}

/// Runs of three trials: the interval over runs has the level at its rate, and the scatter between runs is the planted one.
#[test]
fn a_level_over_runs_has_runs_as_its_unit() {
    let course = Course {
        runs: 5,
        changes: &[],
        slow: &[],
    };
    let over = |seed: u64| course.history(seed).metrics[0].series[0].over_runs.unwrap();
    let covered = share(1_000, |seed| {
        let (low, high) = over(seed).estimate.interval.unwrap();
        (low..=high).contains(&1_000.0)
    });
    // Of 1,000 a rate of 95 % shows as 93 to 97 % in 997 of 1,000 cases.
    assert!((0.93..=0.97).contains(&covered), "{covered}");
    let variances = (0..500).map(|seed| over(seed).scatter.powi(2));
    let scatter = (variances.sum::<f64>() / 500.0).sqrt();
    let planted = (RUN_SCATTER.powi(2) + TRIAL_SCATTER.powi(2) / 3.0).sqrt();
    assert!(
        (scatter / planted - 1.0).abs() < 0.05,
        "{scatter} {planted}"
    );
    // A change starts anew.
    let changed = Course {
        runs: 40,
        changes: &[(20, 0.8)],
        ..course
    };
    let over = changed.history(7).metrics[0].series[0].over_runs.unwrap();
    assert!(
        over.estimate.count <= 22 && over.estimate.point < 850.0,
        "{over:?}"
    );
}

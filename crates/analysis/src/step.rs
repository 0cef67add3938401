//! The steps and sessions of a scenario: of one trial, and over the trials of a cell.

use waggle_results::{FailureCount, FailureKind, PhaseName, SessionCounts, Trial};
use waggle_stats::Estimate;

use crate::distribution::{self, Distribution, SpectrumPoint, TrialPercentiles, as_f64};

/// One step over the measured phase of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialStep {
    pub name: String,
    /// Succeeded requests per second.
    pub goodput_per_s: f64,
    /// Answered requests per second, failures included.
    pub throughput_per_s: f64,
    pub succeeded: u64,
    pub failed: u64,
    pub failures: Vec<FailureCount>,
    /// From due to done, of successes.
    pub response: Option<TrialPercentiles>,
    /// From sent to done, of successes.
    pub service: Option<TrialPercentiles>,
}

/// One step over the counted trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct StepModel {
    pub name: String,
    pub goodput: Option<Estimate>,
    pub throughput: Option<Estimate>,
    pub response: Distribution,
    pub service: Distribution,
    pub succeeded: u64,
    pub failed: u64,
    /// Failures by kind, the most frequent first.
    pub failures: Vec<(FailureKind, u64)>,
    /// Failed ÷ answered.
    pub error_share: Option<f64>,
    /// Of the histograms of all counted trials together.
    pub spectrum: Vec<SpectrumPoint>,
}

/// Sessions over the counted trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionsModel {
    /// Completed per second.
    pub goodput: Option<Estimate>,
    /// Sums over trials.
    pub counts: SessionCounts,
}

/// The steps of one trial; none where it was no scenario.
pub(crate) fn of_trial(trial: &Trial) -> Vec<TrialStep> {
    let Some(measure) = trial.info.phase(PhaseName::Measure) else {
        return Vec::new();
    };
    let seconds = trial.info.measured.seconds;
    let per_s = |count: u64| as_f64(count) / seconds;
    let steps = trial.info.steps.iter().zip(&trial.steps);
    steps
        .map(|(step, logs)| {
            let times = logs.merged(measure.start_s, measure.end_s);
            let counts = &step.measured;
            TrialStep {
                name: step.name.clone(),
                goodput_per_s: per_s(counts.succeeded),
                throughput_per_s: per_s(counts.succeeded + counts.failed),
                succeeded: counts.succeeded,
                failed: counts.failed,
                failures: counts.failures.clone(),
                response: distribution::of_trial(&times.response_time),
                service: distribution::of_trial(&times.service_time),
            }
        })
        .collect()
}

/// Every step that a counted trial has, in their order.
pub(crate) fn over_trials(trials: &[&[TrialStep]], raw: &[&Trial]) -> Vec<StepModel> {
    let mut names: Vec<&str> = Vec::new();
    for step in trials.iter().copied().flatten() {
        if !names.contains(&step.name.as_str()) {
            names.push(&step.name);
        }
    }
    names
        .into_iter()
        .map(|name| {
            let named = |step: &&TrialStep| step.name == name;
            let steps: Vec<&TrialStep> = trials.iter().copied().flatten().filter(named).collect();
            one(name, &steps, raw)
        })
        .collect()
}

fn one(name: &str, steps: &[&TrialStep], raw: &[&Trial]) -> StepModel {
    let over = |pick: fn(&TrialStep) -> f64| {
        waggle_stats::estimate(&steps.iter().map(|step| pick(step)).collect::<Vec<_>>())
    };
    let times = |pick: fn(&TrialStep) -> Option<&TrialPercentiles>| {
        let all: Vec<_> = steps.iter().filter_map(|step| pick(step)).collect();
        distribution::over_trials(&all)
    };
    let succeeded: u64 = steps.iter().map(|step| step.succeeded).sum();
    let failed: u64 = steps.iter().map(|step| step.failed).sum();
    StepModel {
        name: name.to_owned(),
        goodput: over(|step| step.goodput_per_s),
        throughput: over(|step| step.throughput_per_s),
        response: times(|step| step.response.as_ref()),
        service: times(|step| step.service.as_ref()),
        succeeded,
        failed,
        failures: distribution::by_kind(steps.iter().flat_map(|step| &step.failures)),
        error_share: (succeeded + failed > 0).then(|| as_f64(failed) / as_f64(succeeded + failed)),
        spectrum: spectrum(name, raw),
    }
}

fn spectrum(name: &str, raw: &[&Trial]) -> Vec<SpectrumPoint> {
    let merged = raw
        .iter()
        .filter_map(|trial| {
            let measure = trial.info.phase(PhaseName::Measure)?;
            let place = trial.info.steps.iter().position(|step| step.name == name)?;
            let log = &trial.steps.get(place)?.response_time;
            Some(log.merged(measure.start_s, measure.end_s))
        })
        .reduce(|mut sum, one| {
            sum.add(one).expect("a resizing histogram takes any value");
            sum
        });
    merged
        .filter(|merged| !merged.is_empty())
        .as_ref()
        .map(distribution::spectrum)
        .unwrap_or_default()
}

/// The sessions of a cell from those of its counted trials with their measured seconds; `None` without a scenario.
pub(crate) fn sessions(trials: &[(SessionCounts, f64)]) -> Option<SessionsModel> {
    if trials.is_empty() {
        return None;
    }
    let rates: Vec<f64> = trials
        .iter()
        .map(|(counts, seconds)| as_f64(counts.completed) / seconds)
        .collect();
    let sum = |pick: fn(&SessionCounts) -> u64| trials.iter().map(|(one, _)| pick(one)).sum();
    Some(SessionsModel {
        goodput: waggle_stats::estimate(&rates),
        counts: SessionCounts {
            started: sum(|one| one.started),
            completed: sum(|one| one.completed),
            failed: sum(|one| one.failed),
        },
    })
}

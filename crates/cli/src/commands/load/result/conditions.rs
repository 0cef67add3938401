//! Evaluates conditions on the result of a load. Pure.

use anyhow::{Result, anyhow};
use waggle_analysis::{
    Decision, Shortcoming, TrialNumbers, TrialPercentile, TrialPercentiles, TrialStep,
    held_in_load, in_load,
};
use waggle_report::wording;
use waggle_results::SessionCounts;
use waggle_spec::{StepTimes, Threshold, TimeKind};
use waggle_stats::Reason;

use super::summary::{LoadResult, ModelName, StepResult, ThresholdResult, Times};
use crate::trial::aggregate::as_f64;

/// Parses the conditions of a flag, for a load with these steps.
///
/// # Errors
/// A text is not a condition, or names an unknown metric.
pub(crate) fn conditions(flag: &str, texts: &[String], steps: &[String]) -> Result<Vec<Threshold>> {
    let read = |text: &String| {
        waggle_study::read_threshold(text, steps)
            .map_err(|message| anyhow!("{flag} {text:?}: {message}"))
    };
    texts.iter().map(read).collect()
}

/// Evaluates a condition, with the reasons of the verdict: as in studies, a doubt counts if it concerns the metric.
pub(crate) fn threshold(
    threshold: &Threshold,
    result: &LoadResult,
    reasons: &[Reason],
) -> ThresholdResult {
    let observed = in_load(&threshold.metric, &numbers(result));
    let (held, reason) = match observed {
        Some(value) => held_in_load(threshold, value, reasons),
        None => (
            Decision::Undecided,
            Some(Shortcoming::NoMetric(threshold.metric.clone())),
        ),
    };
    let unit = waggle_analysis::unit(&threshold.metric, &[]);
    ThresholdResult {
        condition: threshold.text.clone(),
        holds: held == Decision::Holds,
        undecided: held == Decision::Undecided,
        observed,
        reason: reason.map(|reason| wording::conditions::shortcoming(&reason, unit)),
    }
}

/// The result as the input of the metric catalogue.
fn numbers(result: &LoadResult) -> TrialNumbers {
    TrialNumbers {
        seconds: result.seconds,
        goodput_per_s: result.goodput_per_s,
        throughput_per_s: result.throughput_per_s,
        succeeded: result.succeeded,
        failed: result.failed,
        skipped: result.skipped,
        in_flight_mean: result.generator.in_flight_mean,
        times: waggle_spec::Times::from_fn(|kind| percentiles(times(result, kind)?)),
        generator_cpu_us_per_request: result.generator.cpu_us_per_request,
        generator_utilization: result.generator.utilization_percent / 100.0,
        generator_lag_p99_us: result.generator.lag_us_p99,
        // All requests fell due in the measured phase.
        offered_per_s: (result.model == ModelName::Open)
            .then(|| as_f64(result.due) / result.seconds),
        achieved_ratio: (result.due > 0)
            .then(|| result.throughput_per_s * result.seconds / as_f64(result.due)),
        bytes_sent: result.bytes_sent,
        bytes_received: result.bytes_received,
        bytes_sent_per_s: result.bytes_sent_per_s,
        bytes_received_per_s: result.bytes_received_per_s,
        steps: result.steps.iter().map(step).collect(),
        sessions: result.sessions.as_ref().map(|sessions| SessionCounts {
            started: sessions.started,
            completed: sessions.completed,
            failed: sessions.failed,
        }),
        sessions_per_s: result
            .sessions
            .as_ref()
            .map(|sessions| sessions.goodput_per_s),
        ..TrialNumbers::default()
    }
}

/// The times that metrics of a load can be of.
fn times(result: &LoadResult, kind: TimeKind) -> Option<&Times> {
    match kind {
        TimeKind::Response => Some(&result.response_time_us),
        TimeKind::Service => Some(&result.service_time_us),
        TimeKind::Failed => Some(&result.failed_time_us),
        TimeKind::Session => Some(&result.sessions.as_ref()?.duration_us),
        _ => None,
    }
}

fn step(step: &StepResult) -> TrialStep {
    TrialStep {
        name: step.name.clone(),
        goodput_per_s: step.goodput_per_s,
        throughput_per_s: step.throughput_per_s,
        succeeded: step.succeeded,
        failed: step.failed,
        failures: Vec::new(),
        times: StepTimes::from_fn(|kind| match kind {
            TimeKind::Response => percentiles(&step.response_time_us),
            TimeKind::Service => percentiles(&step.service_time_us),
            _ => None,
        }),
        response_without_lag: None,
    }
}

/// `None` without samples.
fn percentiles(times: &Times) -> Option<TrialPercentiles> {
    let percentile = |us: Option<u64>| {
        Some(TrialPercentile {
            us: as_f64(us?),
            thin: None,
        })
    };
    times.mean?;
    Some(TrialPercentiles {
        count: times.count,
        p50: percentile(times.p50),
        p90: percentile(times.p90),
        p95: percentile(times.p95),
        p99: percentile(times.p99),
        p999: percentile(times.p99_9),
        p9999: percentile(times.p99_99),
        max: percentile(times.max),
        mean_us: times.mean,
    })
}

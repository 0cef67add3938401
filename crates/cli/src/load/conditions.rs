//! Whether the conditions on a load hold. Pure: a result in, words out.

use anyhow::{Result, anyhow};
use waggle_analysis::judge;
use waggle_stats::Verdict;
use waggle_study::{Threshold, ThresholdOp};

use super::summary::{LoadResult, SessionsResult, StepResult, ThresholdResult, Times};
use crate::trial::gather::as_f64;

/// Reads what a flag gives, for a load with these steps.
///
/// # Errors
/// One is no condition, or names a number that there is not.
pub(crate) fn conditions(flag: &str, texts: &[String], steps: &[String]) -> Result<Vec<Threshold>> {
    let read = |text: &String| {
        waggle_study::read_threshold(text, steps)
            .map_err(|message| anyhow!("{flag} {text:?}: {message}"))
    };
    texts.iter().map(read).collect()
}

/// Holds a condition against the result. As in studies, conditions count on results only that may be believed.
pub(crate) fn threshold(
    threshold: &Threshold,
    result: &LoadResult,
    verdict: Verdict,
) -> ThresholdResult {
    let observed = number(&threshold.number, result);
    let limit = threshold.value;
    let reason = match observed {
        _ if !verdict.counts_for_thresholds() => {
            Some(format!("does not count: the result is {}", verdict.name()))
        }
        None => Some(format!("there is no number {}", threshold.number.join("."))),
        Some(_) => None,
    };
    let compare = |value: f64| match threshold.op {
        ThresholdOp::Less => value < limit,
        ThresholdOp::LessOrEqual => value <= limit,
        ThresholdOp::Greater => value > limit,
        ThresholdOp::GreaterOrEqual => value >= limit,
        #[expect(
            clippy::float_cmp,
            reason = "equality is asked of counts, which are whole and exact"
        )]
        ThresholdOp::Equal => value == limit,
    };
    ThresholdResult {
        condition: threshold.text.clone(),
        holds: reason.is_none() && observed.is_some_and(compare),
        observed,
        reason,
    }
}

fn number(path: &[String], result: &LoadResult) -> Option<f64> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["response_time", which] => statistic(&result.response_time_us, which),
        ["service_time", which] => statistic(&result.service_time_us, which),
        ["client_wait_time", "mean"] => {
            client_wait(&result.response_time_us, &result.service_time_us)
        }
        ["bytes_received_per_s"] => Some(result.bytes_received_per_s),
        ["bytes_sent_per_s"] => Some(result.bytes_sent_per_s),
        ["bytes_received_per_answer"] if result.throughput_per_s > 0.0 => {
            Some(result.bytes_received_per_s / result.throughput_per_s)
        }
        ["goodput"] => Some(result.rate_per_s),
        ["throughput"] => Some(result.throughput_per_s),
        // All that fell due did so within the measured time.
        ["achieved_share"] if result.due > 0 => {
            Some(result.throughput_per_s * result.seconds / as_f64(result.due))
        }
        ["succeeded"] => Some(as_f64(result.succeeded)),
        ["failed"] => Some(as_f64(result.failed)),
        ["error_share"] => Some(result.error_share),
        ["engine", "busy_share"] => Some(result.engine.busy_percent / 100.0),
        ["engine", "lag_p99"] => Some(result.engine.lag_us_p99),
        ["sessions", which] => of_sessions(result.sessions.as_ref()?, which),
        [step, rest @ ..] => {
            let step = result.steps.iter().find(|one| one.name == *step)?;
            of_step(step, rest)
        }
        [] => None,
    }
}

fn of_sessions(sessions: &SessionsResult, which: &str) -> Option<f64> {
    match which {
        "started" => Some(as_f64(sessions.started)),
        "completed" => Some(as_f64(sessions.completed)),
        "failed" => Some(as_f64(sessions.failed)),
        "goodput" => Some(sessions.rate_per_s),
        _ => None,
    }
}

fn of_step(step: &StepResult, path: &[&str]) -> Option<f64> {
    match path {
        ["response_time", which] => statistic(&step.response_time_us, which),
        ["service_time", which] => statistic(&step.service_time_us, which),
        ["client_wait_time", "mean"] => client_wait(&step.response_time_us, &step.service_time_us),
        ["goodput"] => Some(step.rate_per_s),
        ["throughput"] => Some(step.throughput_per_s),
        ["succeeded"] => Some(as_f64(step.succeeded)),
        ["failed"] => Some(as_f64(step.failed)),
        ["error_share"] => Some(step.error_share),
        _ => None,
    }
}

/// The mean time that a request waited in the client until it was sent; both times are of the same successes.
fn client_wait(response: &Times, service: &Times) -> Option<f64> {
    Some(response.mean? - service.mean?)
}

fn statistic(times: &Times, which: &str) -> Option<f64> {
    let value = match which {
        "p50" => times.p50,
        "p90" => times.p90,
        "p95" => times.p95,
        "p99" => times.p99,
        "p99_9" => times.p99_9,
        "p99_99" => times.p99_99,
        "max" => times.max,
        "mean" => return times.mean,
        _ => return None,
    };
    value.map(as_f64)
}

/// The strictest upper bound on times among the conditions of a search.
pub(crate) fn time_bound_us(conditions: &[Threshold]) -> Option<f64> {
    judge::time_bound_us(conditions.iter().map(|condition| judge::Bound {
        number: &condition.number,
        is_upper: matches!(condition.op, ThresholdOp::Less | ThresholdOp::LessOrEqual),
        value: condition.value,
    }))
}

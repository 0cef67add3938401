//! Whether a load may be believed, and whether the conditions on it hold. Pure: what was watched in, words out.

use anyhow::{Result, anyhow};
use waggle_load::{Model, Rate};
use waggle_report::judge::{self, SECOND_BINS_FROM};
use waggle_results::CountsRow;
use waggle_stats::{Findings, LoadModel, RunningTotals, SteadyBins, TrialFacts, Verdict};
use waggle_study::{Threshold, ThresholdOp};

use super::{
    gather::as_f64,
    job::Planned,
    summary::{LoadResult, SessionsResult, StepResult, ThresholdResult, Times},
    watch::{Bin, Watched},
};

/// Every check that a single load allows.
/// `time_bound_us`: in a search, the strictest upper bound on times that is asked for.
pub(crate) fn findings(
    planned: &Planned,
    watched: &Watched,
    time_bound_us: Option<f64>,
) -> Findings {
    found(planned, watched, &watched.totals_row(), time_bound_us)
}

/// The same in mid-run, as if the load ended now: what waits to be sent would be given up.
pub(crate) fn findings_so_far(planned: &Planned, watched: &Watched) -> Findings {
    let totals = watched.totals_row();
    let waiting = totals.due.saturating_sub(totals.sent + totals.skipped);
    let skipped = totals.skipped + waiting;
    found(planned, watched, &CountsRow { skipped, ..totals }, None)
}

fn found(
    planned: &Planned,
    watched: &Watched,
    totals: &CountsRow,
    time_bound_us: Option<f64>,
) -> Findings {
    let job = &planned.job;
    let offered = offered_per_s(planned);
    let (workers, connections) = workers_and_connections(planned);
    let engine = watched.measured.engine(workers, connections, offered);
    let median = median(&watched.connections_open).unwrap_or(engine.connections_open_min);
    let changes = has_stages(&job.model);
    let series = Series::of(watched, changes);
    let response = &watched.response_time;
    let mut found = waggle_stats::check(&TrialFacts {
        model: match job.model {
            Model::Closed { .. } => LoadModel::Closed,
            Model::Open { .. } => LoadModel::Open,
            Model::Users { .. } => LoadModel::Users,
        },
        failed: unconnected(planned, watched).or_else(|| nothing_succeeded(planned, watched)),
        measured: judge::counts(&watched.measured.counts()),
        totals: judge::counts(totals),
        engine: judge::engine(&engine, median),
        machine: watched
            .cpus
            .map(|told| judge::machine(&told, watched.kept_awake)),
        offered_per_s: offered,
        response_p50_us: (!response.is_empty()).then(|| as_f64(response.value_at_quantile(0.5))),
        service_mean_us: (!watched.service_time_measured.is_empty())
            .then(|| watched.service_time_measured.mean()),
        time_bound_us,
        answers: RunningTotals {
            at_s: &series.at_s,
            asked: &series.due,
            done: &series.done,
        },
        bins: SteadyBins {
            throughput: &series.throughput,
            p50: &series.p50,
            p99: &series.p99,
            cpu: &series.cpu,
            least_change_of_times: 0.0,
        },
        bin_s: series.bin_s,
        bins_from_s: watched.bins_from_s,
        served: &watched.served,
        ..TrialFacts::default()
    });
    if changes {
        found
            .remarks
            .retain(|remark| !remark.starts_with("steadiness was not tested"));
        found
            .remarks
            .push("steadiness was not tested: the load changes by its stages".to_owned());
    }
    found
}

/// Requests per second that should have fallen due all the time; `None` where that is not one number.
pub(crate) fn offered_per_s(planned: &Planned) -> Option<f64> {
    match &planned.job.model {
        // A schedule asks for sessions, of whose requests only the first falls due by it.
        Model::Open { .. } if !planned.step_names.is_empty() => None,
        // A load that ends by its count waits for the last answers while nothing falls due.
        Model::Open {
            rate: Rate::Constant(per_s),
            ..
        } if planned.job.requests_at_most.is_none() => Some(*per_s),
        _ => None,
    }
}

/// Threads that have connections, and connections (or users).
pub(crate) fn workers_and_connections(planned: &Planned) -> (usize, u64) {
    let connections = match planned.job.model {
        Model::Closed { connections, .. } | Model::Open { connections, .. } => connections,
        Model::Users { users, .. } => users,
    };
    (
        planned.job.workers.len().min(connections),
        connections as u64,
    )
}

fn has_stages(model: &Model) -> bool {
    match model {
        Model::Closed { .. } => false,
        Model::Open { rate, .. } => matches!(rate, Rate::Stages(_)),
        Model::Users { stages, .. } => !stages.is_empty(),
    }
}

/// A load that was to end by its count has been left by its server.
fn unconnected(planned: &Planned, watched: &Watched) -> Option<String> {
    let time = watched.unconnected_for?;
    let (sent, asked) = (watched.all.counts().sent, planned.job.requests_at_most?);
    Some(format!(
        "no connection stood for {:.0} s, so the load ended after {sent} of {asked} requests",
        time.as_secs_f64()
    ))
}

/// Without a single success there is nothing to measure.
fn nothing_succeeded(planned: &Planned, watched: &Watched) -> Option<String> {
    let all = watched.all.counts();
    if all.succeeded > 0 {
        return None;
    }
    let totals = watched.totals_row();
    let failures = match all.failures.as_slice() {
        // All of them came in the warm-up.
        [] => &totals.failures,
        failures => failures,
    };
    let kinds: Vec<String> = failures
        .iter()
        .map(|failure| format!("{} × {}", failure.count, failure.kind.replace('_', " ")))
        .collect();
    let why = match kinds.as_slice() {
        [] => String::new(),
        kinds => format!(": {}", kinds.join(", ")),
    };
    let nothing_due = matches!(planned.job.model, Model::Open { .. }) && all.due == 0;
    let what = match (all.sent, watched.totals.sent) {
        (1.., _) => "no request succeeded",
        (0, 1..) if watched.interrupted && watched.answers.is_empty() => {
            "the load was ended in its warm-up, nothing was measured"
        }
        (0, 1..) => "no request was sent in the measured time",
        (0, 0) if nothing_due => "no request fell due",
        (0, 0) => "no request could be sent",
    };
    let hint = if watched.certificate_is_refused() {
        "; so the load was ended early (--cacert FILE names the authority of the server's certificate, -k takes any)"
    } else {
        ""
    };
    Some(format!("{what}{why}{hint}"))
}

fn median(values: &[u64]) -> Option<u64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// What was watched, a series at a time.
#[derive(Default)]
struct Series {
    at_s: Vec<f64>,
    due: Vec<f64>,
    done: Vec<f64>,
    throughput: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    cpu: Vec<f64>,
    bin_s: f64,
}

impl Series {
    /// Nothing of a load that changes: it neither is steady nor should be.
    fn of(watched: &Watched, changes: bool) -> Self {
        if changes {
            return Self::default();
        }
        let seconds: f64 = watched.bins.iter().map(|bin| bin.seconds).sum();
        let bins: &[Bin] = if seconds >= SECOND_BINS_FROM {
            &watched.second_bins
        } else {
            &watched.bins
        };
        let of = |value: fn(&Bin) -> f64| bins.iter().map(value).collect();
        Self {
            at_s: watched.answers.iter().map(|(at, ..)| *at).collect(),
            due: watched
                .answers
                .iter()
                .map(|(_, due, _)| as_f64(*due))
                .collect(),
            done: watched
                .answers
                .iter()
                .map(|(.., done)| as_f64(*done))
                .collect(),
            throughput: of(|bin| bin.throughput),
            p50: of(|bin| bin.p50),
            p99: of(|bin| bin.p99),
            // Whose CPU the server's is, nobody here knows.
            cpu: bins.iter().map(|_| f64::NAN).collect(),
            bin_s: bins.first().map_or(0.0, |bin| bin.seconds),
        }
    }
}

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
        ["goodput"] => Some(step.rate_per_s),
        ["throughput"] => Some(step.throughput_per_s),
        ["succeeded"] => Some(as_f64(step.succeeded)),
        ["failed"] => Some(as_f64(step.failed)),
        ["error_share"] => Some(step.error_share),
        _ => None,
    }
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

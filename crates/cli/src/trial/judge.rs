//! Whether a load may be believed. Pure: what its intervals said in, findings out.

use waggle_analysis::judge::{self, SECOND_BINS_FROM};
use waggle_results::CountsRow;
use waggle_stats::{Findings, LoadCourse, LoadModel, RunningTotals, SteadyBins, TrialFacts};

use super::{
    gather::as_f64,
    so_far::{Bin, SoFar},
};

/// Every check that a single load allows.
/// `time_bound_us`: in a search, the strictest upper bound on times that is asked for.
pub(crate) fn findings(so_far: &SoFar, time_bound_us: Option<f64>) -> Findings {
    found(so_far, &so_far.totals_row(), time_bound_us)
}

/// The same in mid-run, as if the load ended now: what waits to be sent would be given up.
pub(crate) fn findings_so_far(so_far: &SoFar) -> Findings {
    let totals = so_far.totals_row();
    let waiting = totals.due.saturating_sub(totals.sent + totals.skipped);
    let skipped = totals.skipped + waiting;
    found(so_far, &CountsRow { skipped, ..totals }, None)
}

fn found(so_far: &SoFar, totals: &CountsRow, time_bound_us: Option<f64>) -> Findings {
    let shape = &so_far.shape;
    let engine = so_far.engine();
    let median = median(&so_far.connections_open).unwrap_or(engine.connections_open_min);
    let series = Series::of(so_far);
    let response = &so_far.response_time;
    waggle_stats::check(&TrialFacts {
        model: shape.model,
        failed: nothing_succeeded(so_far).or_else(|| so_far.failure.clone()),
        measured: judge::counts(&so_far.measured.counts()),
        totals: judge::counts(totals),
        engine: judge::engine(&engine, median),
        machine: so_far
            .cpus
            .map(|told| judge::machine(&told, so_far.kept_awake)),
        offered_per_s: shape.offered_per_s,
        response_p50_us: (!response.is_empty()).then(|| as_f64(response.value_at_quantile(0.5))),
        service_mean_us: (!so_far.service_time_measured.is_empty())
            .then(|| so_far.service_time_measured.mean()),
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
        bins_from_s: so_far.bins_from_s,
        served: &so_far.served,
        course: match shape.has_stages {
            true => LoadCourse::Stages,
            false => LoadCourse::Constant,
        },
        ..TrialFacts::default()
    })
}

/// Without a single success there is nothing to measure.
fn nothing_succeeded(so_far: &SoFar) -> Option<String> {
    let all = so_far.all.counts();
    if all.succeeded > 0 {
        return None;
    }
    let totals = so_far.totals_row();
    let failures = match all.failures.as_slice() {
        // All of them came in the warm-up.
        [] => &totals.failures,
        failures => failures,
    };
    let kinds: Vec<String> = failures
        .iter()
        .map(|failure| format!("{} × {}", failure.count, failure.kind.in_words()))
        .collect();
    let why = match kinds.as_slice() {
        [] => String::new(),
        kinds => format!(": {}", kinds.join(", ")),
    };
    let nothing_due = so_far.shape.model == LoadModel::Open && all.due == 0;
    let what = match (all.sent, so_far.totals.sent) {
        (1.., _) => "no request succeeded",
        (0, 1..) if so_far.interrupted && so_far.answers.is_empty() => {
            "the load was ended in its warm-up, nothing was measured"
        }
        (0, 1..) => "no request was sent in the measured time",
        (0, 0) if nothing_due => "no request fell due",
        (0, 0) => "no request could be sent",
    };
    let hint = if so_far.certificate_is_refused() {
        so_far.shape.certificate_hint
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

/// What was seen, a series at a time.
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
    fn of(so_far: &SoFar) -> Self {
        let seconds: f64 = so_far.bins.iter().map(|bin| bin.seconds).sum();
        let bins: &[Bin] = if seconds >= SECOND_BINS_FROM {
            &so_far.second_bins
        } else {
            &so_far.bins
        };
        let of = |value: fn(&Bin) -> f64| bins.iter().map(value).collect();
        Self {
            at_s: so_far.answers.iter().map(|(at, ..)| *at).collect(),
            due: so_far
                .answers
                .iter()
                .map(|(_, due, _)| as_f64(*due))
                .collect(),
            done: so_far
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

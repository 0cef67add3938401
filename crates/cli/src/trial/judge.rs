//! Checks of a load: its intervals in, findings out. Pure.

use waggle_analysis::judge::{self, LoadFacts};
use waggle_results::CountsRow;
use waggle_spec::TimeKind;
use waggle_stats::{Findings, LoadModel};

use super::so_far::SoFar;

/// All checks that a single load allows. After the load, `waggle_analysis::findings` computes the same from its results.
pub(crate) fn findings(so_far: &SoFar) -> Findings {
    collect_findings(so_far, &so_far.totals_row())
}

/// The same during the load, as if it ended now: requests that wait to be sent count as skipped.
pub(crate) fn findings_so_far(so_far: &SoFar) -> Findings {
    let totals = so_far.totals_row();
    let waiting = totals.due.saturating_sub(totals.sent + totals.skipped);
    let skipped = totals.skipped + waiting;
    collect_findings(so_far, &CountsRow { skipped, ..totals })
}

fn collect_findings(so_far: &SoFar, totals: &CountsRow) -> Findings {
    let shape = &so_far.shape;
    let facts = LoadFacts {
        model: shape.model,
        failed: nothing_succeeded(so_far).or_else(|| so_far.failure.clone()),
        measured: &so_far.measured.counts(),
        totals,
        engine: Some(&so_far.engine()),
        machine: so_far.cpus,
        cpus: so_far.cpu_count,
        kept_awake: so_far.idle_poll,
        offered_per_s: shape.generator.offered_per_s,
        response_time: &so_far.all.times(TimeKind::Response),
        service_time: &so_far.measured.times(TimeKind::Service),
        time_bound_us: None,
        has_stages: shape.has_stages,
    };
    judge::load(&facts, &so_far.course)
}

/// Why the load failed if no request succeeded.
pub(crate) fn nothing_succeeded(so_far: &SoFar) -> Option<String> {
    let all = so_far.all.counts();
    if all.succeeded > 0 {
        return None;
    }
    let totals = so_far.totals_row();
    let all_kinds = |row: &CountsRow| [&row.failures[..], &row.other_failures].concat();
    let failures = match all_kinds(&all) {
        // All failures are of the warm-up.
        failures if failures.is_empty() => all_kinds(&totals),
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
    let what = match (all.sent, so_far.whole.counts.sent) {
        (1.., _) => "no request succeeded",
        (0, 1..) if so_far.interrupted && so_far.measured.counts().seconds == 0.0 => {
            "the load was ended in its warm-up, nothing was measured"
        }
        (0, 1..) => "no request was sent in the measured time",
        (0, 0) if nothing_due => "no request fell due",
        (0, 0) => "no request could be sent",
    };
    let hint = so_far.tls_obstacle().map_or("", so_far.shape.tls_hint);
    Some(format!("{what}{why}{hint}"))
}

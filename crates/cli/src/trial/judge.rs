//! Checks of a load under way: its intervals in, findings out. Pure.

use waggle_analysis::judge::{self, LoadFacts};
use waggle_results::CountsRow;
use waggle_runner::counts::TlsObstacle;
use waggle_spec::TimeKind;
use waggle_stats::{Findings, LoadModel};

use super::{shape::Shape, so_far::SoFar};

/// All checks that a single load allows, as if it ended now: requests that wait to be sent count as skipped.
pub(crate) fn findings_so_far(so_far: &SoFar) -> Findings {
    let sent = so_far.totals_row();
    let waiting = sent.due.saturating_sub(sent.sent + sent.skipped);
    let totals = &CountsRow {
        skipped: sent.skipped + waiting,
        ..sent
    };
    let fruitless = Fruitless {
        answered: &so_far.all.counts(),
        totals,
        obstacle: so_far.tls_obstacle(),
        was_ended_in_warm_up: false,
    };
    let shape = &so_far.shape;
    let facts = LoadFacts {
        model: shape.model,
        failed: fruitless.reason(shape),
        measured: &so_far.measured.counts(),
        totals,
        engine: Some(&so_far.engine()),
        is_system_narrow: so_far.whole.counts.narrow_connections > 0,
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

/// What says why no request succeeded.
#[derive(Debug)]
pub(crate) struct Fruitless<'a> {
    /// From the start of the measured phase to the end.
    pub(crate) answered: &'a CountsRow,
    /// The whole load.
    pub(crate) totals: &'a CountsRow,
    pub(crate) obstacle: Option<TlsObstacle>,
    /// By the user.
    pub(crate) was_ended_in_warm_up: bool,
}

impl Fruitless<'_> {
    /// `None`: a request succeeded.
    pub(crate) fn reason(&self, shape: &Shape) -> Option<String> {
        if self.answered.succeeded > 0 {
            return None;
        }
        let all_kinds = |row: &CountsRow| [&row.failures[..], &row.other_failures].concat();
        let failures = match all_kinds(self.answered) {
            // All failures are of the warm-up.
            failures if failures.is_empty() => all_kinds(self.totals),
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
        let nothing_due = shape.model == LoadModel::Open && self.answered.due == 0;
        let what = match (self.answered.sent, self.totals.sent) {
            (1.., _) => "no request succeeded",
            (0, 1..) if self.was_ended_in_warm_up => {
                "the load was ended in its warm-up, nothing was measured"
            }
            (0, 1..) => "no request was sent in the measured time",
            (0, 0) if nothing_due => "no request fell due",
            (0, 0) => "no request could be sent",
        };
        let hint = self.obstacle.map_or("", shape.tls_hint);
        Some(format!("{what}{why}{hint}"))
    }
}

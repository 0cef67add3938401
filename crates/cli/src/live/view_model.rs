//! The values of a load that the live view shows, computed from intervals and drawn by `draw`. Does not use the terminal.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use waggle_load::{Interval, StepCounts};
use waggle_report::wording::{causes, findings};
use waggle_results::{CountsRow, FailureCount};
use waggle_spec::TimeKind;
use waggle_stats::{LoadModel, Verdict};

use super::{
    history::{History, Slice},
    judge_pace::JudgePace,
    spectrum::Spectrum,
};
use crate::trial::{
    aggregate::{as_f64, histogram, quantile},
    judge,
    phase::Phase,
    shape::Shape,
    so_far::{SoFar, ratio},
    statuses::statuses,
};

/// Maximum number of steps shown.
const STEPS_MAX: usize = 64;
/// Percentiles of the response time in figures.
pub(super) const FIGURES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("max", 1.0),
];

/// Title and length of a load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Title {
    /// `GET http://127.0.0.1:8080/hello`.
    pub(crate) request: String,
    /// `closed load: 4 connections, for 10 s`.
    pub(crate) settings: String,
    /// Warm-up and measured phase; `None`: not known in advance.
    pub(crate) length: Option<Duration>,
}

/// One kind of failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LiveFailure {
    pub(super) kind: String,
    pub(super) count: u64,
    /// Not of a connection or a session.
    pub(super) is_of_request: bool,
}

/// The state of a running load.
#[derive(Debug, Clone, Default)]
pub(crate) struct ViewModel {
    pub(super) title: Title,
    pub(super) is_open: bool,
    pub(super) requests_at_most: Option<u64>,
    pub(super) phase: Option<Phase>,
    /// End of the last interval.
    pub(super) seen_until: Duration,
    pub(super) history: History,
    /// From the start of the measured phase.
    pub(super) spectrum: Spectrum,
    pub(super) now: Figures,
    pub(super) overall: Figures,
    pub(super) connections_asked: u64,
    pub(super) connections_open: u64,
    pub(super) in_flight: u64,
    /// Sent since the start, warm-up included.
    pub(super) sent: u64,
    pub(super) failures: Vec<LiveFailure>,
    pub(super) statuses: Vec<(String, u64)>,
    pub(super) steps: Vec<Step>,
    pub(super) verdict: Option<InterimVerdict>,
}

/// Figures of an interval, or of all intervals from the start of the measured phase.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    pub(super) seconds: f64,
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) due_unsent: u64,
    pub(super) rate_per_s: f64,
    pub(super) bytes_per_s: f64,
    /// In µs, in the order of [`FIGURES`].
    pub(super) response_us: [Option<u64>; 5],
    /// CPU utilization of the busiest worker thread, 0 to 1.
    pub(super) busy: f64,
    pub(super) cpu_us_per_request: f64,
    pub(super) lag_p99_us: f64,
}

/// One step of a scenario.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) counts: StepCounts,
    pub(super) rate_now_per_s: f64,
    pub(super) rate_per_s: f64,
    pub(super) p50_us: Option<u64>,
    pub(super) p99_us: Option<u64>,
    response_time: Histogram<u64>,
}

impl Step {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            counts: StepCounts::default(),
            rate_now_per_s: 0.0,
            rate_per_s: 0.0,
            p50_us: None,
            p99_us: None,
            response_time: histogram(),
        }
    }
}

/// The verdict of the load if it ended now.
#[derive(Debug, Clone)]
pub(super) struct InterimVerdict {
    pub(super) verdict: Verdict,
    pub(super) reasons: Vec<String>,
    pub(super) remarks: Vec<String>,
}

impl ViewModel {
    /// Before the first interval.
    pub(crate) fn new(title: Title, shape: &Shape) -> Self {
        let steps = shape.steps.iter().take(STEPS_MAX);
        Self {
            title,
            is_open: shape.model == LoadModel::Open,
            requests_at_most: shape.requests_at_most,
            connections_asked: shape.generator.connections,
            steps: steps.map(|name| Step::new(name)).collect(),
            ..Self::default()
        }
    }

    /// Adds an interval that only the current figures include, such as one of the recovery.
    pub(crate) fn add_uncounted(&mut self, interval: &Interval, phase: Phase) {
        let counts = &interval.counts;
        self.history.add(Slice::from_interval(interval, phase));
        self.phase = Some(phase);
        self.seen_until = interval.start + interval.length;
        self.now = now(interval);
        self.connections_open = counts.connections_open;
        self.in_flight = counts.in_flight;
    }

    /// Adds an interval that `so_far` includes already. After the warm-up the load is judged, at the pace.
    pub(crate) fn follow(
        &mut self,
        interval: &Interval,
        phase: Phase,
        so_far: &SoFar,
        pace: &mut JudgePace,
    ) {
        self.add(interval, phase, so_far);
        if phase != Phase::WarmUp {
            pace.judge(|| self.judge(so_far));
        }
    }

    /// Adds an interval that `so_far` includes already.
    pub(crate) fn add(&mut self, interval: &Interval, phase: Phase, so_far: &SoFar) {
        self.add_uncounted(interval, phase);
        if phase != Phase::WarmUp
            && let Some(slice) = self.history.latest_slice()
        {
            self.spectrum.add(&slice.response_time);
        }
        self.sent = so_far.whole.counts.sent;
        let row = if phase == Phase::WarmUp {
            so_far.totals_row()
        } else {
            so_far.all.counts()
        };
        self.failures = failures(&row);
        self.statuses = statuses(&so_far.shape, &row, &so_far.all.steps())
            .into_iter()
            .collect();
        self.overall = overall(&row, so_far);
        self.add_steps(interval, phase);
    }

    fn add_steps(&mut self, interval: &Interval, phase: Phase) {
        for (step, seen) in self.steps.iter_mut().zip(&interval.steps) {
            let per_s = |count: u64, seconds: f64| ratio(as_f64(count), seconds);
            let seconds = interval.length.as_secs_f64();
            step.rate_now_per_s = per_s(seen.counts.succeeded, seconds);
            if phase == Phase::WarmUp {
                continue;
            }
            step.counts.join(&seen.counts);
            step.response_time
                .add(&seen.times[TimeKind::Response])
                .expect("all histograms have the same bounds");
            step.rate_per_s = per_s(step.counts.succeeded, self.overall.seconds);
            step.p50_us = quantile(&step.response_time, 0.5);
            step.p99_us = quantile(&step.response_time, 0.99);
        }
    }

    /// Updates the verdict.
    pub(crate) fn judge(&mut self, so_far: &SoFar) {
        let findings = judge::findings_so_far(so_far);
        let reasons = findings.reasons.iter().map(findings::reason);
        let causes = findings.causes.iter();
        let causes = causes.map(|cause| causes::sentence(*cause, so_far.place));
        self.verdict = Some(InterimVerdict {
            verdict: waggle_stats::verdict_of(&findings.reasons),
            reasons: reasons.chain(causes).collect(),
            remarks: findings.remarks.iter().map(findings::sentence).collect(),
        });
    }

    /// Progress from 0 to 1 at a time since the start; `None` if the end is not known.
    pub(super) fn progress_share(&self, elapsed: Duration) -> Option<f64> {
        let by_time = self
            .title
            .length
            .map(|length| ratio(elapsed.as_secs_f64(), length.as_secs_f64()));
        let by_count = self
            .requests_at_most
            .map(|most| ratio(as_f64(self.sent), as_f64(most)));
        let done = match (by_time, by_count) {
            (Some(time), Some(count)) => time.max(count),
            (time, count) => time.or(count)?,
        };
        Some(done.min(1.0))
    }
}

fn now(interval: &Interval) -> Figures {
    let counts = &interval.counts;
    let seconds = interval.length.as_secs_f64();
    Figures {
        seconds,
        succeeded: counts.succeeded,
        failed: counts.failed,
        due_unsent: counts.skipped,
        rate_per_s: ratio(as_f64(counts.succeeded), seconds),
        bytes_per_s: ratio(as_f64(counts.bytes_received), seconds),
        response_us: FIGURES
            .map(|(_, percentile)| quantile(&interval.times[TimeKind::Response], percentile)),
        busy: ratio(counts.engine_cpu_busiest.as_secs_f64(), seconds),
        cpu_us_per_request: ratio(counts.engine_cpu.as_secs_f64() * 1e6, as_f64(counts.sent)),
        lag_p99_us: quantile(&interval.times[TimeKind::Lag], 0.99).map_or(0.0, as_f64),
    }
}

/// Rates and figures of the load generator are those of the measured phase, as in the result.
fn overall(row: &CountsRow, so_far: &SoFar) -> Figures {
    let engine = so_far.engine();
    let measured = so_far.measured.counts();
    Figures {
        seconds: measured.seconds,
        succeeded: row.succeeded,
        failed: row.failed,
        due_unsent: row.skipped,
        rate_per_s: ratio(as_f64(measured.succeeded), measured.seconds),
        bytes_per_s: ratio(as_f64(measured.bytes_received), measured.seconds),
        response_us: FIGURES
            .map(|(_, percentile)| quantile(&so_far.all.times(TimeKind::Response), percentile)),
        busy: engine.utilization,
        cpu_us_per_request: engine.cpu_us_per_request,
        lag_p99_us: engine.lag_p99_us,
    }
}

/// The most frequent kind first.
fn failures(row: &CountsRow) -> Vec<LiveFailure> {
    let named = |failure: &FailureCount, is_of_request| LiveFailure {
        kind: failure.kind.in_words(),
        count: failure.count,
        is_of_request,
    };
    let of_requests = row.failures.iter().map(|failure| named(failure, true));
    let others = row.other_failures.iter();
    let others = others.map(|failure| named(failure, false));
    let mut failures: Vec<LiveFailure> = of_requests.chain(others).collect();
    failures.sort_by(|entry, other| {
        let by_count = other.count.cmp(&entry.count);
        by_count.then_with(|| entry.kind.cmp(&other.kind))
    });
    failures
}

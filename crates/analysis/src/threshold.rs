//! The study's conditions, held against every cell's numbers.

use waggle_results::{LedgerInfo, ThresholdInfo};
use waggle_stats::{Estimate, Verdict};

use crate::{CellModel, Distribution, as_f64};
use crate::{
    text::{self, Unit},
    words,
};

/// One condition of the study over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdOutcome {
    /// As written in the study.
    pub text: String,
    /// In every cell.
    pub holds: bool,
    pub cells: Vec<ThresholdCell>,
}

/// One condition in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdCell {
    pub cell: u32,
    pub holds: bool,
    /// The number with its unit, where there is one.
    pub observed: Option<String>,
    /// Why it fails where the number alone does not say so.
    pub reason: Option<String>,
}

pub(crate) fn outcome(threshold: &ThresholdInfo, cells: &[CellModel]) -> ThresholdOutcome {
    let cells: Vec<ThresholdCell> = cells.iter().map(|cell| in_cell(threshold, cell)).collect();
    ThresholdOutcome {
        text: threshold.text.clone(),
        holds: !cells.is_empty() && cells.iter().all(|cell| cell.holds),
        cells,
    }
}

pub(crate) fn in_cell(threshold: &ThresholdInfo, cell: &CellModel) -> ThresholdCell {
    let number = value(&threshold.number, cell);
    let observed = number.map(|value| kind(&threshold.number).show(value));
    let counts = |verdict: Verdict| {
        if is_recovery(&threshold.number) {
            verdict.counts_for_recovery()
        } else {
            words::may_be_believed(verdict)
        }
    };
    let reason = match (cell.verdict, number) {
        (None, _) if cell.is_searched => Some("no level of it holds".to_owned()),
        (None, _) => Some("no trial of it has run".to_owned()),
        (Some(verdict), _) if !counts(verdict) => Some(format!(
            "does not count: the cell is {}",
            words::verdict(verdict)
        )),
        (Some(_), None) if is_recovery(&threshold.number) => Some(not_recovered(cell)),
        (Some(_), None) => Some(format!(
            "the run has no number {}",
            threshold.number.join(".")
        )),
        _ => None,
    };
    let holds = reason.is_none()
        && number.is_some_and(|number| threshold.op.holds(number, threshold.value));
    ThresholdCell {
        cell: cell.cell,
        holds,
        observed,
        reason,
    }
}

/// Whether a condition is on the time after the measured phase.
pub fn is_recovery(number: &[String]) -> bool {
    number == ["recovery"]
}

/// Why a cell has no time of recovery.
fn not_recovered(cell: &CellModel) -> String {
    match &cell.recovery {
        Some(recovery) => format!(
            "{} of {} trials did not recover within {}",
            recovery.trials.len() - recovery.recovered,
            recovery.trials.len(),
            text::set_time_s(recovery.not_within_s().unwrap_or(recovery.asked.at_most_s))
        ),
        None => "no trial of it came to the end of its recovery".to_owned(),
    }
}

/// What a number is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Count,
    Share,
    Rate,
    Time,
    /// CPUs, shown as a share of one.
    Cpus,
}

impl Kind {
    /// A number of this kind as it is read.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Count => text::three_or_whole(value),
            Self::Share | Self::Cpus => text::share(value),
            Self::Rate => format!("{}/s", Unit::Plain.show(value)),
            Self::Time => Unit::Time.show(value),
        }
    }

    /// As the page's data name it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Share | Self::Cpus => "share",
            Self::Rate => "rate",
            Self::Count => "count",
        }
    }
}

/// What the number of a path is counted in.
pub(crate) fn kind(path: &[String]) -> Kind {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["components", _, "cpu"] => Kind::Cpus,
        ["watches", ..] => Kind::Count,
        ["recovery"] => Kind::Time,
        ["delivery", "delay", _]
        | ["delivery", _, "delay", _]
        | ["engine", "lag_p99"]
        | [_, "response_time" | "service_time", _] => Kind::Time,
        [
            _,
            "busy_share" | "missing_share" | "error_share" | "achieved_share",
        ]
        | ["delivery", _, "missing_share"] => Kind::Share,
        [_, "goodput" | "throughput"] => Kind::Rate,
        _ => Kind::Count,
    }
}

/// The same as a word of the page's data: `time`, `share`, `rate` or `count`.
pub fn kind_of(path: &[String]) -> &'static str {
    kind(path).word()
}

/// The number a path names in a cell, where it has one.
pub(crate) fn value(path: &[String], cell: &CellModel) -> Option<f64> {
    number(path, cell).map(|number| number.point())
}

/// What a path names: a number over trials with its interval, or one that has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Estimate(Estimate),
    Exact(f64),
}

impl Number {
    pub(crate) fn point(self) -> f64 {
        match self {
            Self::Estimate(estimate) => estimate.point,
            Self::Exact(value) => value,
        }
    }
}

/// The number a path names in a cell, in the unit thresholds are written in. The names are those that the study's
/// check lets through.
pub(crate) fn number(path: &[String], cell: &CellModel) -> Option<Number> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    if let Some(of_step) = of_step(&path, cell) {
        return of_step;
    }
    let exact = |value: f64| Some(Number::Exact(value));
    match path.as_slice() {
        ["delivery", "delay", which] => statistic(&cell.delay, which),
        ["delivery", place, "delay", which] => {
            let before = cell.on_the_way.iter().find(|before| before.name == *place);
            // The place that is not on the way is the one where the way ends.
            statistic(before.map_or(&cell.delay, |before| &before.delay), which)
        }
        ["delivery", "backlog"] => exact(cell.backlog_max?),
        ["delivery", which] => account(cell.ledger.as_ref()?, which),
        ["delivery", place, which] => {
            let before = cell.on_the_way.iter().find(|before| before.name == *place);
            let there = before.map(|before| &before.ledger);
            account(there.or(cell.ledger.as_ref())?, which)
        }
        ["components", name, "cpu"] => {
            let mut all = cell.whole_component_cores.iter();
            let (_, cores) = all.find(|(component, _)| component == name)?;
            Some(Number::Estimate(*cores))
        }
        ["watches", name, which] => watched(cell, name, which),
        ["recovery"] => cell.recovery.as_ref()?.after.map(Number::Estimate),
        ["engine", "busy_share"] => exact(cell.engine_busy_share?),
        ["sessions", which] => sessions(cell, which),
        ["engine", "lag_p99"] => exact(cell.engine_lag_p99_us?),
        [_, "response_time", which] => statistic(&cell.response, which),
        [_, "service_time", which] => statistic(&cell.service, which),
        [_, "goodput"] => cell.goodput.map(Number::Estimate),
        [_, "throughput"] => cell.throughput.map(Number::Estimate),
        [_, "achieved_share"] => exact(cell.achieved_share?),
        [_, "succeeded"] => cell.succeeded_per_trial.map(Number::Estimate),
        [_, "failed"] if cell.counted > 0 => exact(as_f64(cell.failed)),
        [_, "error_share"] => exact(cell.error_share?),
        _ => None,
    }
}

/// The same of a step, where the path names one; the study's check sees to it that nothing else has its name.
fn of_step(path: &[&str], cell: &CellModel) -> Option<Option<Number>> {
    let (name, rest) = path.split_first()?;
    let step = cell.steps.iter().find(|step| step.name == *name)?;
    Some(match rest {
        ["response_time", which] => statistic(&step.response, which),
        ["service_time", which] => statistic(&step.service, which),
        ["goodput"] => step.goodput.map(Number::Estimate),
        ["throughput"] => step.throughput.map(Number::Estimate),
        ["succeeded"] if cell.counted > 0 => {
            let trials = u32::try_from(cell.counted).unwrap_or(u32::MAX);
            Some(Number::Exact(as_f64(step.succeeded) / f64::from(trials)))
        }
        ["failed"] => Some(Number::Exact(as_f64(step.failed))),
        ["error_share"] => step.error_share.map(Number::Exact),
        _ => None,
    })
}

fn sessions(cell: &CellModel, which: &str) -> Option<Number> {
    let sessions = cell.sessions.as_ref()?;
    let count = match which {
        "started" => sessions.counts.started,
        "completed" => sessions.counts.completed,
        "failed" => sessions.counts.failed,
        "goodput" => return sessions.goodput.map(Number::Estimate),
        _ => return None,
    };
    Some(Number::Exact(as_f64(count)))
}

fn watched(cell: &CellModel, name: &str, which: &str) -> Option<Number> {
    let watch = cell.watches.iter().find(|watch| watch.name == name)?;
    match which {
        "mean" => watch.mean.map(Number::Estimate),
        "max" => watch.max.map(Number::Exact),
        "end" => Some(Number::Exact(watch.end)),
        _ => None,
    }
}

fn statistic(times: &Distribution, which: &str) -> Option<Number> {
    let estimate = match which {
        "p50" => &times.p50.estimate,
        "p90" => &times.p90.estimate,
        "p95" => &times.p95.estimate,
        "p99" => &times.p99.estimate,
        "p99_9" => &times.p999.estimate,
        "p99_99" => &times.p9999.estimate,
        "max" => &times.max.estimate,
        "mean" => &times.mean,
        _ => return None,
    };
    estimate.map(Number::Estimate)
}

fn account(ledger: &LedgerInfo, which: &str) -> Option<Number> {
    let count = match which {
        "missing_share" if ledger.accepted > 0 => {
            return Some(Number::Exact(
                as_f64(ledger.missing) / as_f64(ledger.accepted),
            ));
        }
        "sent" => ledger.sent,
        "accepted" => ledger.accepted,
        "rejected" => ledger.rejected,
        "unknown" => ledger.unknown,
        "delivered" => ledger.delivered,
        "missing" => ledger.missing,
        "rejected_delivered" => ledger.rejected_delivered,
        "unknown_delivered" => ledger.unknown_delivered,
        "unexpected" => ledger.unexpected,
        "duplicates" => ledger.duplicates,
        "late" => ledger.late,
        "out_of_order" => ledger.out_of_order,
        _ => return None,
    };
    Some(Number::Exact(as_f64(count)))
}

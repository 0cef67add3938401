//! The study's conditions, held against every cell's numbers.

use waggle_results::ThresholdInfo;
use waggle_stats::{Estimate, Verdict};

use super::{CellModel, Distribution, as_f64};
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
    let number = number(&threshold.number, cell);
    let observed = number.map(|(value, kind)| show(value, kind));
    let reason = match (cell.verdict, number) {
        (None, _) if cell.is_searched => Some("no level of it holds".to_owned()),
        (None, _) => Some("no trial of it has run".to_owned()),
        (Some(verdict), _) if !words::may_be_believed(verdict) => Some(format!(
            "does not count: the cell is {}",
            words::verdict(verdict)
        )),
        (Some(_), None) => Some(format!(
            "the run has no number {}",
            threshold.number.join(".")
        )),
        (Some(Verdict::Valid | Verdict::Noisy), Some((value, _)))
            if compare(value, &threshold.op, threshold.value).is_none() =>
        {
            Some(format!("{} is not a comparison", threshold.op))
        }
        _ => None,
    };
    let holds = reason.is_none()
        && number
            .and_then(|(value, _)| compare(value, &threshold.op, threshold.value))
            .unwrap_or(false);
    ThresholdCell {
        cell: cell.cell,
        holds,
        observed,
        reason,
    }
}

/// `None`: no such comparison.
fn compare(value: f64, op: &str, limit: f64) -> Option<bool> {
    match op {
        "<" => Some(value < limit),
        "<=" => Some(value <= limit),
        ">" => Some(value > limit),
        ">=" => Some(value >= limit),
        #[expect(
            clippy::float_cmp,
            reason = "equality is asked of counts, which are whole and exact"
        )]
        "==" => Some(value == limit),
        _ => None,
    }
}

/// What a number is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Count,
    Share,
    Rate,
    Time,
}

fn show(value: f64, kind: Kind) -> String {
    match kind {
        Kind::Count => text::three_or_whole(value),
        Kind::Share => text::share(value),
        Kind::Rate => format!("{}/s", Unit::Plain.show(value)),
        Kind::Time => Unit::Time.show(value),
    }
}

/// What the number of a path is counted in: `time`, `share`, `rate` or `count`.
pub(crate) fn kind_of(path: &[String]) -> &'static str {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["delivery", "delay", _]
        | ["engine", "lag_p99"]
        | [_, "response_time" | "service_time", _] => "time",
        [
            _,
            "busy_share" | "missing_share" | "error_share" | "achieved_share",
        ] => "share",
        [_, "goodput" | "throughput"] => "rate",
        _ => "count",
    }
}

/// The number a path names in a cell, where it has one.
pub(crate) fn value(path: &[String], cell: &CellModel) -> Option<f64> {
    number(path, cell).map(|(value, _)| value)
}

/// The number a path names in a cell, in the unit thresholds are written in. The names are those that the study's
/// check lets through.
fn number(path: &[String], cell: &CellModel) -> Option<(f64, Kind)> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    if let Some(of_step) = of_step(&path, cell) {
        return of_step;
    }
    let time = |times: &Distribution, which: &str| statistic(times, which).map(in_time);
    match path.as_slice() {
        ["delivery", "delay", which] => time(&cell.delay, which),
        ["delivery", "missing_share"] => {
            let ledger = cell.ledger.as_ref().filter(|ledger| ledger.accepted > 0)?;
            Some((
                as_f64(ledger.missing) / as_f64(ledger.accepted),
                Kind::Share,
            ))
        }
        ["delivery", "backlog"] => Some((cell.backlog_max?, Kind::Count)),
        ["delivery", count] => Some((as_f64(ledger(cell, count)?), Kind::Count)),
        ["engine", "busy_share"] => Some((cell.engine_busy_share?, Kind::Share)),
        ["sessions", which] => sessions(cell, which),
        ["engine", "lag_p99"] => Some((cell.engine_lag_p99_us?, Kind::Time)),
        [_, "response_time", which] => time(&cell.response, which),
        [_, "service_time", which] => time(&cell.service, which),
        [_, "goodput"] => Some((cell.goodput?.point, Kind::Rate)),
        [_, "throughput"] => Some((cell.throughput?.point, Kind::Rate)),
        [_, "achieved_share"] => Some((cell.achieved_share?, Kind::Share)),
        [_, "failed"] if cell.counted > 0 => Some((as_f64(cell.failed), Kind::Count)),
        [_, "error_share"] => Some((cell.error_share?, Kind::Share)),
        _ => None,
    }
}

/// The same of a step, where the path names one; the study's check sees to it that nothing else has its name.
fn of_step(path: &[&str], cell: &CellModel) -> Option<Option<(f64, Kind)>> {
    let (name, rest) = path.split_first()?;
    let step = cell.steps.iter().find(|step| step.name == *name)?;
    let rate = |estimate: Option<Estimate>| Some((estimate?.point, Kind::Rate));
    Some(match rest {
        ["response_time", which] => statistic(&step.response, which).map(in_time),
        ["service_time", which] => statistic(&step.service, which).map(in_time),
        ["goodput"] => rate(step.goodput),
        ["throughput"] => rate(step.throughput),
        ["failed"] => Some((as_f64(step.failed), Kind::Count)),
        ["error_share"] => step.error_share.map(|share| (share, Kind::Share)),
        _ => None,
    })
}

fn in_time(value: f64) -> (f64, Kind) {
    (value, Kind::Time)
}

fn sessions(cell: &CellModel, which: &str) -> Option<(f64, Kind)> {
    let sessions = cell.sessions.as_ref()?;
    let count = match which {
        "started" => sessions.counts.started,
        "completed" => sessions.counts.completed,
        "failed" => sessions.counts.failed,
        "goodput" => return Some((sessions.goodput?.point, Kind::Rate)),
        _ => return None,
    };
    Some((as_f64(count), Kind::Count))
}

fn statistic(times: &Distribution, which: &str) -> Option<f64> {
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
    estimate.as_ref().map(|estimate| estimate.point)
}

fn ledger(cell: &CellModel, count: &str) -> Option<u64> {
    let ledger = cell.ledger.as_ref()?;
    Some(match count {
        "sent" => ledger.sent,
        "accepted" => ledger.accepted,
        "rejected" => ledger.rejected,
        "unknown" => ledger.unknown,
        "delivered" => ledger.delivered,
        "missing" => ledger.missing,
        "unexpected" => ledger.unexpected,
        "duplicates" => ledger.duplicates,
        "late" => ledger.late,
        "out_of_order" => ledger.out_of_order,
        _ => return None,
    })
}

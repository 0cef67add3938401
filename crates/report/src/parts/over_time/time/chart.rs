//! Time series of each trial.

use serde::Serialize;

use crate::{
    layout::chart_numbers::{instant, line, round_to},
    words::labels,
};

use waggle_analysis::{NamedSeries, SeriesPoint, TrialFaults, TrialModel};

#[derive(Serialize)]
pub(crate) struct Trial<'a> {
    cell: u32,
    repetition: u32,
    position: u32,
    verdict: &'static str,
    phases: Vec<(&'static str, f64, f64)>,
    recovered: Option<f64>,
    points: Vec<Point>,
    cpu: Vec<Line<'a>>,
    backlog: Vec<[f64; 2]>,
    before: Vec<Line<'a>>,
    metrics: Vec<Line<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<Vec<Mark>>,
}

/// Start, end, succeeded and failed per second, p50 and p99 in µs, in flight.
type Point = (f64, f64, f64, f64, Option<f64>, Option<f64>, f64);
/// Name and points.
type Line<'a> = (&'a str, Vec<[f64; 2]>);
/// What was done to what, when, and when all was ready again: in seconds since the start of the load.
type Mark = (String, f64, Option<f64>);

impl<'a> Trial<'a> {
    pub(crate) fn new(trial: &'a TrialModel) -> Self {
        let phases = trial.info.phases.iter().map(|phase| {
            (
                labels::phase(phase.phase),
                instant(phase.start_s),
                instant(phase.end_s),
            )
        });
        let recovered = trial.recovery.and_then(|recovery| recovery.at_s());
        let series = &trial.series;
        let cpu = series.cpu.iter();
        Self {
            cell: trial.info.key.cell,
            repetition: trial.info.key.repetition,
            position: trial.info.position,
            verdict: labels::verdict(trial.verdict),
            phases: phases.collect(),
            recovered: recovered.map(instant),
            points: series.points.iter().map(point).collect(),
            cpu: cpu
                .map(|curve| (curve.component.as_str(), line(&curve.points)))
                .collect(),
            backlog: line(&series.backlog),
            before: named_lines(&series.intermediate_probes),
            metrics: named_lines(&series.metrics),
            faults: trial.faults.as_ref().map(marks),
        }
    }
}

fn point(point: &SeriesPoint) -> Point {
    (
        instant(point.start_s),
        instant(point.end_s),
        round_to(point.succeeded_per_s),
        round_to(point.failed_per_s),
        point.p50_us,
        point.p99_us,
        point.in_flight,
    )
}

fn named_lines(all: &[NamedSeries]) -> Vec<Line<'_>> {
    all.iter()
        .map(|series| (series.name.as_str(), line(&series.points)))
        .collect()
}

fn marks(faults: &TrialFaults) -> Vec<Mark> {
    let time = |seconds: f64| instant(faults.measured_from_s + seconds);
    let each = faults.each.iter();
    let each = each.map(|fault| {
        let what = labels::fault(fault.kind.name(), &fault.name());
        (what, time(fault.begun_s), fault.ready_s.map(time))
    });
    each.collect()
}

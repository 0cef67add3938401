//! Time series of each trial.

use serde::Serialize;

use crate::{
    layout::chart_numbers::{instant, significant},
    parts::reliability::trial_pages::section::anchor,
    words::labels,
};

use waggle_analysis::{NamedSeries, SeriesPoint, TrialFaults, TrialModel};

#[derive(Serialize)]
pub(crate) struct Trial<'a> {
    cell: u32,
    repetition: u32,
    position: u32,
    /// Where its page is.
    page: String,
    verdict: &'static str,
    phases: Vec<(&'static str, f64, f64)>,
    recovered: Option<f64>,
    points: Points,
    /// Instants that lines share: the first one, then the time to the next, in ms.
    axes: Vec<Vec<i64>>,
    cpu: Vec<Line<'a>>,
    backlog: Vec<Line<'a>>,
    before: Vec<Line<'a>>,
    metrics: Vec<Line<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<Vec<Mark>>,
}

/// A column for each number of a stretch of load: equal ones, one after the other, take next to no room once they are compressed.
#[derive(Serialize)]
struct Points {
    /// As of [`Trial::axes`].
    start: Vec<i64>,
    /// In ms.
    length: Vec<i64>,
    /// Per second.
    succeeded: Vec<f64>,
    failed: Vec<f64>,
    p50_us: Vec<Option<f64>>,
    p99_us: Vec<Option<f64>>,
    in_flight: Vec<f64>,
}

/// Name, place among the axes, and a value at each of its instants.
type Line<'a> = (&'a str, usize, Vec<f64>);
/// What was done to what, when, and when all was ready again: in seconds since the start of the load.
type Mark = (String, f64, Option<f64>);

/// Significant digits of a line: one and a half more than the page ever shows.
const LINE_DIGITS: i32 = 5;

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
        let mut axes = Axes::default();
        let cpu = series.cpu.iter();
        let backlog = (!series.backlog.is_empty()).then_some(&series.backlog[..]);
        Self {
            cell: trial.info.key.cell,
            repetition: trial.info.key.repetition,
            position: trial.info.position,
            page: anchor(trial.info.key),
            verdict: labels::verdict(trial.verdict),
            phases: phases.collect(),
            recovered: recovered.map(instant),
            points: points(&series.points),
            cpu: cpu
                .map(|curve| axes.line(&curve.component, &curve.points))
                .collect(),
            backlog: backlog
                .map(|points| axes.line("backlog", points))
                .into_iter()
                .collect(),
            before: axes.named_lines(&series.intermediate_probes),
            metrics: axes.named_lines(&series.metrics),
            axes: axes.0,
            faults: trial.faults.as_ref().map(marks),
        }
    }
}

/// The instants of lines, each set once.
#[derive(Default)]
struct Axes(Vec<Vec<i64>>);

impl Axes {
    fn line<'a>(&mut self, name: &'a str, points: &[(f64, f64)]) -> Line<'a> {
        let axis = steps(points.iter().map(|(at_s, _)| *at_s));
        let known = self.0.iter().position(|known| *known == axis);
        let place = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push(axis);
        }
        let values = points.iter().map(|(_, value)| short(*value));
        (name, place, values.collect())
    }

    fn named_lines<'a>(&mut self, all: &'a [NamedSeries]) -> Vec<Line<'a>> {
        let lines = all.iter();
        lines
            .map(|series| self.line(&series.name, &series.points))
            .collect()
    }
}

fn short(value: f64) -> f64 {
    significant(value, LINE_DIGITS)
}

fn points(all: &[SeriesPoint]) -> Points {
    let column = |value: fn(&SeriesPoint) -> f64| all.iter().map(value).map(short).collect();
    let times = |value: fn(&SeriesPoint) -> Option<f64>| {
        let values = all.iter().map(value);
        values.map(|value| value.map(short)).collect()
    };
    Points {
        start: steps(all.iter().map(|point| point.start_s)),
        length: all
            .iter()
            .map(|point| milliseconds(point.end_s) - milliseconds(point.start_s))
            .collect(),
        succeeded: column(|point| point.succeeded_per_s),
        failed: column(|point| point.failed_per_s),
        p50_us: times(|point| point.p50_us),
        p99_us: times(|point| point.p99_us),
        in_flight: column(|point| point.in_flight),
    }
}

/// The first instant, then the time to the next.
fn steps(instants: impl Iterator<Item = f64>) -> Vec<i64> {
    let mut before = 0;
    let step = |at_s| {
        let now = milliseconds(at_s);
        now - std::mem::replace(&mut before, now)
    };
    instants.map(step).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a trial takes less than a hundred million years"
)]
fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1e3).round() as i64
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

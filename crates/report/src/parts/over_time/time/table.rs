//! Time series of a trial as a table, for readers without scripts.

use crate::{
    layout::table::{Field, Head, Table},
    parts::columns::per_second,
    words::format::{self, NONE, Unit},
};

use waggle_analysis::{Model, TrialModel, unit_of_metric};

/// Most rows of samples after the load.
const LATER_MOST: usize = 30;

/// A row for each interval of load, then one for each later sample while the system drained; `None` if the trial has no series.
pub(crate) fn over_time(model: &Model, trial: &TrialModel, title: &str) -> Option<Table> {
    let series = &trial.series;
    if series.points.is_empty() && series.cpu.is_empty() {
        return None;
    }
    let figures = [
        "end, s".to_owned(),
        per_second(model.counted),
        "failed/s".to_owned(),
        "p50".to_owned(),
        "p99".to_owned(),
        "in flight".to_owned(),
    ];
    let cpu = series
        .cpu
        .iter()
        .map(|curve| format!("{}, cores", curve.component));
    let backlog = (!series.backlog.is_empty()).then(|| "backlog".to_owned());
    let before = series
        .intermediate_probes
        .iter()
        .map(|curve| format!("backlog, {}", curve.name));
    let metrics = series.metrics.iter().map(|curve| curve.name.clone());
    let heads = figures.into_iter().chain(cpu).chain(backlog);
    let heads = heads.chain(before).chain(metrics).map(Head::number);
    Some(Table {
        id: None,
        title: None,
        caption: format!("{title}, time series"),
        heads: heads.collect(),
        rows: rows(model, trial),
        has_summary: false,
    })
}

fn rows(model: &Model, trial: &TrialModel) -> Vec<Vec<Field>> {
    let series = &trial.series;
    let load_end = series
        .rows()
        .last()
        .map_or(f64::NEG_INFINITY, |point| point.end_s);
    let mut rows: Vec<Vec<Field>> = Vec::new();
    let mut samples = Samples::new(model, trial);
    for point in series.rows() {
        let time = |us: Option<f64>| us.map_or_else(|| NONE.to_owned(), |us| Unit::Time.show(us));
        let figures = [
            format!("{:.2}", point.end_s),
            format::plain(point.succeeded_per_s),
            format::plain(point.failed_per_s),
            time(point.p50_us),
            time(point.p99_us),
            format::plain(point.in_flight),
        ];
        let row = figures
            .into_iter()
            .chain(samples.samples_up_to(point.end_s));
        rows.push(row.map(Field::plain).collect());
    }
    for instant in sample_times_after_load(trial, load_end) {
        let figures = [format!("{instant:.2}")].into_iter();
        let none = std::iter::repeat_n(NONE.to_owned(), 5);
        let row = figures.chain(none).chain(samples.samples_up_to(instant));
        rows.push(row.map(Field::plain).collect());
    }
    rows
}

/// When something was sampled after the load.
fn sample_times_after_load(trial: &TrialModel, load_end: f64) -> Vec<f64> {
    let series = &trial.series;
    let named = series.intermediate_probes.iter().chain(&series.metrics);
    let mut later: Vec<f64> = series
        .cpu
        .iter()
        .flat_map(|curve| &curve.points)
        .chain(named.flat_map(|curve| &curve.points))
        .chain(&series.backlog)
        .map(|(instant, _)| *instant)
        .filter(|instant| *instant > load_end)
        .collect();
    later.sort_by(f64::total_cmp);
    later.dedup();
    let keep_every = later.len().div_ceil(LATER_MOST).max(1);
    // The last one stays.
    let mut kept: Vec<f64> = later.into_iter().rev().step_by(keep_every).collect();
    kept.reverse();
    kept
}

/// Samples of each component, of the backlogs and of the metrics of the system, from one instant on.
struct Samples<'a> {
    /// In ascending order, those that were passed left out.
    ahead: Vec<Ahead<'a>>,
}

/// Samples of one thing that are still to come.
struct Ahead<'a> {
    points: &'a [(f64, f64)],
    /// `None`: they have none.
    unit: Option<waggle_metrics::Unit>,
}

impl<'a> Samples<'a> {
    fn new(model: &Model, trial: &'a TrialModel) -> Self {
        let series = &trial.series;
        let cpu = series.cpu.iter().map(|curve| &curve.points[..]);
        let backlog = (!series.backlog.is_empty()).then_some(&series.backlog[..]);
        let before = series.intermediate_probes.iter();
        let before = before.map(|curve| &curve.points[..]);
        let counts = cpu.chain(backlog).chain(before);
        let unit = |name: &str| Some(unit_of_metric(&model.info.metrics, name));
        let counts = counts.map(|points| Ahead { points, unit: None });
        let metrics = series.metrics.iter().map(|curve| Ahead {
            points: &curve.points,
            unit: unit(&curve.name),
        });
        Self {
            ahead: counts.chain(metrics).collect(),
        }
    }

    /// The last sample of each up to an instant and after the instant before; passes them.
    fn samples_up_to(&mut self, to: f64) -> impl Iterator<Item = String> {
        self.ahead
            .iter_mut()
            .map(move |ahead| match (ahead.last_up_to(to), ahead.unit) {
                (None, _) => NONE.to_owned(),
                (Some(value), None | Some(waggle_metrics::Unit::Count)) => format::plain(value),
                (Some(value), Some(unit)) => format::in_unit(value, unit),
            })
    }
}

impl Ahead<'_> {
    /// The last value up to an instant; passes all up to it.
    fn last_up_to(&mut self, to: f64) -> Option<f64> {
        let points = self.points.iter();
        let passed = points.take_while(|(instant, _)| *instant <= to).count();
        let (in_interval, later) = self.points.split_at(passed);
        self.points = later;
        in_interval.last().map(|(_, value)| *value)
    }
}

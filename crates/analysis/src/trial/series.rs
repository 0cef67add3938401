//! A trial over time, thinned to what a screen can show.

use hdrhistogram::Histogram;
use waggle_results::{BacklogRow, IntervalRow, Trial};
use waggle_spec::TimeKind;

use crate::{
    info::factor::Counted,
    recording::{
        accepted::Accepted,
        histogram::{self, as_f64},
        trial_view::TrialView,
    },
};

/// Most points of a line over all trials of a run, so that the page stays one that a browser opens at once; and what
/// a single trial gets of them. More intervals than that are merged, never dropped.
const POINTS_IN_ALL: usize = 12_000;
const POINTS_FEWEST: usize = 40;
const POINTS_MOST: usize = 400;
/// The same of the rows of tables, which are read and not looked at, and take more room.
const ROWS_IN_ALL: usize = 3_000;
const ROWS_FEWEST: usize = 15;
const ROWS_MOST: usize = 400;

/// How many points each trial's lines get in a run of so many trials.
pub(crate) fn points_max(trials: usize) -> PointsMax {
    let each = |all: usize| all / trials.max(1);
    PointsMax {
        line: each(POINTS_IN_ALL).clamp(POINTS_FEWEST, POINTS_MOST),
        rows: each(ROWS_IN_ALL).clamp(ROWS_FEWEST, ROWS_MOST),
    }
}

/// Most points of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PointsMax {
    line: usize,
    rows: usize,
}

/// A trial over time. Seconds count from the start of the load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    pub points: Vec<SeriesPoint>,
    /// The same in fewer, longer stretches, for a table; empty: as many as `points`.
    pub longer: Vec<SeriesPoint>,
    pub cpu: Vec<CpuSeries>,
    /// (seconds, records accepted by then and not yet visible)
    pub backlog: Vec<(f64, f64)>,
    /// The same of each probe on the records' way.
    pub intermediate_probes: Vec<NamedSeries>,
    pub metrics: Vec<NamedSeries>,
}

/// One stretch of load.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesPoint {
    pub start_s: f64,
    pub end_s: f64,
    /// Records (or requests) per second.
    pub succeeded_per_s: f64,
    /// Requests per second.
    pub failed_per_s: f64,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub in_flight: f64,
}

/// Numbers of one thing: (seconds, number).
#[derive(Debug, Clone, PartialEq)]
pub struct NamedSeries {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// CPU of one component replica: (seconds, cores).
#[derive(Debug, Clone, PartialEq)]
pub struct CpuSeries {
    pub component: String,
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// The rows of a table.
    #[must_use]
    pub fn rows(&self) -> &[SeriesPoint] {
        match self.longer.is_empty() {
            true => &self.points,
            false => &self.longer,
        }
    }
}

pub(crate) fn series(view: &TrialView<'_>, counted: Counted, most: PointsMax) -> Series {
    let TrialView {
        trial, accepted, ..
    } = view;
    let points_max = most.line;
    let [merge, merge_more] =
        [points_max, most.rows].map(|most| trial.intervals.len().div_ceil(most).max(1));
    Series {
        points: points(trial, merge, counted),
        longer: match merge_more > merge {
            true => points(trial, merge_more, counted),
            false => Vec::new(),
        },
        cpu: cpu(trial, points_max),
        backlog: backlog(accepted, &trial.backlog, points_max),
        intermediate_probes: intermediate_probes(view, points_max),
        metrics: metrics(trial, points_max),
    }
}

/// `merge` intervals at a time. The load's end cuts its last interval off; a rate over next to no time would be a
/// spike that never was, so a last stretch of less than half the usual length goes with the one before.
fn stretches(intervals: &[IntervalRow], merge: usize) -> Vec<&[IntervalRow]> {
    let seconds = |rows: &[IntervalRow]| rows.iter().map(|row| row.counts.seconds).sum::<f64>();
    let mut stretches: Vec<&[IntervalRow]> = intervals.chunks(merge).collect();
    if let [.., before, last] = stretches.as_slice()
        && seconds(last) < seconds(before) / 2.0
    {
        let joined = &intervals[intervals.len() - before.len() - last.len()..];
        stretches.truncate(stretches.len() - 2);
        stretches.push(joined);
    }
    stretches
}

fn points(trial: &Trial, merge: usize, counted: Counted) -> Vec<SeriesPoint> {
    let mut times = histogram::empty();
    let mut points = Vec::new();
    for rows in stretches(&trial.intervals, merge) {
        let span = span(rows);
        times.reset();
        trial.times[TimeKind::Response].add_to(&mut times, span.0, span.1);
        points.push(point(rows, span, &times, counted));
    }
    points
}

/// Start and end.
fn span(rows: &[IntervalRow]) -> (f64, f64) {
    let last = &rows[rows.len() - 1];
    (rows[0].start_s, last.start_s + last.counts.seconds)
}

fn point(
    rows: &[IntervalRow],
    (start_s, end_s): (f64, f64),
    times: &Histogram<u64>,
    counted: Counted,
) -> SeriesPoint {
    let seconds: f64 = rows.iter().map(|row| row.counts.seconds).sum();
    let good: u64 = rows
        .iter()
        .map(|row| match counted {
            Counted::Records => row.counts.records_succeeded,
            Counted::Requests => row.counts.succeeded,
        })
        .sum();
    let failed: u64 = rows.iter().map(|row| row.counts.failed).sum();
    let per_s = |count: u64| {
        if seconds > 0.0 {
            as_f64(count) / seconds
        } else {
            0.0
        }
    };
    SeriesPoint {
        start_s,
        end_s,
        succeeded_per_s: per_s(good),
        failed_per_s: per_s(failed),
        p50_us: histogram::quantile(times, 0.5),
        p99_us: histogram::quantile(times, 0.99),
        in_flight: rows.last().map_or(0.0, |row| as_f64(row.in_flight)),
    }
}

fn cpu(trial: &Trial, points_max: usize) -> Vec<CpuSeries> {
    let mut all: Vec<CpuSeries> = Vec::new();
    for row in &trial.resources {
        let point = (row.at_s, row.cpu_cores);
        match all
            .iter_mut()
            .find(|series| series.component == row.component)
        {
            Some(series) => series.points.push(point),
            None => all.push(CpuSeries {
                component: row.component.clone(),
                points: vec![point],
            }),
        }
    }
    for series in &mut all {
        let merge = series.points.len().div_ceil(points_max).max(1);
        series.points = series.points.chunks(merge).map(mean_at_end).collect();
    }
    all
}

/// Samples are of equal length, so their mean is that of the whole stretch, which ends with the last.
fn mean_at_end(points: &[(f64, f64)]) -> (f64, f64) {
    let sum: f64 = points.iter().map(|(_, value)| value).sum();
    #[expect(clippy::cast_precision_loss, reason = "a handful of samples")]
    let mean = sum / points.len() as f64;
    (points[points.len() - 1].0, mean)
}

fn backlog(accepted: &Accepted<'_>, looks: &[BacklogRow], points_max: usize) -> Vec<(f64, f64)> {
    let kept = thin_out(looks, points_max);
    kept.map(|look| (look.at_s, accepted.backlog_at(look)))
        .collect()
}

fn intermediate_probes(view: &TrialView<'_>, points_max: usize) -> Vec<NamedSeries> {
    let TrialView {
        trial, accepted, ..
    } = view;
    let probes = trial
        .info
        .intermediate_probes
        .iter()
        .zip(&trial.intermediate_probes);
    probes
        .map(|(info, logs)| NamedSeries {
            name: info.delivery.probe.clone(),
            points: backlog(accepted, &logs.backlog, points_max),
        })
        .collect()
}

fn metrics(trial: &Trial, points_max: usize) -> Vec<NamedSeries> {
    let mut all: Vec<NamedSeries> = Vec::new();
    for row in &trial.metrics {
        let point = (row.at_s, row.value);
        match all.iter_mut().find(|series| series.name == row.metric) {
            Some(series) => series.points.push(point),
            None => all.push(NamedSeries {
                name: row.metric.clone(),
                points: vec![point],
            }),
        }
    }
    for series in &mut all {
        series.points = thin_out(&series.points, points_max).copied().collect();
    }
    all
}

/// Every so many-th of many, and the last.
fn thin_out<T>(all: &[T], points_max: usize) -> impl Iterator<Item = &T> {
    let keep_every = all.len().div_ceil(points_max).max(1);
    let last = all.len().saturating_sub(1);
    let kept = all
        .iter()
        .enumerate()
        .filter(move |(place, _)| place % keep_every == 0 || *place == last);
    kept.map(|(_, element)| element)
}

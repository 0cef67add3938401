//! The charts of a history: one for each metric in each cell, with all hosts.

use waggle_analysis::history::{
    HistoryChange, HistoryModel, HistoryPoint, HistoryRunFacts, HistorySeries, MetricHistory,
};

use super::words;
use crate::{
    layout::timeline::{Band, Level, Mark, Point, Timeline, VerticalMark},
    words::{format, labels, metric::label},
};

/// Labels of the axis of runs.
const MAX_LABELS: usize = 6;

pub(super) fn timeline(model: &HistoryModel, metric: &MetricHistory, cell: usize) -> Timeline {
    let cell_series = metric.series.iter().filter(|series| series.cell == cell);
    let cell_series: Vec<&HistorySeries> = cell_series.collect();
    let name = label(metric.metric, None, &metric.name, model.counted);
    let hosts: Vec<String> = cell_series
        .iter()
        .filter_map(|series| words::host_name(model, series).map(str::to_owned))
        .collect();
    let lines = || cell_series.iter().enumerate();
    Timeline {
        label: match model.cells.len() {
            1 => name,
            _ => format!("{name} · {}", model.cells[cell].name),
        },
        unit: metric.unit,
        runs: model.runs.len(),
        labels: run_labels(model),
        points: lines()
            .flat_map(|(line, series)| points(model, metric, line, series))
            .collect(),
        levels: lines()
            .flat_map(|(line, series)| levels(line, series))
            .collect(),
        changes: cell_series
            .iter()
            .flat_map(|series| changes(model, metric, series))
            .collect(),
        marks: marks(model),
        bands: bands(model),
        lines: hosts,
    }
}

/// Dates, or times of runs of one day.
fn run_labels(model: &HistoryModel) -> Vec<(usize, String)> {
    let dates = model.runs.iter().map(|run| run.started_utc.get(..10));
    let mut dates: Vec<Option<&str>> = dates.collect();
    dates.dedup();
    let part = if dates.len() > 1 { 0..10 } else { 11..16 };
    let step = model.runs.len().div_ceil(MAX_LABELS).max(1);
    let text = |index: usize| {
        let started = &model.runs[index].started_utc;
        let text = started.get(part.clone()).unwrap_or(started);
        (index, text.to_owned())
    };
    (0..model.runs.len()).step_by(step).map(text).collect()
}

fn points<'a>(
    model: &'a HistoryModel,
    metric: &'a MetricHistory,
    line: usize,
    series: &'a HistorySeries,
) -> impl Iterator<Item = Point> + use<'a> {
    series.points.iter().map(move |point| Point {
        at: point.run,
        line,
        value: point.number.point(),
        ends: point.number.ends(),
        is_doubtful: point.is_doubtful,
        title: point_title(model, metric, point),
    })
}

fn point_title(model: &HistoryModel, metric: &MetricHistory, point: &HistoryPoint) -> String {
    let run = &model.runs[point.run];
    let (low, high) = point.number.ends();
    let interval = match low < high {
        true => format!(" ({})", format::ends_in_unit((low, high), metric.unit)),
        false => String::new(),
    };
    let verdict = point
        .verdict
        .map(|verdict| format!(", {}", labels::verdict(verdict)));
    format!(
        "{}, {}, on {}: {}{interval}{}",
        run.name,
        words::moment(&run.started_utc),
        model.host_names[run.host],
        format::in_unit(point.number.point(), metric.unit),
        verdict.unwrap_or_default()
    )
}

fn levels(line: usize, series: &HistorySeries) -> impl Iterator<Item = Level> + use<> {
    let levels = series
        .levels()
        .into_iter()
        .map(|(first, last, value)| Level {
            first: series.points[first].run,
            last: series.points[last].run,
            line,
            value,
        });
    levels.collect::<Vec<Level>>().into_iter()
}

fn changes<'a>(
    model: &'a HistoryModel,
    metric: &'a MetricHistory,
    series: &'a HistorySeries,
) -> impl Iterator<Item = VerticalMark> + use<'a> {
    series.changes.iter().map(move |change| VerticalMark {
        at: series.points[change.at].run,
        class: words::judgement_label(change.judgement),
        label: format::times(change.ratio.point),
        title: change_title(model, metric, series, change),
    })
}

fn change_title(
    model: &HistoryModel,
    metric: &MetricHistory,
    series: &HistorySeries,
    change: &HistoryChange,
) -> String {
    let [before, after] = words::runs_of(model, series, change);
    let levels = [change.before, change.after].map(|level| format::in_unit(level, metric.unit));
    format!(
        "{} between {} and {}: {}, {} → {}",
        words::judgement_label(change.judgement),
        before.name,
        after.name,
        format::ratio(&change.ratio),
        levels[0],
        levels[1]
    )
}

/// Runs at which something else changed, or that have a note.
fn marks(model: &HistoryModel) -> Vec<Mark> {
    let runs = model.runs.iter().enumerate();
    let marked = runs.filter(|(_, run)| !run.changes.is_empty() || !run.notes.is_empty());
    marked.map(|(index, run)| mark(index, run)).collect()
}

fn mark(index: usize, run: &HistoryRunFacts) -> Mark {
    let texts = [words::conditions(&run.changes), words::notes(run)];
    let texts = texts.into_iter().filter(|text| !text.is_empty());
    let texts: Vec<String> = texts.collect();
    Mark {
        at: index,
        title: format!("{}: {}", run.name, texts.join("; ")),
    }
}

/// Runs that are not on the host of the newest run.
fn bands(model: &HistoryModel) -> Vec<Band> {
    let newest = model.runs.last().map(|run| run.host);
    let mut bands: Vec<(usize, Band)> = Vec::new();
    for (index, run) in model.runs.iter().enumerate() {
        if Some(run.host) == newest {
            continue;
        }
        match bands.last_mut() {
            Some((host, band)) if *host == run.host && band.last + 1 == index => band.last = index,
            _ => bands.push((
                run.host,
                Band {
                    first: index,
                    last: index,
                    title: format!("on {}", model.host_names[run.host]),
                },
            )),
        }
    }
    bands.into_iter().map(|(_, band)| band).collect()
}

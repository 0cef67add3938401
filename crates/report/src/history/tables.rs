//! The tables of a history.

use waggle_analysis::{
    Number,
    history::{HistoryModel, HistoryRunFacts, HistorySeries, MetricHistory},
};
use waggle_metrics::Unit;
use waggle_stats::OverRuns;

use super::document::text_anchor;
use super::words::{self, PlacedChange};
use crate::{
    compare::document::is_text,
    layout::{
        site::Site,
        table::{Column, Field, Table},
    },
    words::{format, metric::label},
};

/// Runs that a line of blocks shows.
const MAX_BLOCKS: usize = 40;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The blocks span this share of the largest value at least, so that noise does not look like change.
const MIN_SPAN: f64 = 0.1;

/// One metric, a row for each cell on each host.
pub(super) fn metric(model: &HistoryModel, metric: &MetricHistory) -> Table {
    let unit = metric.unit;
    let mut columns: Vec<Column<'_, &HistorySeries>> = Vec::new();
    if model.cells.len() > 1 {
        columns.push(Column::words("cell", |series: &&HistorySeries| {
            Field::plain(&model.cells[series.cell].name)
        }));
    }
    if metric
        .series
        .iter()
        .any(|series| words::host_name(model, series).is_some())
    {
        columns.push(Column::words("host", |series: &&HistorySeries| {
            Field::optional(words::host_name(model, series).map(str::to_owned))
        }));
    }
    columns.extend([
        Column::numbers("runs", |series: &&HistorySeries| {
            Field::plain(series.points.len().to_string())
        }),
        Column::words("history", |series: &&HistorySeries| {
            Field::plain(blocks(series))
        }),
        Column::numbers("level", move |series: &&HistorySeries| {
            let last = series.levels().last().map(|(.., level)| *level);
            Field::optional(last.map(|level| format::in_unit(level, unit)))
        }),
        Column::numbers("smallest change", |series: &&HistorySeries| {
            Field::optional(series.smallest_change.map(format::share))
        }),
        Column::numbers("last change", |series: &&HistorySeries| {
            match series.changes.last() {
                Some(change) => Field::plain(format::times(change.ratio.point))
                    .with_aside(change.ratio.interval.map(format::ratio_ends)),
                None => Field::empty(),
            }
        }),
        Column::words("judgement", move |series: &&HistorySeries| {
            judgement(series)
        }),
        Column::words("since", |series: &&HistorySeries| {
            let since = series.changes.last();
            let since = since.map(|change| words::runs_of(model, series, change)[1]);
            Field::optional(since.map(|run| run.name.clone()))
        }),
    ]);
    let name = label(metric.metric, None, &metric.name, model.counted);
    Table::new("history", name, columns, &metric.series)
}

/// Each metric with runs as the unit, and where its scatter comes from; `None` of too few runs.
pub(super) fn over_runs(model: &HistoryModel) -> Option<Table> {
    type Row<'a> = (&'a MetricHistory, &'a HistorySeries, &'a OverRuns);
    let mut columns: Vec<Column<'_, Row<'_>>> = Vec::new();
    if model.metrics.len() > 1 {
        columns.push(Column::words("metric", |row: &Row<'_>| {
            Field::plain(&row.0.name)
        }));
    }
    if model
        .series()
        .any(|(_, series)| words::place(model, series).is_some())
    {
        columns.push(Column::words("at", |row: &Row<'_>| {
            Field::optional(words::place(model, row.1))
        }));
    }
    let share = |fraction: Option<f64>| Field::optional(fraction.map(format::share));
    columns.extend([
        Column::numbers("runs", |row: &Row<'_>| {
            Field::plain(row.2.estimate.count.to_string())
        }),
        Column::numbers("over runs", move |row: &Row<'_>| {
            let estimate = &row.2.estimate;
            value_field(estimate.point, estimate.interval, row.0.unit)
        }),
        Column::numbers("last run alone", move |row: &Row<'_>| {
            last_run(row.1, row.0.unit)
        }),
        Column::numbers("scatter of runs", move |row: &Row<'_>| {
            share(Some(row.2.scatter))
        }),
        Column::numbers("of that by trials", move |row: &Row<'_>| {
            share(row.2.within)
        }),
        Column::numbers("variance between runs", move |row: &Row<'_>| {
            share(row.2.share_between())
        }),
    ]);
    let rows = model.series();
    let rows =
        rows.filter_map(|(metric, series)| Some((metric, series, series.over_runs.as_ref()?)));
    let caption = "Two levels: runs, and trials within a run";
    Table::new("over-runs", caption, columns, rows.collect::<Vec<_>>()).unless_empty()
}

fn last_run(series: &HistorySeries, unit: Unit) -> Field {
    let Some(last) = series.points.last() else {
        return Field::empty();
    };
    let interval = match last.number {
        Number::Estimate(estimate) => estimate.interval,
        Number::Exact(_) | Number::Within(_) => None,
    };
    value_field(last.number.point(), interval, unit)
}

fn value_field(point: f64, interval: Option<(f64, f64)>, unit: Unit) -> Field {
    let ends = interval.map(|ends| format::ends_in_unit(ends, unit));
    Field::plain(format::in_unit(point, unit)).with_aside(ends)
}

fn judgement(series: &HistorySeries) -> Field {
    match series.changes.last() {
        _ if !series.is_long_enough() => Field::plain("too few runs"),
        None => Field::plain("no change"),
        Some(change) => Field::verdict(words::judgement_label(change.judgement))
            .with_aside(change.is_accepted.then(|| "accepted".to_owned())),
    }
}

/// The newest values as blocks of different heights.
fn blocks(series: &HistorySeries) -> String {
    let first = series.points.len().saturating_sub(MAX_BLOCKS);
    let values = series.points[first..].iter();
    let values: Vec<f64> = values.map(|point| point.number.point()).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let span = (high - low).max(MIN_SPAN * high);
    let bottom = f64::midpoint(low, high) - span / 2.0;
    let blocks = values.into_iter().map(|value| match span > 0.0 {
        true => block((value - bottom) / span),
        false => BLOCKS[0],
    });
    blocks.collect()
}

/// Of a share of the span, from 0 to 1.
fn block(share: f64) -> char {
    let steps = [1, 2, 3, 4, 5, 6, 7].into_iter();
    let passed = steps.filter(|step| share * 8.0 >= f64::from(*step)).count();
    BLOCKS[passed]
}

/// Every change, the newest first; `None` without any.
pub(super) fn changes(model: &HistoryModel, site: &Site) -> Option<Table> {
    let mut columns: Vec<Column<'_, PlacedChange<'_>>> = Vec::new();
    if model.metrics.len() > 1 {
        columns.push(Column::words("metric", |row: &PlacedChange<'_>| {
            Field::plain(&row.0.name)
        }));
    }
    let all = words::newest_changes(model);
    if all.iter().any(|row| words::place(model, row.1).is_some()) {
        columns.push(Column::words("at", |row: &PlacedChange<'_>| {
            Field::optional(words::place(model, row.1))
        }));
    }
    let run = |row: &PlacedChange<'_>, index: usize| {
        run_field(site, words::runs_of(model, row.1, row.2)[index])
    };
    columns.extend([
        Column::words("last run before", move |row: &PlacedChange<'_>| run(row, 0)),
        Column::words("first run after", move |row: &PlacedChange<'_>| run(row, 1)),
        Column::numbers("before", |row: &PlacedChange<'_>| {
            Field::plain(format::in_unit(row.2.before, row.0.unit))
        }),
        Column::numbers("after", |row: &PlacedChange<'_>| {
            Field::plain(format::in_unit(row.2.after, row.0.unit))
        }),
        Column::numbers("after ÷ before", |row: &PlacedChange<'_>| {
            change_ratio(model, site, row)
        }),
        Column::words("judgement", |row: &PlacedChange<'_>| {
            Field::verdict(words::judgement_label(row.2.judgement))
                .with_aside(words::change_remark(row.2).map(str::to_owned))
        }),
        Column::words("at the same time", |row: &PlacedChange<'_>| {
            change_conditions(model, row)
        }),
    ]);
    let has_notes = |row: &PlacedChange<'_>| !words::change_notes(model, *row).is_empty();
    if site.has_notes || all.iter().any(has_notes) {
        columns.push(Column::words("notes", |row: &PlacedChange<'_>| {
            change_notes(model, site, row)
        }));
    }
    Table::new("changes", "Changes, the newest first", columns, all).unless_empty()
}

fn run_field(site: &Site, run: &HistoryRunFacts) -> Field {
    site.run_field(&run.name)
        .with_aside(words::moment(&run.started_utc))
}

/// Where its page is served, with a link to the comparison of the two runs.
fn change_ratio(model: &HistoryModel, site: &Site, row: &PlacedChange<'_>) -> Field {
    let [before, after] = words::runs_of(model, row.1, row.2);
    Field::plain(format::times(row.2.ratio.point))
        .with_aside(row.2.ratio.interval.map(format::ratio_ends))
        .with_href(site.comparison(&before.name, &after.name))
}

/// With a link to the lines that changed.
fn change_conditions(model: &HistoryModel, row: &PlacedChange<'_>) -> Field {
    let after = words::runs_of(model, row.1, row.2)[1];
    let has_text = row.2.conditions.iter().any(is_text);
    let anchor = text_anchor(model, &after.name).filter(|_| has_text);
    Field::plain(words::conditions(&row.2.conditions))
        .with_href(anchor.map(|anchor| format!("#{anchor}")))
}

/// With a link to where one is written; its words say so if there is none yet.
fn change_notes(model: &HistoryModel, site: &Site, row: &PlacedChange<'_>) -> Field {
    let [_, after] = words::runs_of(model, row.1, row.2);
    let href = site.note(&after.name, &row.0.column);
    let text = match (words::change_notes(model, *row), &href) {
        (none, Some(_)) if none.is_empty() => "add a note".to_owned(),
        (text, _) => text,
    };
    Field::plain(text).with_href(href)
}

/// Every run, the newest first.
pub(super) fn runs(model: &HistoryModel, site: &Site) -> Table {
    let mut columns: Vec<Column<'_, &HistoryRunFacts>> = vec![
        Column::words("run", |run: &&HistoryRunFacts| site.run_field(&run.name)),
        Column::words("started, UTC", |run: &&HistoryRunFacts| {
            Field::plain(words::moment(&run.started_utc))
        }),
        Column::words("host", |run: &&HistoryRunFacts| {
            Field::plain(&model.host_names[run.host])
        }),
        Column::numbers("trials", |run: &&HistoryRunFacts| {
            let text = match run.trials == run.planned {
                true => run.trials.to_string(),
                false => format!("{} of {}", run.trials, run.planned),
            };
            Field::plain(text).bad_if(run.trials < run.planned)
        }),
        Column::words("changed", |run: &&HistoryRunFacts| {
            Field::plain(words::conditions(&run.changes))
        }),
    ];
    if model.runs.iter().any(|run| !run.notes.is_empty()) {
        columns.push(Column::words("notes", |run: &&HistoryRunFacts| {
            Field::plain(words::notes(run))
        }));
    }
    let caption = "Runs, the newest first, with what changed since the run before on the same host";
    Table::new("runs", caption, columns, model.runs.iter().rev())
}

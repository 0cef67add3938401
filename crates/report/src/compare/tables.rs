//! The tables of a comparison.

use waggle_analysis::{
    Number,
    compare::{CellPair, CompareModel, MetricComparison, MetricPair},
};
use waggle_metrics::Unit;

use super::words;
use crate::{
    layout::table::{Column, Field, Mark, Table, Whisker},
    words::{format, labels, metric::label},
};

/// A cell with what one metric shows.
type Row<'a> = (&'a CellPair, &'a MetricPair);

/// How much of a comparison is shown: what a narrow terminal leaves out first comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// The ratio with its interval, and what is judged of it.
    Ratio,
    /// And what was measured.
    Points,
    /// And the intervals of that.
    Intervals,
    /// And the verdicts of cells that are not valid.
    Verdicts,
}

impl Detail {
    /// From the widest to the narrowest.
    pub(super) const ALL: [Self; 4] = [Self::Verdicts, Self::Intervals, Self::Points, Self::Ratio];

    /// What is left out; `sides`: their names.
    pub(super) fn left_out(self, [first, second]: [&str; 2]) -> String {
        match self {
            Self::Verdicts => String::new(),
            Self::Intervals => "not valid".to_owned(),
            Self::Points => format!("not valid, intervals of {first} and {second}"),
            Self::Ratio => format!("not valid, {first}, {second}"),
        }
    }
}

/// One metric, a row for each cell.
pub(super) fn metric(model: &CompareModel, metric: &MetricComparison) -> Table {
    metric_in_detail(model, metric, Detail::Verdicts)
}

/// The same with less.
pub(super) fn metric_in_detail(
    model: &CompareModel,
    metric: &MetricComparison,
    detail: Detail,
) -> Table {
    let unit = metric.unit;
    let name = label(metric.metric, None, &metric.name, model.counted);
    let mut columns = cell_columns(model);
    let measured = model.sides.iter().enumerate();
    for (index, side) in measured.filter(|_| detail >= Detail::Points) {
        columns.push(Column::numbers(&side.name, move |row: &Row<'_>| {
            match detail >= Detail::Intervals {
                true => number(row.1.numbers[index], unit),
                false => number(row.1.numbers[index], unit).with_aside(None),
            }
        }));
    }
    let [first, second] = model.sides.each_ref().map(|side| &side.name);
    let (margin, sampled) = (model.margin, model.unit);
    columns.extend([
        Column::numbers(format!("{second} ÷ {first}"), move |row: &Row<'_>| {
            ratio(row.1, margin)
        }),
        Column::words("judgement", move |row: &Row<'_>| {
            let label = words::judgement_label(row.1.judgement);
            Field::verdict(label).with_aside(words::open_reason(row.1, sampled))
        }),
    ]);
    if detail == Detail::Verdicts {
        columns.push(Column::words("not valid", move |row: &Row<'_>| {
            Field::plain(not_valid(model, row.0))
        }));
    }
    let rows = model.cells.iter().zip(&metric.cells);
    Table::new("compared", name, columns, rows)
}

/// Ratios of every other metric, a row for each cell; `None` if there is none.
pub(super) fn others(model: &CompareModel) -> Option<Table> {
    let others = model.metrics.iter();
    let others: Vec<&MetricComparison> = others
        .filter(|metric| !metric.is_asked && metric.left_out.is_none() && is_measured(metric))
        .collect();
    if others.is_empty() {
        return None;
    }
    let mut columns: Vec<Column<'_, usize>> = vec![Column::words("cell", |index: &usize| {
        Field::plain(&model.cells[*index].name)
    })];
    let reasons = words::even_reasons(model, others.iter().flat_map(|metric| &metric.cells));
    for metric in others {
        columns.push(Column::numbers(&metric.name, move |index: &usize| {
            marked_ratio(model, &metric.cells[*index])
        }));
    }
    columns.push(Column::numbers("errors", |index: &usize| {
        let [first, second] = model.cells[*index].error_rates.map(shown_share);
        Field::plain(format!("{first} → {second}"))
    }));
    let asked = "Ratios of metrics that the study does not ask about";
    let caption = match reasons.is_empty() {
        true => asked.to_owned(),
        false => {
            format!("{asked}; grey or with an asterisk: no difference is shown ({reasons})")
        }
    };
    Some(Table::new("others", caption, columns, 0..model.cells.len()))
}

/// Whether a side has a value of it in a cell.
fn is_measured(metric: &MetricComparison) -> bool {
    let mut numbers = metric.cells.iter().flat_map(|pair| pair.numbers);
    numbers.any(|number| number.is_some())
}

/// With a mark and the reason if no difference is shown.
fn marked_ratio(model: &CompareModel, pair: &MetricPair) -> Field {
    let field = ratio(pair, model.margin);
    let reason = words::open_reason(pair, model.unit);
    match reason.or_else(|| words::even_reason(model, pair)) {
        None => field,
        reason => field.with_mark(Mark::Even(reason)),
    }
}

fn shown_share(share: Option<f64>) -> String {
    share.map_or_else(|| format::NONE.to_owned(), format::share)
}

/// A column for each factor, or the name.
fn cell_columns<'a>(model: &'a CompareModel) -> Vec<Column<'a, Row<'a>>> {
    let first = model.cells.first();
    let Some(first) = first.filter(|_| !model.cells.iter().any(has_own_name)) else {
        return vec![Column::words("cell", |row: &Row<'_>| {
            Field::plain(&row.0.name)
        })];
    };
    let varying = (0..first.levels.len()).filter(|index| {
        let mut cells = model.cells.iter();
        model.cells.len() == 1 || cells.any(|cell| cell.levels[*index] != first.levels[*index])
    });
    let column = |index: usize| {
        Column::numbers(&first.levels[index].0, move |row: &Row<'_>| {
            Field::plain(&row.0.levels[index].1)
        })
    };
    varying.map(column).collect()
}

/// Whether its name is not that of its levels.
fn has_own_name(cell: &CellPair) -> bool {
    let levels = cell.levels.iter();
    let levels: Vec<String> = levels
        .map(|(name, level)| format!("{name}={level}"))
        .collect();
    cell.name != levels.join(" ") || levels.is_empty()
}

fn number(number: Option<Number>, unit: Unit) -> Field {
    let Some(number) = number else {
        return Field::empty();
    };
    let interval = match number {
        Number::Estimate(estimate) => estimate.interval,
        Number::Within(range) => Some((range.low, range.high)),
        Number::Exact(_) => None,
    };
    // The heading has the unit of a rate.
    match unit {
        Unit::Rate => {
            let ends = interval
                .map(|(low, high)| format!("{} – {}", format::plain(low), format::plain(high)));
            Field::plain(format::plain(number.point())).with_aside(ends)
        }
        _ => Field::plain(format::in_unit(number.point(), unit))
            .with_aside(interval.map(|ends| format::ends_in_unit(ends, unit))),
    }
}

fn ratio(pair: &MetricPair, margin: f64) -> Field {
    let Some(ratio) = &pair.ratio else {
        return Field::empty();
    };
    let field =
        Field::plain(format::times(ratio.point)).with_aside(ratio.interval.map(format::ratio_ends));
    match ratio.interval {
        Some(interval) => field.with_whisker(Whisker {
            point: ratio.point,
            interval,
            margin,
        }),
        None => field,
    }
}

fn not_valid(model: &CompareModel, cell: &CellPair) -> String {
    let sides = model.sides.iter().zip(cell.verdicts);
    let doubtful = sides.filter_map(|(side, verdict)| {
        let verdict = verdict?;
        (verdict != waggle_stats::Verdict::Valid)
            .then(|| format!("{} {}", side.name, labels::verdict(verdict)))
    });
    doubtful.collect::<Vec<_>>().join(", ")
}

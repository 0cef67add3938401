//! The metrics that the study asks about, estimated in several ways.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place,
    words::format,
};

use waggle_analysis::{AskedMetric, CellModel, Model, Number};

type Row<'a> = (&'a CellModel, &'a AskedMetric);

/// Estimate, median, and the estimate without trials that have a doubt; `None` if there is nothing but the estimate, which the other
/// tables have.
pub(crate) fn asked_metrics(model: &Model) -> Option<Table> {
    let rows: Vec<Row<'_>> = model
        .cells
        .iter()
        .flat_map(|cell| cell.asked.iter().map(move |asked| (cell, asked)))
        .collect();
    let has_more = |(_, asked): &Row<'_>| asked.median.is_some() || asked.doubtful > 0;
    if model.info.asks.is_empty() && !rows.iter().any(has_more) {
        return None;
    }
    let mut columns = place(model, |(cell, _): &Row<'_>| *cell);
    columns.extend([
        Column::words("metric", |(_, asked): &Row<'_>| Field::plain(&asked.name)),
        Column::numbers("estimate", |(_, asked): &Row<'_>| {
            number(asked, asked.number)
        }),
        Column::numbers("median", |(_, asked): &Row<'_>| {
            number(asked, asked.median.map(Number::Estimate))
        }),
        Column::numbers("doubtful trials", |(cell, asked): &Row<'_>| {
            Field::plain(format!("{} of {}", asked.doubtful, cell.counted))
        }),
        Column::numbers("without them", |(_, asked): &Row<'_>| {
            number(asked, asked.without_doubtful)
        }),
    ]);
    let caption = "The metrics that the study asks about, over all trials (geometric mean with Student's interval), as the median (from six \
                   trials on), and without the trials that have a doubt about the metric";
    Table::new("asked", caption, columns, rows)
        .with_title("Metrics asked about")
        .unless_empty()
}

pub(crate) fn number(asked: &AskedMetric, number: Option<Number>) -> Field {
    let Some(number) = number else {
        return Field::empty();
    };
    let shown = |value: f64| format::in_unit(value, asked.unit);
    let interval = match number {
        Number::Estimate(estimate) => estimate.interval,
        Number::Exact(_) | Number::Within(_) => None,
    };
    let least = number.shown_least();
    let ends = match (interval, least) {
        (Some((low, high)), _) => Some(format!("{} – {}", shown(low), shown(high))),
        (None, least) => least.map(|least| format!("≥ {}", shown(least))),
    };
    Field::plain(format::value_with_bound(shown(number.point()), least)).with_aside(ends)
}

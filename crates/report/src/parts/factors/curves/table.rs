//! Scaling curves as a table.

use crate::{
    layout::table::{Column, Field, Table},
    words::format,
};
use waggle_analysis::{Curve, CurvePoint, CurvesModel};

/// A row for each line at each level, a column for each chart.
pub(crate) fn curves(curves: &CurvesModel) -> Table {
    let mut columns = vec![Column::numbers(
        &curves.over.factor,
        |&(level, _): &(usize, usize)| Field::plain(&curves.over.levels[level]),
    )];
    if !curves.others.is_empty() {
        columns.push(Column::words(
            curves.others.join(", "),
            |&(_, line): &(usize, usize)| Field::plain(&curves.lines[line].name),
        ));
    }
    for chart in &curves.charts {
        columns.push(Column::numbers(&chart.name, |&place: &(usize, usize)| {
            point(chart, place).map_or_else(Field::empty, |point| measured_field(point, chart))
        }));
        if chart.has_reference() {
            let head = format!("{}, reference", chart.name);
            columns.push(Column::numbers(head, |&place: &(usize, usize)| {
                let reference = point(chart, place).and_then(|point| point.reference);
                Field::optional(reference.map(|value| format::in_unit(value, chart.unit)))
            }));
        }
    }
    let levels = 0..curves.over.levels.len();
    let all = levels.flat_map(|level| (0..curves.lines.len()).map(move |line| (level, line)));
    let rows = all.filter(|&place| {
        curves
            .charts
            .iter()
            .any(|chart| point(chart, place).is_some())
    });
    let caption = format!(
        "Each outcome over {}, with 95 % intervals over trials",
        curves.over.factor
    );
    Table::new("curves", caption, columns, rows)
}

fn point(chart: &Curve, (level, line): (usize, usize)) -> Option<&CurvePoint> {
    let mut points = chart.points.iter();
    points.find(|point| (point.line, point.level) == (line, level))
}

/// What was measured here.
fn measured_field(point: &CurvePoint, chart: &Curve) -> Field {
    let Some(estimate) = &point.estimate else {
        return Field::empty();
    };
    let ends = |ends: (f64, f64)| format::ends_in_unit(ends, chart.unit);
    let field = Field::plain(format::in_unit(estimate.point, chart.unit))
        .with_aside(estimate.interval.map(ends));
    match &point.thin {
        Some(reason) => field.thin(reason),
        None => field,
    }
}

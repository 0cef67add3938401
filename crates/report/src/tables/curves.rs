//! Outcomes over one factor, as a table for those without charts.

use super::{Align, Field, FieldKind, Head, Table};
use crate::text::{self, NONE};
use waggle_analysis::{Curve, CurvePoint, CurvesModel};
use waggle_metrics::Unit;

/// A row for each line at each level, a column for each chart.
pub(crate) fn curves(curves: &CurvesModel) -> Table {
    let head = |text: &str, align| Head {
        text: text.to_owned(),
        align,
    };
    let mut heads = vec![head(&curves.over.factor, Align::Right)];
    if !curves.others.is_empty() {
        heads.push(head(&curves.others.join(", "), Align::Left));
    }
    for chart in &curves.charts {
        heads.push(head(&chart.name, Align::Right));
        if chart.has_published() {
            heads.push(head(&format!("{}, published", chart.name), Align::Right));
        }
    }
    let levels = curves.over.levels.iter().enumerate();
    let rows = levels.flat_map(|(level, name)| {
        let lines = curves.lines.iter().enumerate();
        lines.filter_map(move |(line, of)| {
            let mut row = vec![Field::plain(name)];
            if !curves.others.is_empty() {
                row.push(Field::plain(&of.name));
            }
            let at = |chart: &Curve| point(chart, line, level);
            curves
                .charts
                .iter()
                .any(|chart| at(chart).is_some())
                .then(|| {
                    for chart in &curves.charts {
                        row.extend(fields(chart, at(chart).as_ref()));
                    }
                    row
                })
        })
    });
    Table {
        id: Some("curves"),
        title: None,
        caption: format!(
            "Each outcome over {}, with 95 % intervals over trials",
            curves.over.factor
        ),
        heads,
        rows: rows.collect(),
    }
}

fn point(chart: &Curve, line: usize, level: usize) -> Option<CurvePoint> {
    let mut points = chart.points.iter();
    points
        .find(|point| (point.line, point.level) == (line, level))
        .cloned()
}

/// Measured here, and what was published where anything was.
fn fields(chart: &Curve, point: Option<&CurvePoint>) -> Vec<Field> {
    let unit = chart.unit;
    let mut fields = vec![point.map_or_else(|| Field::plain(NONE), |point| own(point, unit))];
    if chart.has_published() {
        let published = point.and_then(|point| point.published);
        fields.push(Field::plain(published.map_or_else(
            || NONE.to_owned(),
            |value| text::in_unit(value, unit),
        )));
    }
    fields
}

fn own(point: &CurvePoint, unit: Unit) -> Field {
    let Some(estimate) = &point.estimate else {
        return Field::plain(NONE);
    };
    let interval = estimate.interval;
    Field {
        text: text::in_unit(estimate.point, unit),
        range: interval.map(|(low, high)| {
            format!(
                "{} – {}",
                text::in_unit(low, unit),
                text::in_unit(high, unit)
            )
        }),
        kind: match &point.thin {
            Some(reason) => FieldKind::Thin(reason.clone()),
            None => FieldKind::Plain,
        },
    }
}

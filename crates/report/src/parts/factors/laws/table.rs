//! The coefficients of scaling laws.

use waggle_analysis::{Curve, CurvesModel, Law, LineLaw};
use waggle_stats::{Coefficient, Estimate, FitQuality, PowerLaw, UniversalScalability};

use super::words;
use crate::{
    layout::table::{Column, Field, Table},
    words::format,
};

/// A law with its chart and its line.
struct Row<'a, T> {
    curve: &'a Curve,
    line: &'a LineLaw,
    law: &'a T,
}

impl<T> Row<'_, T> {
    fn holds(&self) -> bool {
        self.line.law.as_ref().is_ok_and(Law::holds)
    }

    fn coefficient(&self, coefficient: &Coefficient, show: impl Fn(f64) -> String) -> Field {
        let field = self.estimate(&coefficient.estimate, show);
        let ends = field
            .side_note()
            .map(|ends| format!("{ends}, at its bound"));
        match coefficient.is_at_bound {
            true => field.with_aside(ends),
            false => field,
        }
    }

    /// Empty if the law does not hold: then it is an estimate of nothing.
    fn estimate(&self, estimate: &Estimate, show: impl Fn(f64) -> String) -> Field {
        if !self.holds() {
            return Field::empty();
        }
        let ends = |(low, high): (f64, f64)| format!("{} – {}", show(low), show(high));
        Field::plain(show(estimate.point)).with_aside(estimate.interval.map(ends))
    }
}

/// The coefficients of the Universal Scalability Law, then those of power laws; each if there is one.
pub(crate) fn coefficients(curves: &CurvesModel) -> impl Iterator<Item = Table> {
    let tables = [universal(curves), power(curves)];
    tables.into_iter().flatten()
}

fn universal(curves: &CurvesModel) -> Option<Table> {
    let rows = rows(curves, |law| match law {
        Law::Universal(law) => Some(law),
        Law::Power(_) => None,
    });
    let mut columns = places(curves);
    columns.extend([
        Column::numbers("scale γ", |row: &Row<'_, UniversalScalability>| {
            let unit = row.curve.unit;
            row.coefficient(&row.law.scale, |value| format::in_unit(value, unit))
        }),
        Column::numbers("contention α", |row: &Row<'_, UniversalScalability>| {
            row.coefficient(&row.law.contention, format::plain)
        }),
        Column::numbers("coherency β", |row: &Row<'_, UniversalScalability>| {
            row.coefficient(&row.law.coherency, format::plain)
        }),
        Column::words("peak", |row: &Row<'_, UniversalScalability>| {
            Field::optional(row.holds().then(|| words::peak(&row.law.peak, curves)))
        }),
        Column::numbers("farthest level", |row: &Row<'_, UniversalScalability>| {
            farthest(&row.law.quality, curves)
        }),
    ]);
    let caption = format!(
        "Universal Scalability Law over {}: γN ÷ (1 + α(N − 1) + βN(N − 1)), with 95 % intervals",
        curves.over.factor
    );
    Table::new("universal-scalability", caption, columns, rows).unless_empty()
}

fn power(curves: &CurvesModel) -> Option<Table> {
    let rows = rows(curves, |law| match law {
        Law::Power(law) => Some(law),
        Law::Universal(_) => None,
    });
    let mut columns = places(curves);
    columns.extend([
        Column::numbers("constant a", |row: &Row<'_, PowerLaw>| {
            let unit = row.curve.unit;
            row.coefficient(&row.law.constant, |value| format::in_unit(value, unit))
        }),
        Column::numbers("factor b", |row: &Row<'_, PowerLaw>| {
            row.coefficient(&row.law.factor, format::plain)
        }),
        Column::numbers("exponent k", |row: &Row<'_, PowerLaw>| {
            row.coefficient(&row.law.exponent, format::plain)
        }),
    ]);
    if rows.iter().any(|row| row.law.break_point.is_some()) {
        columns.extend(break_columns(curves));
    }
    columns.extend([
        Column::numbers("highest ÷ lowest", |row: &Row<'_, PowerLaw>| {
            row.estimate(&row.law.change, format::plain)
        }),
        Column::words("growth", |row: &Row<'_, PowerLaw>| {
            Field::plain(words::growth(row.law.growth))
        }),
        Column::numbers("farthest level", |row: &Row<'_, PowerLaw>| {
            farthest(&row.law.quality, curves)
        }),
    ]);
    let caption = format!(
        "Power laws over {}: a + b·nᵏ, with 95 % intervals; b in µs, bytes or the metric's own unit",
        curves.over.factor
    );
    Table::new("power-laws", caption, columns, rows).unless_empty()
}

/// Where the exponent changes, and to what.
fn break_columns(curves: &CurvesModel) -> [Column<'_, Row<'_, PowerLaw>>; 2] {
    let optional = |field: Option<Field>| field.unwrap_or_else(Field::empty);
    [
        Column::numbers("break", move |row: &Row<'_, PowerLaw>| {
            let break_point = row.law.break_point.as_ref();
            let shown = |level: f64| words::level(level, curves);
            optional(break_point.map(|break_point| row.estimate(&break_point.level, shown)))
        }),
        Column::numbers("exponent beyond", move |row: &Row<'_, PowerLaw>| {
            let break_point = row.law.break_point.as_ref();
            let exponent = break_point.map(|break_point| &break_point.exponent);
            optional(exponent.map(|exponent| row.coefficient(exponent, format::plain)))
        }),
    ]
}

fn rows<'a, T>(
    curves: &'a CurvesModel,
    pick: impl Fn(&'a Law) -> Option<&'a T>,
) -> Vec<Row<'a, T>> {
    let all = curves
        .charts
        .iter()
        .flat_map(|curve| curve.laws.fit().iter().map(move |line| (curve, line)));
    all.filter_map(|(curve, line)| {
        let law = pick(line.law.as_ref().ok()?)?;
        Some(Row { curve, line, law })
    })
    .collect()
}

fn places<'a, T: 'a>(curves: &'a CurvesModel) -> Vec<Column<'a, Row<'a, T>>> {
    let mut columns = vec![Column::words("metric", |row: &Row<'_, T>| {
        Field::plain(&row.curve.name)
    })];
    if !curves.others.is_empty() {
        columns.push(Column::words(
            curves.others.join(", "),
            |row: &Row<'_, T>| Field::plain(&curves.lines[row.line.line].name),
        ));
    }
    columns
}

/// How far the farthest level is from the curve; bad if the law does not hold.
fn farthest(quality: &FitQuality, curves: &CurvesModel) -> Field {
    let share = format::share(quality.farthest.abs());
    let sign = match quality.farthest < 0.0 {
        // Too little for a sign: "< 0.001 %".
        _ if share.starts_with('<') => "",
        true => "−",
        false => "+",
    };
    let off = format!("{sign}{share}");
    Field::plain(off)
        .with_aside(Some(format!(
            "at {}",
            words::level(quality.farthest_level, curves)
        )))
        .bad_if(!quality.holds)
}

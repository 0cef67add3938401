//! Reference results and the study's own.

use serde::Serialize;

use crate::{
    layout::chart_numbers::round_to,
    words::{labels, names::cell_name},
};

use waggle_analysis::{Model, ReferenceModel, ReferenceValue, reference_level};

#[derive(Serialize)]
pub(crate) struct Reference<'a> {
    match_on: String,
    columns: Vec<Column<'a>>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Column<'a> {
    name: &'a str,
    kind: &'static str,
}

#[derive(Serialize)]
struct Row {
    level: String,
    label: String,
    believed: bool,
    /// Of each column: reference, this study, low, high.
    values: Vec<[Option<f64>; 4]>,
}

impl<'a> Reference<'a> {
    pub(crate) fn new(reference: &'a ReferenceModel, model: &Model) -> Self {
        let columns = reference.info.columns.iter().zip(&reference.units);
        let columns = columns.map(|(column, kind)| Column {
            name: &column.name,
            kind: labels::unit(*kind),
        });
        let rows = reference.rows.iter();
        let rows =
            rows.filter_map(|row| Row::new(model, &reference.info.match_on, row.cell, &row.values));
        Self {
            match_on: reference.info.match_on.join(", "),
            columns: columns.collect(),
            rows: rows.collect(),
        }
    }
}

impl Row {
    /// `None` if the study has no such cell, or the cell no such level.
    fn new(
        model: &Model,
        match_on: &[String],
        cell: u32,
        values: &[ReferenceValue],
    ) -> Option<Self> {
        let cell = model.cell(cell)?;
        let levels = match_on.iter();
        let levels: Vec<&str> = levels
            .map(|by| Some(reference_level(cell, by)?.as_str()))
            .collect::<Option<_>>()?;
        Some(Self {
            level: levels.join(", "),
            label: cell_name(model, cell),
            believed: cell.is_free_of_doubt(),
            values: values.iter().map(value).collect(),
        })
    }
}

fn value(value: &ReferenceValue) -> [Option<f64>; 4] {
    let interval = value.estimate.and_then(|estimate| estimate.interval);
    let (low, high) = interval.unzip();
    [value.reference, value.point, low, high].map(|number| number.map(round_to))
}

//! Columns of several tables: the levels of a row, and metrics of a cell or of a step.

use crate::{
    layout::table::{Column, Field},
    words::{
        cell,
        format::{NONE, Unit},
        labels, names,
    },
};
use waggle_analysis::{
    CellModel, Counted, Distribution, Factor, Model, Percentile, TrialPercentile, TrialPercentiles,
};

/// The cell's name if the study gives any, else its level of each factor that tells the cells apart.
pub(crate) fn levels<'a, T: 'a>(
    model: &'a Model,
    cell: impl Fn(&T) -> &'a CellModel + Copy + 'a,
) -> Vec<Column<'a, T>> {
    if model.cells.iter().any(|cell| cell.name.is_some()) {
        let name = move |row: &T| Field::plain(names::cell_name(model, cell(row)));
        return vec![Column::words("cell", name)];
    }
    levels_of(&model.telling, cell)
}

/// The cell's level of each of these factors.
pub(crate) fn levels_of<'a, T: 'a>(
    factors: &'a [Factor],
    cell: impl Fn(&T) -> &'a CellModel + Copy + 'a,
) -> Vec<Column<'a, T>> {
    let mut columns = Vec::new();
    for factor in factors {
        let field = move |row: &T| {
            let mut levels = cell(row).levels.iter();
            let level = levels.find(|(name, _)| *name == factor.name);
            Field::plain(level.map_or(NONE, |(_, level)| level))
        };
        let column = match are_numbers(&factor.levels) {
            true => Column::numbers(&factor.name, field),
            false => Column::words(&factor.name, field),
        };
        columns.push(column.into_row_name());
    }
    columns
}

/// Levels are texts; a column of numeric levels is aligned like numbers.
pub(crate) fn are_numbers<'a>(levels: impl IntoIterator<Item = &'a String>) -> bool {
    let mut levels = levels.into_iter();
    levels.all(|level| level.parse::<f64>().is_ok())
}

/// The cell's derived levels.
pub(crate) fn derived_levels(model: &Model) -> Vec<Column<'_, &CellModel>> {
    let all = model.info.derived.iter().map(|derived| {
        Column::numbers(&derived.name, move |cell: &&CellModel| {
            let mut levels = cell.derived.iter();
            let level = levels.find(|(name, _)| *name == derived.name);
            Field::plain(level.map_or(NONE, |(_, level)| level))
        })
        .into_row_name()
    });
    all.collect()
}

/// As `levels`; the cell's number if the study has no factors.
pub(crate) fn place<'a, T: 'a>(
    model: &'a Model,
    cell: impl Fn(&T) -> &'a CellModel + Copy + 'a,
) -> Vec<Column<'a, T>> {
    if model.factors.is_empty() {
        let number = move |row: &T| Field::plain(cell(row).cell.to_string());
        return vec![Column::numbers("cell", number).into_row_name()];
    }
    levels(model, cell)
}

/// Of a table with a row for each cell.
pub(crate) fn place_of_cell(model: &Model) -> Vec<Column<'_, &CellModel>> {
    place(model, |cell: &&CellModel| *cell)
}

/// Quantiles of times in one trial.
pub(crate) fn time_quantiles<'a, T: 'a>(
    pick: fn(&T) -> Option<&TrialPercentiles>,
) -> [Column<'a, T>; 4] {
    type Read = fn(&TrialPercentiles) -> Option<&TrialPercentile>;
    let quantiles: [(&str, Read); 4] = [
        ("p50", |times| times.p50.as_ref()),
        ("p99", |times| times.p99.as_ref()),
        ("p99.9", |times| times.p999.as_ref()),
        ("max", |times| times.max.as_ref()),
    ];
    quantiles.map(|(head, read)| {
        Column::numbers(head, move |row: &T| {
            let value = pick(row).and_then(read);
            Field::optional(value.map(|value| Unit::Time.show(value.us)))
        })
    })
}

pub(crate) fn verdict<'a>() -> Column<'a, &'a CellModel> {
    Column::words("verdict", |cell: &&CellModel| {
        Field::verdict(cell::verdict(cell))
    })
}

/// Records or requests per second.
pub(crate) fn per_second(counted: Counted) -> String {
    format!("{}/s", labels::counted_word(counted))
}

/// A percentile of a distribution, with its name.
pub(crate) type Quantile = (&'static str, fn(&Distribution) -> &Percentile);

pub(crate) const P50: Quantile = ("p50", |times| &times.p50);
pub(crate) const P90: Quantile = ("p90", |times| &times.p90);
pub(crate) const P99: Quantile = ("p99", |times| &times.p99);
pub(crate) const P999: Quantile = ("p99.9", |times| &times.p999);
pub(crate) const MAX: Quantile = ("max", |times| &times.max);

/// Percentiles of one distribution of a row.
pub(crate) fn percentiles<'a, T: 'a>(
    all: &[Quantile],
    times: impl Fn(&T) -> &'a Distribution + Copy + 'a,
) -> Vec<Column<'a, T>> {
    let column = |&(name, pick): &Quantile| {
        Column::numbers(name, move |row: &T| Field::percentile(pick(times(row))))
    };
    all.iter().map(column).collect()
}

/// The trials of a cell over which a count is summed.
pub(crate) fn summed_over(model: &Model) -> &'static str {
    match model.search {
        Some(_) => "the trials at the highest holding level",
        None => "trials",
    }
}

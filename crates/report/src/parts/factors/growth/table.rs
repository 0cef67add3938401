//! Two levels of a factor along scaling curves.

use super::words;
use crate::{
    layout::table::{Column, Field, Table},
    words::format,
};
use waggle_analysis::{CurvesModel, PairModel};

/// What the pairs of the study show: a row for each in each metric. `None` without pairs.
pub(crate) fn pairs(curves: &CurvesModel) -> Option<Table> {
    let mut columns = places(curves, |pair: &&PairModel| *pair);
    columns.extend([
        Column::numbers(
            format!("difference per {}", curves.over.factor),
            |pair: &&PairModel| difference(pair, curves),
        ),
        Column::numbers("largest ratio", |pair: &&PairModel| {
            pair.largest().map_or_else(Field::empty, |(_, largest)| {
                Field::plain(format::ratio(largest))
            })
        }),
        Column::words("at", |pair: &&PairModel| {
            let level = pair.largest().map(|(level, _)| level);
            Field::optional(level.map(|level| curves.over.levels[level].clone()))
        }),
        Column::words("ahead", |pair: &&PairModel| {
            Field::optional(words::lead(pair, curves))
        }),
    ]);
    let caption = format!(
        "The second level against the first over {}, with 95 % intervals: the slope of their difference, and the ratio that is farthest \
         from 1",
        curves.over.factor
    );
    Table::new("pairs", caption, columns, &curves.pairs).unless_empty()
}

/// The ratio of each pair at each level.
pub(crate) fn pair_ratios(curves: &CurvesModel) -> Option<Table> {
    type Row<'a> = (&'a PairModel, usize);
    let rows = curves.pairs.iter().flat_map(|pair| {
        let ratios = pair.ratios.iter().enumerate();
        ratios.filter_map(move |(level, ratio)| ratio.map(|_| (pair, level)))
    });
    let mut columns = places(curves, |(pair, _): &Row<'_>| *pair);
    columns.extend([
        Column::numbers(&curves.over.factor, |(_, level): &Row<'_>| {
            Field::plain(&curves.over.levels[*level])
        }),
        Column::numbers("ratio", |(pair, level): &Row<'_>| {
            match &pair.ratios[*level] {
                Some(ratio) => Field::plain(format::times(ratio.point))
                    .with_aside(ratio.interval.map(format::ratio_ends)),
                None => Field::empty(),
            }
        }),
    ]);
    let caption = "The second level of each pair over the first, with 95 % intervals";
    Table::new("pair-ratios", caption, columns, rows).unless_empty()
}

fn places<'a, T: 'a>(curves: &'a CurvesModel, pair: fn(&T) -> &PairModel) -> Vec<Column<'a, T>> {
    let mut columns = vec![
        Column::words("metric", move |row: &T| {
            Field::plain(&curves.charts[pair(row).chart].name)
        }),
        Column::words("pair", move |row: &T| {
            let [first, second] = &pair(row).levels;
            Field::plain(format!("{second} ÷ {first}"))
        }),
    ];
    if curves.others.len() > 1 {
        columns.push(Column::words("at equal", move |row: &T| {
            Field::plain(&pair(row).rest)
        }));
    }
    columns
}

/// The slope of the difference; empty if it is no straight line.
fn difference(pair: &PairModel, curves: &CurvesModel) -> Field {
    let Some(slope) = pair.difference else {
        return Field::empty();
    };
    if !slope.is_straight {
        return Field::plain("not proportional");
    }
    let unit = curves.charts[pair.chart].unit;
    let ends = slope.per_unit.interval;
    let may_be_zero = ends.is_some_and(|(low, high)| low <= 0.0 && high >= 0.0);
    if may_be_zero && pair.largest().is_none() {
        return Field::plain("none shown");
    }
    Field::plain(format::in_unit(slope.per_unit.point, unit))
        .with_aside(ends.map(|ends| format::ends_in_unit(ends, unit)))
}

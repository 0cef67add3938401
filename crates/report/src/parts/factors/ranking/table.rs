//! The levels of a factor from the best to the worst.

use crate::{
    layout::table::{Column, Field, Table},
    words::format,
};
use waggle_analysis::{Model, RankedLevel, RankedOutcome, RankingModel};

struct Row<'a> {
    ranking: &'a RankingModel,
    outcome: &'a RankedOutcome,
    level: &'a RankedLevel,
}

/// A row for each level; `None` if no factor is ranked.
pub(crate) fn ranking(model: &Model) -> Option<Table> {
    let mut rows = Vec::new();
    for ranking in &model.rankings {
        for outcome in &ranking.outcomes {
            rows.extend(outcome.levels.iter().map(|level| Row {
                ranking,
                outcome,
                level,
            }));
        }
    }
    let mut columns = Vec::new();
    if model
        .rankings
        .iter()
        .any(|ranking| ranking.outcomes.len() > 1)
    {
        columns.push(Column::words("metric", |row: &Row<'_>| {
            Field::plain(&row.outcome.name)
        }));
    }
    if model.rankings.len() > 1 {
        columns.push(Column::words("factor", |row: &Row<'_>| {
            Field::plain(&row.ranking.factor)
        }));
    }
    columns.extend([
        Column::numbers("place", |row: &Row<'_>| Field::plain(places(row.level))),
        Column::words("level", |row: &Row<'_>| Field::plain(&row.level.level)),
        Column::numbers("mean", |row: &Row<'_>| {
            let (mean, unit) = (&row.level.mean, row.outcome.unit);
            let ends = mean.interval.map(|ends| format::ends_in_unit(ends, unit));
            Field::plain(format::in_unit(mean.point, unit)).with_aside(ends)
        }),
        Column::numbers("ratio to the best", |row: &Row<'_>| {
            match &row.level.ratio {
                Some(ratio) => Field::plain(format::times(ratio.point))
                    .with_aside(ratio.interval.map(format::ratio_ends)),
                None => Field::plain("1"),
            }
        }),
        Column::words("not shown to differ from", |row: &Row<'_>| {
            Field::plain(row.level.alike.join(", "))
        }),
        Column::numbers("unreliable cells", |row: &Row<'_>| {
            Field::nothing_expected(row.level.doubtful as u64)
        }),
    ]);
    let caption = "Levels from the best to the worst, each the geometric mean over the levels of all other factors, with 95 % intervals; \
                   place: where the pairs that are shown to differ leave it";
    Table::new("ranking", caption, columns, rows)
        .with_title("Ranked levels")
        .unless_empty()
}

/// `1`, or `2–4` if pairs are not shown to differ.
fn places(level: &RankedLevel) -> String {
    match level.places {
        (first, last) if first >= last => first.to_string(),
        (first, last) => format!("{first}–{last}"),
    }
}

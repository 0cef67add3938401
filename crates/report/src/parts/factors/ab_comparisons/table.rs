//! A/B comparison: two levels of a factor, at each level of another.

use waggle_stats::Estimate;

use crate::{
    layout::table::{Column, Field, Table},
    words::{format, labels},
};
use waggle_analysis::{Compared, ComparisonModel, Found, Measure, Without};

/// One comparison at one level, of one line.
struct At<'a> {
    of: &'a ComparisonModel,
    line: usize,
    level: usize,
}

/// All comparisons in one table; `None` if the study has none.
pub(crate) fn comparisons(all: &[ComparisonModel]) -> Option<Table> {
    // Outcomes as they first come: one comparison may lack what another has.
    let mut names: Vec<(&str, Measure)> = Vec::new();
    for outcome in all.iter().flat_map(|entry| &entry.outcomes) {
        if !names.iter().any(|(name, _)| *name == outcome.name) {
            names.push((&outcome.name, outcome.measure));
        }
    }
    let mut columns = vec![
        Column::words("levels", |row: &At<'_>| Field::plain(levels_text(row))),
        Column::words("at", |row: &At<'_>| Field::plain(at_level(row))),
    ];
    for (name, measure) in names {
        let head = match measure {
            Measure::Ratio => name.to_owned(),
            Measure::Difference => format!("{name}, percentage points"),
        };
        columns.push(Column::numbers(head, move |row: &At<'_>| {
            let mut outcomes = row.of.outcomes.iter();
            let outcome = outcomes.find(|outcome| outcome.name == name);
            outcome.map_or_else(Field::empty, |outcome| field(outcome, row))
        }));
    }
    columns.push(Column::words("not valid", |row: &At<'_>| {
        Field::plain(doubtful(row))
    }));
    let caption = "Ratios of the two levels, and differences of error rates in percentage points, with 95 % intervals";
    Table::new("comparison", caption, columns, rows(all))
        .with_title("A/B comparison, level by level")
        .unless_empty()
}

fn rows(all: &[ComparisonModel]) -> Vec<At<'_>> {
    let mut rows = Vec::new();
    for comparison in all {
        for line in 0..comparison.lines.len() {
            let levels = 0..comparison.over.levels.len();
            rows.extend(levels.map(|level| At {
                of: comparison,
                line,
                level,
            }));
        }
    }
    rows
}

fn levels_text(row: &At<'_>) -> String {
    format!("{} vs {}", row.of.levels[1], row.of.levels[0])
}

fn at_level(row: &At<'_>) -> String {
    let over = &row.of.over;
    let level = format!("{}={}", over.factor, over.levels[row.level]);
    match row.of.lines[row.line].name.as_str() {
        "" => level,
        line => format!("{level}, {line}"),
    }
}

fn doubtful(row: &At<'_>) -> String {
    let doubtful = row.of.doubtful[row.line][row.level].iter();
    let doubtful: Vec<String> = doubtful
        .map(|(which, verdict)| format!("{which} {}", labels::verdict(*verdict)))
        .collect();
    doubtful.join(", ")
}

fn field(outcome: &Compared, row: &At<'_>) -> Field {
    let levels = &row.of.levels;
    let difference = match &outcome.at[row.line][row.level] {
        Found::Number(difference) => difference,
        Found::NoSuccess(none) => {
            return Field::plain(match none.of {
                Without::First => format!("{}: no success", levels[0]),
                Without::Second => format!("{}: no success", levels[1]),
                Without::Both => "no success".to_owned(),
            });
        }
        Found::Nothing => return Field::empty(),
    };
    estimate_field(outcome.measure, &difference.estimate)
        .with_shown(outcome.shown_of(difference), outcome.family)
}

fn estimate_field(measure: Measure, estimate: &Estimate) -> Field {
    match measure {
        Measure::Ratio => Field::plain(format::times(estimate.point))
            .with_aside(estimate.interval.map(format::ratio_ends)),
        Measure::Difference => Field::plain(format::three_digits(100.0 * estimate.point))
            .with_aside(estimate.interval.map(format::point_ends)),
    }
}

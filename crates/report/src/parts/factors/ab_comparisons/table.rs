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
    for outcome in all.iter().flat_map(|one| &one.outcomes) {
        if !names.iter().any(|(name, _)| *name == outcome.name) {
            names.push((&outcome.name, outcome.measure));
        }
    }
    let mut columns = vec![
        Column::words("levels", |at: &At<'_>| Field::plain(levels_text(at))),
        Column::words("at", |at: &At<'_>| Field::plain(at_level(at))),
    ];
    columns.extend(names.into_iter().map(|(name, measure)| {
        let head = match measure {
            Measure::Ratio => name.to_owned(),
            Measure::Difference => format!("{name}, percentage points"),
        };
        Column::numbers(head, move |at: &At<'_>| {
            let mut outcomes = at.of.outcomes.iter();
            outcomes
                .find(|outcome| outcome.name == name)
                .map_or_else(Field::empty, |outcome| field(outcome, at))
        })
    }));
    columns.push(Column::words("not valid", |at: &At<'_>| {
        Field::plain(doubtful(at))
    }));
    let rows = all.iter().flat_map(|of| {
        let lines = 0..of.lines.len();
        lines.flat_map(move |line| {
            let levels = 0..of.over.levels.len();
            levels.map(move |level| At { of, line, level })
        })
    });
    let caption = "Ratios of the two levels, and differences of error rates in percentage points, with 95 % intervals";
    Table::new("comparison", caption, columns, rows)
        .with_title("A/B comparison, level by level")
        .unless_empty()
}

fn levels_text(at: &At<'_>) -> String {
    format!("{} vs {}", at.of.levels[1], at.of.levels[0])
}

fn at_level(at: &At<'_>) -> String {
    let over = &at.of.over;
    let level = format!("{}={}", over.factor, over.levels[at.level]);
    match at.of.lines[at.line].name.as_str() {
        "" => level,
        line => format!("{level}, {line}"),
    }
}

fn doubtful(at: &At<'_>) -> String {
    let doubtful = at.of.doubtful[at.line][at.level].iter();
    let doubtful: Vec<String> = doubtful
        .map(|(which, verdict)| format!("{which} {}", labels::verdict(*verdict)))
        .collect();
    doubtful.join(", ")
}

fn field(outcome: &Compared, at: &At<'_>) -> Field {
    let levels = &at.of.levels;
    let found = match &outcome.at[at.line][at.level] {
        Found::Number(found) => found,
        Found::NoSuccess(none) => {
            return Field::plain(match none.of {
                Without::First => format!("{}: no success", levels[0]),
                Without::Second => format!("{}: no success", levels[1]),
                Without::Both => "no success".to_owned(),
            });
        }
        Found::Nothing => return Field::empty(),
    };
    estimate_field(outcome.measure, &found.estimate)
        .with_shown(outcome.shown_of(found), outcome.family)
}

fn estimate_field(measure: Measure, found: &Estimate) -> Field {
    match measure {
        Measure::Ratio => Field::plain(format::times(found.point))
            .with_aside(found.interval.map(format::ratio_ends)),
        Measure::Difference => Field::plain(format::three_digits(100.0 * found.point))
            .with_aside(found.interval.map(format::point_ends)),
    }
}

//! Two levels of a factor against each other, at each level of another.

use waggle_stats::Estimate;

use super::{Align, Field, FieldKind, Head, Table};
use crate::{
    text::{self, NONE},
    words,
};
use waggle_analysis::{Compared, ComparisonModel, Found, Measure, Without};

/// All comparisons in one table; `None` where there is none.
pub(crate) fn comparisons(all: &[ComparisonModel]) -> Option<Table> {
    // Outcomes as they first come: one comparison may lack what another has.
    let mut names: Vec<(&str, Measure)> = Vec::new();
    for outcome in all.iter().flat_map(|one| &one.outcomes) {
        if !names.iter().any(|(name, _)| *name == outcome.name) {
            names.push((&outcome.name, outcome.measure));
        }
    }
    let head = |text: String, align| Head { text, align };
    let mut heads: Vec<Head> = ["compared", "at"]
        .map(|text| head(text.to_owned(), Align::Left))
        .into();
    heads.extend(names.iter().map(|(name, measure)| match measure {
        Measure::Ratio => head((*name).to_owned(), Align::Right),
        Measure::Difference => head(format!("{name}, points"), Align::Right),
    }));
    heads.push(head("not valid".to_owned(), Align::Left));
    let rows: Vec<Vec<Field>> = all.iter().flat_map(|one| rows(one, &names)).collect();
    (!rows.is_empty()).then(|| Table {
        id: Some("comparisons"),
        title: Some("Compared, level by level"),
        caption: "One level against the other: ratios, and of failed requests differences in points of a hundred, with 95 % intervals"
            .to_owned(),
        heads,
        rows,
    })
}

fn rows(one: &ComparisonModel, names: &[(&str, Measure)]) -> Vec<Vec<Field>> {
    let mut rows = Vec::new();
    for (line, of) in one.lines.iter().enumerate() {
        for (level, name) in one.over.levels.iter().enumerate() {
            let with = if of.name.is_empty() {
                String::new()
            } else {
                format!(", {}", of.name)
            };
            let mut row = vec![
                Field::plain(format!("{} against {}", one.levels[1], one.levels[0])),
                Field::plain(format!("{}={name}{with}", one.over.factor)),
            ];
            row.extend(names.iter().map(|(name, _)| {
                let outcome = one.outcomes.iter().find(|outcome| outcome.name == *name);
                outcome.map_or_else(
                    || Field::plain(NONE),
                    |outcome| field(outcome, &outcome.at[line][level], &one.levels),
                )
            }));
            let doubtful: Vec<String> = one.doubtful[line][level]
                .iter()
                .map(|(which, verdict)| format!("{which} {}", words::verdict(*verdict)))
                .collect();
            row.push(Field::plain(doubtful.join(", ")));
            rows.push(row);
        }
    }
    rows
}

fn field(outcome: &Compared, found: &Found, levels: &[String; 2]) -> Field {
    let found = match found {
        Found::Number(found) => found,
        Found::NoSuccess(none) => {
            return Field::plain(match none.of {
                Without::First => format!("{}: no success", levels[0]),
                Without::Second => format!("{}: no success", levels[1]),
                Without::Both => "no success".to_owned(),
            });
        }
        Found::Nothing => return Field::plain(NONE),
    };
    let (text, range) = shown(outcome.measure, found);
    let is_clear = waggle_stats::side_of(found, outcome.measure.even()).is_some();
    Field {
        text,
        range,
        kind: if is_clear {
            FieldKind::Plain
        } else {
            FieldKind::Even
        },
    }
}

fn shown(measure: Measure, found: &Estimate) -> (String, Option<String>) {
    match measure {
        Measure::Ratio => (
            text::times(found.point),
            found.interval.map(text::ratio_ends),
        ),
        Measure::Difference => (
            text::three(100.0 * found.point),
            found.interval.map(text::point_ends),
        ),
    }
}

//! `effects.csv`: a row for each share of the variation, each level against the first, and each comparison at a level of
//! another factor; numbers in full.

use waggle_stats::{Estimate, Source, Variation};

use crate::layout::{
    csv::{number, to_csv},
    table::{Column, Field, Table},
};

use waggle_analysis::{EffectsModel, OutcomeEffects};

/// The table of effects.
#[must_use]
pub fn effects(effects: &EffectsModel) -> String {
    let mut rows: Vec<OfOutcome<'_>> = Vec::new();
    for outcome in &effects.outcomes {
        let of_outcome = shares(effects, outcome)
            .into_iter()
            .chain(levels(effects, outcome))
            .chain(comparisons(effects, outcome));
        rows.extend(of_outcome.map(|row| (outcome, row)));
    }
    let caption = "Shares of the variation, levels and comparisons, in full";
    to_csv(&Table::new("effects", caption, columns(), rows))
}

/// A row with the outcome that it is about.
type OfOutcome<'a> = (&'a OutcomeEffects, Row<'a>);

fn columns<'a>() -> Vec<Column<'a, OfOutcome<'a>>> {
    let interval = |row: &Row<'_>| row.ratio.and_then(|ratio| ratio.interval);
    vec![
        Column::words("outcome", |(outcome, _): &OfOutcome<'_>| {
            Field::plain(&outcome.column)
        }),
        text("kind", |row| row.kind),
        text("factor", |row| row.factor),
        text("level", |row| row.level),
        text("baseline_level", |row| row.baseline_level),
        text("other_factor", |row| row.other.0),
        text("other_level", |row| row.other.1),
        measured_column("ratio", |row| row.ratio.map(|ratio| ratio.point)),
        measured_column("ratio_low", move |row| interval(row).map(|(low, _)| low)),
        measured_column("ratio_high", move |row| interval(row).map(|(_, high)| high)),
        count("trials", |row| row.ratio.map(|ratio| ratio.count)),
        measured_column("share", |row| row.share.map(|(share, ..)| share)),
        count("degrees_of_freedom", |row| {
            row.share.map(|(_, degrees, _)| degrees)
        }),
        Column::numbers(
            "residual_degrees_of_freedom",
            |(outcome, _): &OfOutcome<'_>| Field::plain(outcome.degrees.to_string()),
        ),
        measured_column("p_value", |row| row.share.and_then(|(.., chance)| chance)),
        Column::words("as_measured", |(outcome, _): &OfOutcome<'_>| {
            Field::plain(if outcome.is_as_measured { "yes" } else { "no" })
        }),
    ]
}

fn text<'a>(
    head: &str,
    pick: impl for<'r> Fn(&'r Row<'a>) -> &'r str + 'a,
) -> Column<'a, OfOutcome<'a>> {
    Column::words(head, move |(_, row): &OfOutcome<'a>| {
        Field::plain(pick(row))
    })
}

fn measured_column<'a>(
    head: &str,
    pick: impl Fn(&Row<'a>) -> Option<f64> + 'a,
) -> Column<'a, OfOutcome<'a>> {
    Column::numbers(head, move |(_, row): &OfOutcome<'a>| {
        Field::plain(pick(row).map(number::number).unwrap_or_default())
    })
}

fn count<'a>(
    head: &str,
    pick: impl Fn(&Row<'a>) -> Option<usize> + 'a,
) -> Column<'a, OfOutcome<'a>> {
    Column::numbers(head, move |(_, row): &OfOutcome<'a>| {
        Field::plain(
            pick(row)
                .map(|number| number.to_string())
                .unwrap_or_default(),
        )
    })
}

/// One row; what does not apply is empty.
#[derive(Default)]
struct Row<'a> {
    kind: &'static str,
    factor: &'a str,
    level: &'a str,
    baseline_level: &'a str,
    other: (&'a str, &'a str),
    ratio: Option<Estimate>,
    /// Share, degrees of freedom, p.
    share: Option<(f64, usize, Option<f64>)>,
}

fn shares<'a>(effects: &'a EffectsModel, outcome: &'a OutcomeEffects) -> Vec<Row<'a>> {
    let parts = outcome.parts.iter();
    parts.map(|part| share(effects, part)).collect()
}

fn share<'a>(effects: &'a EffectsModel, part: &Variation) -> Row<'a> {
    let name = |place: usize| effects.factors[place].name.as_str();
    let (kind, factor, other) = match part.of {
        Source::Factor(factor) => ("factor", name(factor), ""),
        Source::Pair(a, b) => ("interaction", name(a), name(b)),
        Source::Further => ("further interactions", "", ""),
        Source::Trials => ("trial to trial", "", ""),
    };
    Row {
        kind,
        factor,
        other: (other, ""),
        share: Some((part.share, part.degrees, part.p_value)),
        ..Row::default()
    }
}

fn levels<'a>(effects: &'a EffectsModel, outcome: &'a OutcomeEffects) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (factor, ratios) in effects.factors.iter().zip(&outcome.ratios) {
        let levels = factor.levels.iter().skip(1).zip(ratios);
        rows.extend(levels.map(|(level, ratio)| Row {
            kind: "level",
            factor: &factor.name,
            level,
            baseline_level: &factor.levels[0],
            ratio: Some(*ratio),
            ..Row::default()
        }));
    }
    rows
}

fn comparisons<'a>(effects: &'a EffectsModel, outcome: &'a OutcomeEffects) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for comparison in &outcome.comparisons {
        let factor = &effects.factors[comparison.factor];
        let by = &effects.factors[comparison.by];
        for (held, ratio) in by.levels.iter().zip(&comparison.ratios) {
            rows.push(Row {
                kind: "comparison",
                factor: &factor.name,
                level: &factor.levels[comparison.level],
                baseline_level: &factor.levels[0],
                other: (&by.name, held),
                ratio: Some(ratio.estimate),
                ..Row::default()
            });
        }
    }
    rows
}

//! The report's tables as plain values; Markdown and the page lay out the same ones.

mod busiest;
mod comparisons;
mod curves;
mod disturbed;
mod effects;
mod numbers;
mod over_time;
mod published;
mod records;
mod recovery;
mod search;
mod steps;
mod trials;
mod trust;

use waggle_stats::Estimate;

use crate::{
    rows,
    text::{self, NONE, Unit},
};
use waggle_analysis::{CellModel, Model, Percentile};

pub(crate) use busiest::busiest;
pub(crate) use comparisons::comparisons;
pub(crate) use curves::curves;
pub(crate) use disturbed::disturbances;
pub(crate) use effects::{dependences, ratios, shares};
pub(crate) use numbers::{cells, cost, failures, spectrum, watches};
pub(crate) use over_time::over_time;
pub(crate) use published::published;
pub(crate) use records::{delay, ledger, meanings};
pub(crate) use recovery::recovery;
pub(crate) use search::{answers, tried};
pub(crate) use steps::{sessions, step_failures, steps};
pub(crate) use trials::trials;
pub(crate) use trust::{thresholds, verdicts};

/// A table: heads, then rows of as many fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Short and unique; an anchor in the page.
    pub(crate) id: Option<&'static str>,
    /// Heads it where it is not the first of its section; the page's caption says enough.
    pub(crate) title: Option<&'static str>,
    pub(crate) caption: String,
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<Vec<Field>>,
}

/// A column's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) text: String,
    pub(crate) align: Align,
}

/// Numbers stand right, words left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Heads of columns that hold words.
const WORDS: [&str; 7] = [
    "verdict",
    "reasons",
    "kind",
    "killed",
    "down",
    "used most CPU",
    "next",
];

/// What stands in one square of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) text: String,
    /// The interval, in smaller letters.
    pub(crate) range: Option<String>,
    pub(crate) kind: FieldKind,
}

/// How a field is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Plain,
    /// Greyed, with the reason.
    Thin(String),
    /// Greyed, for it may be chance, with how likely that is.
    Chance(String),
    /// Greyed: its interval holds that there is no difference.
    Even,
    Verdict,
    /// Something is wrong here.
    Bad,
}

impl Field {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            range: None,
            kind: FieldKind::Plain,
        }
    }

    /// A count that should be nothing.
    fn nothing_expected(value: u64) -> Self {
        let kind = if value > 0 {
            FieldKind::Bad
        } else {
            FieldKind::Plain
        };
        Self {
            text: text::count(value),
            range: None,
            kind,
        }
    }

    fn estimate(estimate: Option<&Estimate>, unit: Unit) -> Self {
        let Some(estimate) = estimate else {
            return Self::plain(NONE);
        };
        let range = estimate.interval.map(|_| text::interval(estimate, unit));
        Self {
            text: unit.show(estimate.point),
            range,
            kind: FieldKind::Plain,
        }
    }

    fn percentile(percentile: &Percentile) -> Self {
        let field = Self::estimate(percentile.estimate.as_ref(), Unit::Time);
        match &percentile.thin {
            Some(reason) if percentile.estimate.is_some() => Self {
                kind: FieldKind::Thin(reason.clone()),
                ..field
            },
            _ => field,
        }
    }

    pub(crate) fn verdict(text: String) -> Self {
        Self {
            text,
            range: None,
            kind: FieldKind::Verdict,
        }
    }
}

/// How many failed, and in small letters how many of a hundred.
fn error_count(failed: u64, share: Option<f64>) -> Field {
    match share {
        None => Field::plain(NONE),
        Some(_) if failed == 0 => Field::plain("0"),
        Some(share) => Field {
            range: Some(text::share(share)),
            ..Field::nothing_expected(failed)
        },
    }
}

fn heads(model: &Model, numbers: &[&str]) -> Vec<Head> {
    // A level is a word to its reader, but a column of numbers is read by its digits.
    let factors = model.factors.iter().map(|factor| Head {
        text: factor.name.clone(),
        align: if factor
            .levels
            .iter()
            .all(|level| level.parse::<f64>().is_ok())
        {
            Align::Right
        } else {
            Align::Left
        },
    });
    // Levels name a cell; its number is needed only where there are none.
    let cell = model.factors.is_empty().then(|| Head {
        text: "cell".to_owned(),
        align: Align::Right,
    });
    let numbers = numbers.iter().map(|head| Head {
        text: (*head).to_owned(),
        align: if WORDS.contains(head) {
            Align::Left
        } else {
            Align::Right
        },
    });
    cell.into_iter().chain(factors).chain(numbers).collect()
}

/// Which trials of a cell a count is the sum of.
fn summed_over(model: &Model) -> &'static str {
    match model.find {
        Some(_) => "the trials at the highest level that holds",
        None => "trials",
    }
}

fn place(model: &Model, cell: &CellModel) -> Vec<Field> {
    let number = model.factors.is_empty().then(|| cell.cell.to_string());
    number
        .into_iter()
        .chain(rows::levels(model, cell))
        .map(Field::plain)
        .collect()
}

fn by_cell(model: &Model, fields: impl Fn(&CellModel) -> Vec<Field>) -> Vec<Vec<Field>> {
    model
        .cells
        .iter()
        .map(|cell| {
            let mut row = place(model, cell);
            row.extend(fields(cell));
            row
        })
        .collect()
}

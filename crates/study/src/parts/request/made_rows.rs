//! Rows of a feed that are made from their numbers.

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{GeneratedRows, RowValue};

use crate::{
    at::{At, Key},
    check::Checker,
    feed_text::is_column,
    mistake::Finding,
    raw::scalar_or_mapping,
    tree::quote,
};

/// Rows that are made: the same each time, unless the seed is another one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Generate {
    /// How many rows there are.
    #[schemars(required, range(min = 1, max = 1_000_000_000))]
    pub rows: Key<u64>,
    /// Another seed makes other rows; 1 by default.
    pub seed: Key<u64>,
    /// The columns: a text, in which {{n}} is the number of the row, counted from 1, or a random value.
    #[schemars(required, length(min = 1, max = 100))]
    pub columns: Key<IndexMap<String, At<MadeColumn>>>,
}

/// `schema-{{n}}`, `{integer: [1, 6]}`, `{text: [10, 40]}` or `{choice: {AVRO: 8, JSON: 2}}`.
#[derive(Debug, Clone)]
pub(crate) enum MadeColumn {
    Numbered(String),
    Random(Box<RandomColumn>),
}

scalar_or_mapping!(
    MadeColumn,
    Numbered(String),
    Random(Box<RandomColumn>),
    "a text, integer, text or choice"
);

/// A random value; exactly one of integer, text and choice.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RandomColumn {
    /// A whole number from the first to the second.
    #[schemars(length(min = 2, max = 2))]
    pub integer: Key<Vec<i64>>,
    /// So many lower-case letters and digits, from the first number to the second.
    #[schemars(length(min = 2, max = 2))]
    pub text: Key<Vec<u32>>,
    /// One of these texts, by its weight.
    #[schemars(length(min = 1, max = 1_000), extend("x-waggle-keys" = "text"))]
    pub choice: Key<IndexMap<String, u32>>,
}

const ROWS_MAX: u64 = 1_000_000_000;
const COLUMNS_MAX: usize = 100;
/// Most letters of a text.
const TEXT_MAX: u32 = 1 << 20;
/// The number of the row.
const NUMBER: &str = "{{n}}";

pub(super) fn made_rows(checker: &mut Checker<'_>, keys: &Generate) -> Option<Arc<GeneratedRows>> {
    // The schema has reported another number.
    let count = keys.rows.value().copied();
    let count = count.filter(|rows| (1..=ROWS_MAX).contains(rows));
    let columns = keys.columns.value()?;
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        return None;
    }
    let mut made = Vec::new();
    for (name, column) in columns {
        if !is_column(name) {
            let what = format!("{} is no name of a column", quote(name));
            let finding = Finding::new(column.place.key, what);
            checker.report(finding.with_expected("letters, digits, - and _"));
            continue;
        }
        made.extend(value(checker, column).map(|value| (name.clone(), value)));
    }
    let is_whole = made.len() == columns.len();
    let rows = GeneratedRows {
        count: usize::try_from(count?).ok()?,
        seed: keys.seed.value().copied().unwrap_or(1),
        columns: made,
    };
    is_whole.then(|| Arc::new(rows))
}

fn value(checker: &mut Checker<'_>, At { place, value }: &At<MadeColumn>) -> Option<RowValue> {
    let random = match value {
        MadeColumn::Numbered(text) => {
            let texts: Vec<String> = text.split(NUMBER).map(str::to_owned).collect();
            if texts.iter().any(|text| text.contains("{{")) {
                let mistake = place.mistake(format!("is {}", quote(text)));
                checker.report(mistake.with_expected("a text with no variable but {{n}}"));
                return None;
            }
            return Some(RowValue::Numbered(texts));
        }
        MadeColumn::Random(random) => random,
    };
    let integer = random.integer.value().map(Vec::as_slice);
    let text = random.text.value().map(Vec::as_slice);
    let is_invalid =
        random.integer.is_invalid() || random.text.is_invalid() || random.choice.is_invalid();
    match (integer, text, random.choice.value()) {
        (Some(&[min, max]), None, None) if min <= max => Some(RowValue::Integer { min, max }),
        (None, Some(&[min, max]), None) if min <= max && max <= TEXT_MAX => Some(RowValue::Text {
            min: min as usize,
            max: max as usize,
        }),
        (None, None, Some(choice)) if choice.values().any(|weight| *weight > 0) => {
            Some(RowValue::Choice(choice.clone().into_iter().collect()))
        }
        (None, None, None) if is_invalid => None,
        _ => {
            let expected = format!(
                "one of integer: [least, most], text: [least, most], most at most {TEXT_MAX}, and choice: {{ text: weight }}, a weight above 0"
            );
            let mistake = place.mistake("is no rule for a value");
            checker.report(mistake.with_expected(expected));
            None
        }
    }
}

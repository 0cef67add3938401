//! Rows of a feed that are made from their numbers.

use std::sync::Arc;

use waggle_spec::{GeneratedRows, RowValue};

use super::path::Path;
use crate::{check::Checker, feed_text::is_column, mistake::Finding, raw, tree::quote};

const ROWS_MAX: u64 = 1_000_000_000;
const COLUMNS_MAX: usize = 100;
/// Most letters of a text.
const TEXT_MAX: u32 = 1 << 20;
/// The number of the row.
const NUMBER: &str = "{{n}}";

pub(super) fn made_rows(
    checker: &mut Checker<'_>,
    raw: raw::Generate,
    path: &Path,
) -> Option<Arc<GeneratedRows>> {
    let path = path.child("generate");
    // The schema has reported another number.
    let count = raw.rows.filter(|rows| (1..=ROWS_MAX).contains(rows));
    let columns = raw.columns.unwrap_or_default();
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        return None;
    }
    let path = path.child("columns");
    let mut made = Vec::new();
    let given = columns.len();
    for (name, column) in columns {
        let here = path.child(&name);
        if !is_column(&name) {
            let what = format!("{} is no name of a column", quote(&name));
            let position = checker.key(&here.steps());
            checker.report(Finding::new(position, what).with_expected("letters, digits, - and _"));
            continue;
        }
        made.extend(value(checker, column, &here).map(|value| (name, value)));
    }
    let is_whole = made.len() == given;
    let rows = GeneratedRows {
        count: usize::try_from(count?).ok()?,
        seed: raw.seed.unwrap_or(1),
        columns: made,
    };
    is_whole.then(|| Arc::new(rows))
}

fn value(checker: &mut Checker<'_>, raw: raw::MadeColumn, path: &Path) -> Option<RowValue> {
    let random = match raw {
        raw::MadeColumn::Numbered(text) => {
            let texts: Vec<String> = text.split(NUMBER).map(str::to_owned).collect();
            if texts.iter().any(|text| text.contains("{{")) {
                let what = format!("{} is {}", path.to_text(""), quote(&text));
                report(checker, path, what, "a text with no variable but {{n}}");
                return None;
            }
            return Some(RowValue::Numbered(texts));
        }
        raw::MadeColumn::Random(random) => random,
    };
    match (
        random.integer.as_deref(),
        random.text.as_deref(),
        random.choice,
    ) {
        (Some(&[from, to]), None, None) if from <= to => {
            Some(RowValue::Integer { min: from, max: to })
        }
        (None, Some(&[from, to]), None) if from <= to && to <= TEXT_MAX => Some(RowValue::Text {
            min: from as usize,
            max: to as usize,
        }),
        (None, None, Some(choice)) if choice.values().any(|weight| *weight > 0) => {
            Some(RowValue::Choice(choice.into_iter().collect()))
        }
        (None, None, None) if is_any_invalid(checker, path) => None,
        _ => {
            let what = format!("{} is no rule for a value", path.to_text(""));
            let expected = format!(
                "one of integer: [least, most], text: [least, most], most at most {TEXT_MAX}, and choice: {{ text: weight }}, a weight above 0"
            );
            report(checker, path, what, &expected);
            None
        }
    }
}

fn is_any_invalid(checker: &Checker<'_>, path: &Path) -> bool {
    let keys = ["integer", "text", "choice"];
    let mut keys = keys.iter();
    keys.any(|key| checker.is_invalid(&path.child(key).steps()))
}

fn report(checker: &mut Checker<'_>, path: &Path, what: String, expected: &str) {
    let position = checker.position_of(&path.steps());
    checker.report(Finding::new(position, what).with_expected(expected));
}

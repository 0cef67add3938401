//! How the parts of a record are extracted from its line.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    at::{At, Key, Place},
    check::Checker,
    parts::texts::{refuse_key, require_key},
};

/// How the parts of a record are extracted from its line: `after` for each, or with query `column` for each.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extract {
    /// The line's offset, for tail without items.
    pub offset: Key<ValueAt>,
    /// The record's key.
    #[schemars(required)]
    pub key: Key<ValueAt>,
    /// The mark of the trial. Only with query it can be left out: then every record in the answer is the trial's.
    pub run: Key<ValueAt>,
    /// The record's time: nanoseconds since 1970, in a column also as in RFC 3339. Without it the time is at the end of the line,
    /// as in line protocol (not with tail, not with columns).
    pub time: Key<ValueAt>,
    /// When the store had the record, in nanoseconds since 1970, for tail without items; a line may lack it.
    pub arrival: Key<ValueAt>,
}

/// How a value is found in a line: exactly one of after and column.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValueAt {
    /// The text immediately before it.
    pub after: Key<String>,
    /// Its column, by the header of CSV.
    pub column: Key<String>,
}

pub(super) fn extract(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Extract>,
    kind: &str,
) -> Option<crate::Extract> {
    let values = [&keys.offset, &keys.key, &keys.run, &keys.time];
    let is_column = |value: &ValueAt| value.column.is_some();
    let has_columns =
        kind == "query" && values.iter().any(|key| key.value().is_some_and(is_column));
    let expected = match has_columns {
        true => "{ column: NAME }",
        false => "{ after: TEXT }",
    };
    if kind == "tail" {
        require_key(checker, place, &keys.offset, "offset", expected);
    } else {
        refuse_key(checker, &keys.offset, kind);
        refuse_key(checker, &keys.arrival, kind);
    }
    if kind != "query" {
        require_key(checker, place, &keys.run, "run", expected);
    }
    if matches!(kind, "tail" | "tail.items" | "watch") || has_columns {
        require_key(checker, place, &keys.time, "time", expected);
    }
    let mut text = |value: &Key<ValueAt>| match has_columns {
        true => column_name(checker, value),
        false => text_before(checker, value, kind),
    };
    if kind == "tail" {
        text(&keys.offset);
        text(&keys.arrival);
    }
    let (key, run, time) = (text(&keys.key), text(&keys.run), text(&keys.time));
    Some(match has_columns {
        true => crate::Extract::Columns {
            key: key?,
            time: time?,
            run,
        },
        false => crate::Extract::After {
            key: key?,
            run,
            time,
        },
    })
}

/// The text immediately before a value.
fn text_before(checker: &mut Checker<'_>, given: &Key<ValueAt>, kind: &str) -> Option<String> {
    let At { place, value } = given.content()?;
    if !value.after.is_some() && value.column.is_some() {
        refuse_key(checker, &value.column, kind);
        return None;
    }
    refuse_key(checker, &value.column, "after");
    require_text(checker, place, &value.after, "after")
}

/// The column of a value.
fn column_name(checker: &mut Checker<'_>, given: &Key<ValueAt>) -> Option<String> {
    let At { place, value } = given.content()?;
    refuse_key(checker, &value.after, "column");
    require_text(checker, place, &value.column, "column")
}

/// A text that is given and not empty.
fn require_text(
    checker: &mut Checker<'_>,
    around: &Place,
    given: &Key<String>,
    key: &str,
) -> Option<String> {
    let At { place, value } = require_key(checker, around, given, key, "text")?;
    if value.is_empty() {
        checker.report(place.mistake("is empty").with_expected("a text"));
    }
    Some(value.clone())
}

//! Values of many records made into one per window and field. Knows nothing of where records come from.

use std::collections::BTreeMap;
use std::time::Duration;

use waggle_record::FieldValue;
use waggle_record::line_protocol::{Line, RawValue, name_text};

use crate::problem::Problem;
use crate::render::{self, Object, Selection};

/// Values kept at once at most, over all windows and fields.
const VALUES_MAX: usize = 1_000_000;

/// What is made of the values in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aggregate {
    Mean,
    Min,
    Max,
    Sum,
    Count,
    /// The value of the earliest record, the first committed among equals.
    First,
    /// The value of the latest record, the last committed among equals.
    Last,
}

const NAMES: [(&str, Aggregate); 7] = [
    ("mean", Aggregate::Mean),
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
    ("sum", Aggregate::Sum),
    ("count", Aggregate::Count),
    ("first", Aggregate::First),
    ("last", Aggregate::Last),
];

impl Aggregate {
    pub(super) fn named(name: &str) -> Result<Self, Problem> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, aggregate)| *aggregate)
            .ok_or_else(|| {
                Problem::new(
                    400,
                    format!("aggregate is mean, min, max, sum, count, first or last, not {name:?}"),
                )
            })
    }

    pub(super) fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, aggregate)| *aggregate == self)
            .map_or("", |(name, _)| name)
    }
}

/// A window's values by field, in the order in which fields first occur by name.
type Row = BTreeMap<String, Value>;

/// All windows so far.
pub(super) struct Windows {
    aggregate: Aggregate,
    window_ns: Option<i64>,
    rows_max: usize,
    values: usize,
    rows: BTreeMap<i64, Row>,
    /// Earliest time seen; tells the time of the only row where there is no window.
    earliest: i64,
}

impl Windows {
    pub(super) fn new(aggregate: Aggregate, window: Option<Duration>, rows_max: usize) -> Self {
        Self {
            aggregate,
            window_ns: window.map(|window| i64::try_from(window.as_nanos()).unwrap_or(i64::MAX)),
            rows_max,
            values: 0,
            rows: BTreeMap::new(),
            earliest: i64::MAX,
        }
    }

    /// Adds a record; false when a limit leaves no room for it.
    pub(super) fn add(&mut self, time: i64, line: &Line<'_>, selection: &Selection) -> bool {
        let start = self
            .window_ns
            .map_or(0, |window| time.saturating_sub(time.rem_euclid(window)));
        if self.rows.len() == self.rows_max && !self.rows.contains_key(&start) {
            return false;
        }
        let row = self.rows.entry(start).or_default();
        for field in line.fields() {
            let name = name_text(field.key);
            if !selection.shows(&name) {
                continue;
            }
            if let Some(value) = row.get_mut(&*name) {
                value.add(self.aggregate, time, field.value);
            } else if let Some(value) = Value::first(self.aggregate, time, field.value) {
                if self.values == VALUES_MAX {
                    return false;
                }
                self.values += 1;
                row.insert(name.into_owned(), value);
            } else {
                continue;
            }
            self.earliest = self.earliest.min(time);
        }
        if row.is_empty() {
            self.rows.remove(&start);
        }
        true
    }

    /// Rows as JSON, each followed by a comma.
    pub(super) fn into_rows(self) -> Vec<u8> {
        let mut out = Vec::new();
        for (start, row) in &self.rows {
            out.extend_from_slice(b"{\"time\":");
            render::integer(
                &mut out,
                if self.window_ns.is_some() {
                    *start
                } else {
                    self.earliest
                },
            );
            out.extend_from_slice(b",\"fields\":");
            let mut fields = Object::begin(&mut out);
            for (name, value) in row {
                value.write(fields.member(name));
            }
            fields.end();
            out.extend_from_slice(b"},");
        }
        out
    }
}

/// What the values of one field in one window come to so far.
enum Value {
    Count(u64),
    Mean {
        sum: f64,
        count: u64,
    },
    /// Sum, minimum or maximum.
    Number(Number),
    Edge {
        time: i64,
        value: FieldValue,
    },
}

/// Whole numbers stay whole as long as there are no others among them.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    fn of(value: RawValue<'_>) -> Option<Self> {
        match value {
            RawValue::Float(value) => Some(Self::Float(value)),
            RawValue::Integer(value) => Some(Self::Whole(value.into())),
            RawValue::Unsigned(value) => Some(Self::Whole(value.into())),
            RawValue::Boolean(_) | RawValue::Text(_) => None,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean of numbers beyond 2^53 is a float by definition"
    )]
    fn as_float(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Whole(one), Self::Whole(two)) => Self::Whole(one + two),
            _ => Self::Float(self.as_float() + other.as_float()),
        }
    }

    fn is_less(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(one), Self::Whole(two)) => one < two,
            _ => self.as_float() < other.as_float(),
        }
    }
}

impl Value {
    /// What a first value comes to; none where the aggregate has no use for it.
    fn first(aggregate: Aggregate, time: i64, value: RawValue<'_>) -> Option<Self> {
        Some(match aggregate {
            Aggregate::Count => Self::Count(1),
            Aggregate::Mean => Self::Mean {
                sum: Number::of(value)?.as_float(),
                count: 1,
            },
            Aggregate::Sum | Aggregate::Min | Aggregate::Max => Self::Number(Number::of(value)?),
            Aggregate::First | Aggregate::Last => Self::Edge {
                time,
                value: value.to_value(),
            },
        })
    }

    fn add(&mut self, aggregate: Aggregate, at: i64, raw: RawValue<'_>) {
        match self {
            Self::Count(count) => *count += 1,
            Self::Mean { sum, count } => {
                if let Some(number) = Number::of(raw) {
                    *sum += number.as_float();
                    *count += 1;
                }
            }
            Self::Number(kept) => {
                let Some(number) = Number::of(raw) else {
                    return;
                };
                *kept = match aggregate {
                    Aggregate::Sum => kept.plus(number),
                    Aggregate::Min if number.is_less(*kept) => number,
                    Aggregate::Max if kept.is_less(number) => number,
                    _ => *kept,
                };
            }
            Self::Edge { time, value } => {
                let replaces = if aggregate == Aggregate::First {
                    at < *time
                } else {
                    at >= *time
                };
                if replaces {
                    *time = at;
                    *value = raw.to_value();
                }
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Count(count) => out.extend_from_slice(count.to_string().as_bytes()),
            Self::Mean { sum, count } => render::float(out, sum / *count as f64),
            Self::Number(Number::Whole(value)) => {
                out.extend_from_slice(value.to_string().as_bytes())
            }
            Self::Number(Number::Float(value)) => render::float(out, *value),
            Self::Edge { value, .. } => match value {
                FieldValue::Float(value) => render::float(out, *value),
                FieldValue::Integer(value) => render::integer(out, *value),
                FieldValue::Unsigned(value) => out.extend_from_slice(value.to_string().as_bytes()),
                FieldValue::Boolean(value) => {
                    out.extend_from_slice(if *value { b"true" } else { b"false" })
                }
                FieldValue::Text(value) => render::text(out, value),
            },
        }
    }
}

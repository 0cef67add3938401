//! Aggregates of values per window and field. It does not know where records come from.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use waggle_record::{
    FieldValue,
    line_protocol::{Line, RawValue, name_text},
};

use crate::{
    answers::problem::Problem,
    queries::{
        render,
        render::{Object, Selection},
    },
};

/// Most values kept at once, over all windows and fields.
const VALUES_MAX: usize = 1_000_000;
/// Memory of a value with its place in the table, besides its text.
const VALUE_MEMORY_BYTES: usize = 96;
/// About what a row, and a value without its name and text, take as JSON.
const ROW_BYTES: usize = 40;
const VALUE_BYTES: usize = 16;

/// The aggregate of the values in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aggregate {
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
    pub(crate) fn names() -> [&'static str; 7] {
        NAMES.map(|(name, _)| name)
    }

    pub(crate) fn from_name(name: &str) -> Result<Self, Problem> {
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

    pub(crate) fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, aggregate)| *aggregate == self)
            .map_or("", |(name, _)| name)
    }
}

/// Limits of an aggregate's rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) rows: usize,
    /// Size as JSON, of which the last record may exceed it.
    pub(crate) bytes: usize,
    pub(crate) values: usize,
}

impl Limits {
    pub(crate) fn new(rows: usize, bytes: usize) -> Self {
        Self {
            rows,
            bytes,
            values: VALUES_MAX,
        }
    }
}

/// All windows so far.
pub(crate) struct Windows {
    aggregate: Aggregate,
    window_ns: Option<i64>,
    limits: Limits,
    names: Names,
    /// By start of the window and number of the field.
    values: BTreeMap<(i64, u32), Value>,
    rows: usize,
    /// Approximate size as JSON; not less than the memory of names and texts.
    bytes: usize,
    /// Earliest time seen; the time of the only row if there is no window.
    earliest: i64,
}

/// The fields that occur, numbered.
#[derive(Default)]
struct Names {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number =
            u32::try_from(self.texts.len()).expect("each has a value, of which there are fewer");
        self.texts.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }
}

impl Windows {
    pub(crate) fn new(aggregate: Aggregate, window: Option<Duration>, limits: Limits) -> Self {
        Self {
            aggregate,
            window_ns: window.map(|window| i64::try_from(window.as_nanos()).unwrap_or(i64::MAX)),
            limits,
            names: Names::default(),
            values: BTreeMap::new(),
            rows: 0,
            bytes: 0,
            earliest: i64::MAX,
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes + self.values.len() * VALUE_MEMORY_BYTES
    }

    fn start_of(&self, time: i64) -> i64 {
        self.window_ns
            .map_or(0, |window| time.saturating_sub(time.rem_euclid(window)))
    }

    fn has_row(&self, start: i64) -> bool {
        let row = (start, 0)..=(start, u32::MAX);
        self.values.range(row).next().is_some()
    }

    /// Adds a record; false if a limit leaves no room for it.
    pub(crate) fn add(&mut self, time: i64, line: &Line<'_>, selection: &Selection) -> bool {
        let start = self.start_of(time);
        let is_full = self.rows == self.limits.rows && !self.has_row(start);
        if is_full || self.bytes >= self.limits.bytes {
            return false;
        }
        for field in line.fields() {
            let name = name_text(field.key);
            if !selection.shows(&name) {
                continue;
            }
            let key = (start, self.names.number(&name));
            if let Some(value) = self.values.get_mut(&key) {
                self.bytes -= value.text_bytes();
                value.add(self.aggregate, time, field.value);
                self.bytes += value.text_bytes();
            } else if let Some(value) = Value::from_first(self.aggregate, time, field.value) {
                if self.values.len() == self.limits.values {
                    return false;
                }
                self.insert(key.0, key.1, value);
            } else {
                continue;
            }
            self.earliest = self.earliest.min(time);
        }
        true
    }

    fn insert(&mut self, start: i64, field: u32, value: Value) {
        if !self.has_row(start) {
            self.rows += 1;
            self.bytes += ROW_BYTES;
        }
        self.bytes += self.value_bytes(field, &value);
        self.values.insert((start, field), value);
    }

    fn value_bytes(&self, field: u32, value: &Value) -> usize {
        VALUE_BYTES + self.names.texts[field as usize].len() + value.text_bytes()
    }

    /// Notes the time of an aggregated record.
    pub(crate) fn see(&mut self, time: i64) {
        self.earliest = self.earliest.min(time);
    }

    /// Adds a partial aggregate of a field for a part of the window at `time`; false if a limit leaves no room for all. The
    /// earliest windows are kept then.
    pub(crate) fn add_part(&mut self, time: i64, field: &str, part: Part) -> bool {
        let key = (self.start_of(time), self.names.number(field));
        if let Some(value) = self.values.get_mut(&key) {
            self.bytes -= value.text_bytes();
            value.add_part(self.aggregate, part);
            self.bytes += value.text_bytes();
            return true;
        }
        // A value that does not count must not evict a window.
        let Some(value) = Value::of_part(self.aggregate, part) else {
            return true;
        };
        let has_no_row = self.rows >= self.limits.rows && !self.has_row(key.0);
        let is_full = has_no_row || self.bytes >= self.limits.bytes;
        if is_full && !self.drop_behind(key.0) {
            return false;
        }
        if self.values.len() == self.limits.values {
            return false;
        }
        self.insert(key.0, key.1, value);
        !is_full
    }

    /// Drops the last window if it is later than this one; returns whether it was.
    fn drop_behind(&mut self, start: i64) -> bool {
        let Some((&(last, _), _)) = self.values.last_key_value() else {
            return false;
        };
        if last <= start {
            return false;
        }
        for ((_, field), value) in self.values.split_off(&(last, 0)) {
            self.bytes -= self.value_bytes(field, &value);
        }
        self.bytes -= ROW_BYTES;
        self.rows -= 1;
        true
    }

    /// Rows as JSON, each followed by a comma. Fields are in the order of their names.
    pub(crate) fn into_rows(self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut values = self.values.iter().peekable();
        let mut row = Vec::new();
        while let Some(((start, _), _)) = values.peek() {
            let start = *start;
            row.clear();
            while let Some(((_, field), value)) = values.next_if(|((other, _), _)| *other == start)
            {
                row.push((&self.names.texts[*field as usize], value));
            }
            row.sort_unstable_by_key(|(name, _)| *name);
            out.extend_from_slice(b"{\"time\":");
            let has_windows = self.window_ns.is_some();
            render::integer(&mut out, if has_windows { start } else { self.earliest });
            out.extend_from_slice(b",\"fields\":");
            let mut fields = Object::begin(&mut out);
            for (name, value) in &row {
                value.write(fields.member(name));
            }
            fields.end();
            out.extend_from_slice(b"},");
        }
        out
    }
}

/// A partial aggregate of a field in a window, from a database.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Count(u64),
    /// Sum for a mean; its count comes separately.
    Sum(FieldValue),
    /// A sum, minimum or maximum.
    Number(FieldValue),
    /// The first or last value, and its time.
    At(i64, FieldValue),
}

/// The aggregate of one field in one window so far.
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

/// Integers stay integers as long as all values are.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    fn from_raw(value: RawValue<'_>) -> Option<Self> {
        match value {
            RawValue::Float(value) => Some(Self::Float(value)),
            RawValue::Integer(value) => Some(Self::Whole(value.into())),
            RawValue::Unsigned(value) => Some(Self::Whole(value.into())),
            RawValue::Boolean(_) | RawValue::Text(_) => None,
        }
    }

    fn from_value(value: &FieldValue) -> Option<Self> {
        match value {
            FieldValue::Float(value) => Some(Self::Float(*value)),
            FieldValue::Integer(value) => Some(Self::Whole((*value).into())),
            FieldValue::Unsigned(value) => Some(Self::Whole((*value).into())),
            FieldValue::Boolean(_) | FieldValue::Text(_) => None,
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
            (Self::Whole(left), Self::Whole(two)) => Self::Whole(left + two),
            _ => Self::Float(self.as_float() + other.as_float()),
        }
    }

    /// The aggregate of both.
    fn combine(self, aggregate: Aggregate, other: Self) -> Self {
        match aggregate {
            Aggregate::Sum => self.plus(other),
            Aggregate::Min if other.is_less(self) => other,
            Aggregate::Max if self.is_less(other) => other,
            _ => self,
        }
    }

    fn is_less(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(left), Self::Whole(two)) => left < two,
            _ => self.as_float() < other.as_float(),
        }
    }
}

impl Value {
    /// The aggregate of a first value; `None` if the aggregate ignores values of its kind.
    fn from_first(aggregate: Aggregate, time: i64, value: RawValue<'_>) -> Option<Self> {
        Some(match aggregate {
            Aggregate::Count => Self::Count(1),
            Aggregate::Mean => Self::Mean {
                sum: Number::from_raw(value)?.as_float(),
                count: 1,
            },
            Aggregate::Sum | Aggregate::Min | Aggregate::Max => {
                Self::Number(Number::from_raw(value)?)
            }
            Aggregate::First | Aggregate::Last => Self::Edge {
                time,
                value: value.to_value(),
            },
        })
    }

    fn add(&mut self, aggregate: Aggregate, timestamp: i64, raw: RawValue<'_>) {
        match self {
            Self::Count(count) => *count += 1,
            Self::Mean { sum, count } => {
                if let Some(number) = Number::from_raw(raw) {
                    *sum += number.as_float();
                    *count += 1;
                }
            }
            Self::Number(kept) => {
                if let Some(number) = Number::from_raw(raw) {
                    *kept = kept.combine(aggregate, number);
                }
            }
            Self::Edge { time, value } => {
                if replaces(aggregate, timestamp, *time) {
                    *time = timestamp;
                    *value = raw.to_value();
                }
            }
        }
    }

    /// The aggregate of a first part; `None` if the aggregate ignores values of its kind.
    fn of_part(aggregate: Aggregate, part: Part) -> Option<Self> {
        Some(match part {
            Part::Count(count) if aggregate == Aggregate::Mean => Self::Mean { sum: 0.0, count },
            Part::Count(count) => Self::Count(count),
            Part::Sum(sum) => Self::Mean {
                sum: Number::from_value(&sum)?.as_float(),
                count: 0,
            },
            Part::Number(number) => Self::Number(Number::from_value(&number)?),
            Part::At(time, value) => Self::Edge { time, value },
        })
    }

    fn add_part(&mut self, aggregate: Aggregate, part: Part) {
        match (self, part) {
            (Self::Count(count) | Self::Mean { count, .. }, Part::Count(more)) => *count += more,
            (Self::Mean { sum, .. }, Part::Sum(more)) => {
                *sum += Number::from_value(&more).map_or(0.0, Number::as_float);
            }
            (Self::Number(kept), Part::Number(number)) => {
                if let Some(number) = Number::from_value(&number) {
                    *kept = kept.combine(aggregate, number);
                }
            }
            (Self::Edge { time, value }, Part::At(timestamp, other))
                if replaces(aggregate, timestamp, *time) =>
            {
                (*time, *value) = (timestamp, other);
            }
            // Parts belong to the requested aggregate.
            _ => {}
        }
    }

    /// Size of its text as JSON; 0 if it is none.
    fn text_bytes(&self) -> usize {
        match self {
            Self::Edge {
                value: FieldValue::Text(text),
                ..
            } => render::text_bytes(text),
            _ => 0,
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
            Self::Edge { value, .. } => render::value_of(out, value),
        }
    }
}

/// Whether a value of the time `timestamp` replaces one that came before it.
fn replaces(aggregate: Aggregate, timestamp: i64, before: i64) -> bool {
    if aggregate == Aggregate::First {
        timestamp < before
    } else {
        timestamp >= before
    }
}

#[cfg(test)]
mod tests;

//! Aggregates of values per window and field. It does not know where records come from.

use std::{collections::BTreeMap, time::Duration};

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

/// A window's values by field, in the order in which fields first occur by name.
type Row = BTreeMap<String, Value>;

/// All windows so far.
pub(crate) struct Windows {
    aggregate: Aggregate,
    window_ns: Option<i64>,
    rows_max: usize,
    values_max: usize,
    values: usize,
    rows: BTreeMap<i64, Row>,
    /// Earliest time seen; the time of the only row if there is no window.
    earliest: i64,
}

impl Windows {
    pub(crate) fn new(aggregate: Aggregate, window: Option<Duration>, rows_max: usize) -> Self {
        Self {
            aggregate,
            window_ns: window.map(|window| i64::try_from(window.as_nanos()).unwrap_or(i64::MAX)),
            rows_max,
            values_max: VALUES_MAX,
            values: 0,
            rows: BTreeMap::new(),
            earliest: i64::MAX,
        }
    }

    fn start_of(&self, time: i64) -> i64 {
        self.window_ns
            .map_or(0, |window| time.saturating_sub(time.rem_euclid(window)))
    }

    /// Adds a record; false if a limit leaves no room for it.
    pub(crate) fn add(&mut self, time: i64, line: &Line<'_>, selection: &Selection) -> bool {
        let start = self.start_of(time);
        if self.rows.len() == self.rows_max && !self.rows.contains_key(&start) {
            return false;
        }
        let mut is_all = true;
        let row = self.rows.entry(start).or_default();
        for field in line.fields() {
            let name = name_text(field.key);
            if !selection.shows(&name) {
                continue;
            }
            if let Some(value) = row.get_mut(&*name) {
                value.add(self.aggregate, time, field.value);
            } else if let Some(value) = Value::from_first(self.aggregate, time, field.value) {
                if self.values == self.values_max {
                    is_all = false;
                    break;
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
        is_all
    }

    /// Notes the time of an aggregated record.
    pub(crate) fn see(&mut self, time: i64) {
        self.earliest = self.earliest.min(time);
    }

    /// Adds a partial aggregate of a field for a part of the window at `time`; false if a limit leaves no room for all. The
    /// earliest windows are kept then.
    pub(crate) fn add_part(&mut self, time: i64, field: &str, part: Part) -> bool {
        let start = self.start_of(time);
        let row = self.rows.get_mut(&start);
        let has_row = row.is_some();
        if let Some(value) = row.and_then(|row| row.get_mut(field)) {
            value.add_part(self.aggregate, part);
            return true;
        }
        // A value that does not count must not evict a window.
        let Some(value) = Value::of_part(self.aggregate, part) else {
            return true;
        };
        let is_full = !has_row && self.rows.len() >= self.rows_max;
        if is_full && !self.drop_behind(start) {
            return false;
        }
        if self.values == self.values_max {
            return false;
        }
        self.values += 1;
        let row = self.rows.entry(start).or_default();
        row.insert(field.to_owned(), value);
        !is_full
    }

    /// Drops the last window if it is later than this one; returns whether it was.
    fn drop_behind(&mut self, start: i64) -> bool {
        match self.rows.last_entry() {
            Some(last) if *last.key() > start => {
                self.values -= last.remove().len();
                true
            }
            _ => false,
        }
    }

    /// Rows as JSON, each followed by a comma.
    pub(crate) fn into_rows(self) -> Vec<u8> {
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
mod tests {
    use waggle_record::line_protocol;

    use super::*;

    fn windows(aggregate: Aggregate, (rows_max, values_max): (usize, usize)) -> Windows {
        let second = Duration::from_nanos(10);
        Windows {
            values_max,
            ..Windows::new(aggregate, Some(second), rows_max)
        }
    }

    fn rows(windows: Windows) -> String {
        String::from_utf8(windows.into_rows()).unwrap()
    }

    #[test]
    fn a_window_without_room_for_a_field_is_no_row() {
        let check = |values_max: usize, expected: &str| {
            let mut windows = windows(Aggregate::Sum, (9, values_max));
            let records = ["m a=1i,b=2i 5", "m t=\"x\",a=3i,b=4i 15", "m a=5i 25"];
            let mut is_all = true;
            for text in records {
                let line = line_protocol::lines(text.as_bytes()).next().unwrap();
                let line = line.unwrap();
                let time = line.time.unwrap().value;
                is_all &= windows.add(time, &line, &Selection::default());
            }
            assert_eq!((rows(windows).as_str(), is_all), (expected, values_max > 4));
        };
        let first = "{\"time\":0,\"fields\":{\"a\":1,\"b\":2}},";
        let second = "{\"time\":10,\"fields\":{\"a\":3}},";
        check(2, first);
        check(3, &[first, second].concat());
        let second = "{\"time\":10,\"fields\":{\"a\":3,\"b\":4}},";
        check(4, &[first, second].concat());
        let third = "{\"time\":20,\"fields\":{\"a\":5}},";
        check(5, &[first, second, third].concat());
    }

    #[test]
    fn parts_of_early_windows_replace_late_ones_if_they_are_of_use() {
        let whole = |value: i64| Part::Number(FieldValue::Integer(value));
        let text = || Part::Number(FieldValue::Text("x".to_owned()));
        let check = |values_max: usize, parts: &[(i64, Part, bool)], expected: &[(i64, i64)]| {
            let mut windows = windows(Aggregate::Sum, (2, values_max));
            for (time, part, is_all) in parts {
                let all = windows.add_part(*time, "a", part.clone());
                assert_eq!(all, *is_all, "{time} {part:?}");
            }
            let row = |(time, sum)| format!("{{\"time\":{time},\"fields\":{{\"a\":{sum}}}}},");
            let expected: String = expected.iter().copied().map(row).collect();
            assert_eq!(rows(windows), expected);
        };
        let two = [(20, whole(1), true), (30, whole(2), true)];
        let and = |more: &[(i64, Part, bool)]| [&two[..], more].concat();
        check(9, &two, &[(20, 1), (30, 2)]);
        check(9, &and(&[(30, whole(5), true)]), &[(20, 1), (30, 7)]);
        check(9, &and(&[(10, whole(3), false)]), &[(10, 3), (20, 1)]);
        check(9, &and(&[(40, whole(3), false)]), &[(20, 1), (30, 2)]);
        // A sum ignores texts: no window is lost for one.
        check(9, &and(&[(10, text(), true)]), &[(20, 1), (30, 2)]);
        check(9, &and(&[(40, text(), true)]), &[(20, 1), (30, 2)]);
        // Values of a window that was dropped leave room.
        check(2, &and(&[(10, whole(3), false)]), &[(10, 3), (20, 1)]);
        check(1, &[two[0].clone(), (10, whole(3), false)], &[(20, 1)]);
    }
}

//! The rows of a call's answer from the database's answer: the fields of a record joined, in the order of time, up to the limit;
//! or partial aggregates combined per window. Pure.

use std::{collections::BTreeMap, time::Duration};

use waggle_influxdb::annotated_csv::{Column, Rows};
use waggle_record::FieldValue;

use super::flux::{COUNT, EARLIEST, Question, SUM};
use crate::queries::{
    aggregate::{self, Aggregate, Part, Windows},
    render,
    render::Object,
};

/// Memory of a row besides its texts.
const ROW_BYTES: usize = 64;

/// Limits of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) bytes: usize,
    /// Most values in the database's answer.
    pub(crate) values: usize,
}

/// State while an answer is read.
pub(super) struct Gathering {
    indices: ColumnIndices,
    kind: Kind,
    limits: Limits,
    values: usize,
    truncated: bool,
}

enum Kind {
    Records(Records),
    Windows {
        windows: Windows,
        aggregate: Aggregate,
        window: Option<Duration>,
    },
}

/// Positions of the columns with a meaning; the others are tags.
#[derive(Debug, Default)]
struct ColumnIndices {
    result: Option<usize>,
    start: Option<usize>,
    time: Option<usize>,
    field: Option<usize>,
    value: Option<usize>,
    datatype: String,
    /// Sorted by their names.
    tags: Vec<(usize, String)>,
}

/// Records by time, then by tags; both as they will be written.
#[derive(Debug, Default)]
struct Records {
    by_time: BTreeMap<i64, BTreeMap<Box<[u8]>, Vec<u8>>>,
    count: usize,
    bytes: usize,
    limit: usize,
    /// Tags of the current row.
    tags: Vec<u8>,
}

/// An answer's rows as JSON, each followed by a comma.
pub(crate) struct Gathered {
    pub(crate) rows: Vec<u8>,
    /// Whether rows are missing.
    pub(crate) truncated: bool,
    /// Values in the database's answer.
    pub(crate) values: usize,
}

impl Gathering {
    pub(super) fn new(question: &Question, limits: Limits) -> Self {
        let kind = match question.aggregate {
            None => Kind::Records(Records {
                limit: question.limit,
                ..Records::default()
            }),
            Some((aggregate, window)) => Kind::Windows {
                windows: Windows::new(
                    aggregate,
                    window,
                    aggregate::Limits::new(question.limit, limits.bytes),
                ),
                aggregate,
                window,
            },
        };
        Self {
            indices: ColumnIndices::default(),
            kind,
            limits,
            values: 0,
            truncated: false,
        }
    }

    pub(super) fn into_gathered(self) -> Gathered {
        let rows = match self.kind {
            Kind::Records(records) => records.into_rows(),
            Kind::Windows { windows, .. } => windows.into_rows(),
        };
        Gathered {
            rows,
            truncated: self.truncated,
            values: self.values,
        }
    }
}

impl Rows for Gathering {
    fn columns(&mut self, columns: &[Column]) {
        self.indices = ColumnIndices::new(columns);
    }

    fn row(&mut self, cells: &[String]) -> Result<bool, &'static str> {
        if self.values == self.limits.values {
            self.truncated = true;
            return Ok(false);
        }
        self.values += 1;
        let indices = &self.indices;
        match &mut self.kind {
            Kind::Records(records) => {
                let time = time(indices.cell(indices.time, cells)?)?;
                let field = indices.cell(indices.field, cells)?;
                let value = indices.value(cells)?;
                if records.has_room(time) {
                    indices.write_tags(cells, &mut records.tags);
                    self.truncated |= records.add(time, field, &value);
                } else {
                    self.truncated = true;
                }
                self.truncated |= records.shrink(self.limits.bytes);
            }
            Kind::Windows {
                windows,
                aggregate,
                window,
            } => {
                let result = indices.cell(indices.result, cells)?;
                if result == EARLIEST {
                    windows.see(time(indices.cell(indices.time, cells)?)?);
                    return Ok(true);
                }
                let start = match window {
                    None => 0,
                    Some(_) => time(indices.cell(indices.start, cells)?)?,
                };
                let value = indices.value(cells)?;
                let part = match (*aggregate, result) {
                    (Aggregate::Count, _) | (Aggregate::Mean, COUNT) => Part::Count(count(&value)?),
                    (Aggregate::Mean, SUM) => Part::Sum(value),
                    (Aggregate::First | Aggregate::Last, _) => {
                        Part::At(time(indices.cell(indices.time, cells)?)?, value)
                    }
                    _ => Part::Number(value),
                };
                let field = indices.cell(indices.field, cells)?;
                self.truncated |= !windows.add_part(start, field, part);
            }
        }
        Ok(true)
    }
}

impl ColumnIndices {
    fn new(columns: &[Column]) -> Self {
        let mut indices = Self::default();
        // The first three are annotations, result and table, even if tags have these names.
        for (index, column) in columns.iter().enumerate().skip(1) {
            match column.name.as_str() {
                "result" if index == 1 => indices.result = Some(index),
                "table" if index == 2 => {}
                "_start" => indices.start = Some(index),
                "_time" => indices.time = Some(index),
                "_field" => indices.field = Some(index),
                "_value" => {
                    indices.value = Some(index);
                    indices.datatype.clone_from(&column.datatype);
                }
                "_stop" | "_measurement" => {}
                name => indices.tags.push((index, name.to_owned())),
            }
        }
        indices.tags.sort_by(|tag, other| tag.1.cmp(&other.1));
        indices
    }

    /// The row's tags as JSON.
    fn write_tags(&self, cells: &[String], out: &mut Vec<u8>) {
        out.clear();
        let mut tags = Object::begin(out);
        for (index, name) in &self.tags {
            if !cells[*index].is_empty() {
                render::text(tags.member(name), &cells[*index]);
            }
        }
        tags.end();
    }

    fn cell<'a>(&self, index: Option<usize>, cells: &'a [String]) -> Result<&'a str, &'static str> {
        index
            .and_then(|index| cells.get(index))
            .map(String::as_str)
            .ok_or("a column is missing")
    }

    fn value(&self, cells: &[String]) -> Result<FieldValue, &'static str> {
        let text = self.cell(self.value, cells)?;
        let value = match self.datatype.as_str() {
            "double" => text.parse().ok().map(FieldValue::Float),
            "long" => text.parse().ok().map(FieldValue::Integer),
            "unsignedLong" => text.parse().ok().map(FieldValue::Unsigned),
            "boolean" => text.parse().ok().map(FieldValue::Boolean),
            "string" => Some(FieldValue::Text(text.to_owned())),
            _ => None,
        };
        value.ok_or("its value is not of its column's type")
    }
}

fn time(text: &str) -> Result<i64, &'static str> {
    let time: jiff::Timestamp = text.parse().map_err(|_| "a time cannot be read")?;
    i64::try_from(time.as_nanosecond()).map_err(|_| "a time is out of range")
}

fn count(value: &FieldValue) -> Result<u64, &'static str> {
    match value {
        FieldValue::Integer(count) => u64::try_from(*count).map_err(|_| "a count is below 0"),
        FieldValue::Unsigned(count) => Ok(*count),
        _ => Err("a count is not an integer"),
    }
}

impl Records {
    /// Whether a record of this time can be among the first rows.
    fn has_room(&self, time: i64) -> bool {
        let last = self.by_time.last_key_value();
        self.count < self.limit || last.is_some_and(|(last, _)| time <= *last)
    }

    /// Adds a field of the current row; returns whether it was left out, with its record.
    fn add(&mut self, time: i64, field: &str, value: &FieldValue) -> bool {
        let of_time = self.by_time.entry(time).or_default();
        if !of_time.contains_key(&*self.tags) {
            of_time.insert(self.tags.as_slice().into(), Vec::new());
            self.count += 1;
            self.bytes += self.tags.len() + ROW_BYTES;
        }
        if let Some(fields) = of_time.get_mut(&*self.tags) {
            let before = fields.len();
            render::text(fields, field);
            fields.push(b':');
            render::value_of(fields, value);
            fields.push(b',');
            self.bytes += fields.len() - before;
        }
        self.count > self.limit && self.drop_last()
    }

    /// Drops the last records until the rest fits; returns whether any were dropped. Later records are ignored then.
    fn shrink(&mut self, bytes_max: usize) -> bool {
        let mut dropped = false;
        while self.bytes > bytes_max && self.count > 1 {
            dropped |= self.drop_last();
            self.limit = self.count;
        }
        dropped
    }

    fn drop_last(&mut self) -> bool {
        let Some(mut last) = self.by_time.last_entry() else {
            return false;
        };
        if let Some((tags, fields)) = last.get_mut().pop_last() {
            self.count -= 1;
            self.bytes -= tags.len() + fields.len() + ROW_BYTES;
        }
        if last.get().is_empty() {
            last.remove();
        }
        true
    }

    fn into_rows(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes);
        for (time, records) in &self.by_time {
            for (tags, fields) in records {
                out.extend_from_slice(b"{\"time\":");
                render::integer(&mut out, *time);
                out.extend_from_slice(b",\"tags\":");
                out.extend_from_slice(tags);
                out.extend_from_slice(b",\"fields\":{");
                out.extend_from_slice(fields.strip_suffix(b",").unwrap_or(fields));
                out.extend_from_slice(b"}},");
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waggle_influxdb::annotated_csv::Csv;

    const HEAD: &str = "#datatype,string,long,dateTime:RFC3339,double,string,string\r\n,result,table,_time,_value,_field,t\r\n";

    fn question(limit: usize) -> Question {
        Question {
            bucket: String::new(),
            measurement: String::new(),
            tags: Vec::new(),
            fields: Vec::new(),
            from: 0,
            until: 0,
            aggregate: None,
            limit,
        }
    }

    fn gather_rows(limit: usize, limits: Limits, rows: &[&str]) -> (String, bool) {
        let mut gathering = Gathering::new(&question(limit), limits);
        let mut csv = Csv::default();
        let text: String = rows
            .iter()
            .map(|row| format!(",_result,0,{row}\r\n"))
            .collect();
        csv.feed((HEAD.to_owned() + &text).as_bytes(), &mut gathering)
            .unwrap();
        let gathered = gathering.into_gathered();
        (
            String::from_utf8(gathered.rows).unwrap(),
            gathered.truncated,
        )
    }

    const MANY: Limits = Limits {
        bytes: 10_000,
        values: 100,
    };
    const ROWS: [&str; 4] = [
        "1970-01-01T00:00:00.000000002Z,2,f,a",
        "1970-01-01T00:00:00.000000001Z,1.5,f,b",
        "1970-01-01T00:00:00.000000002Z,3,g,a",
        "1970-01-01T00:00:00.000000002Z,4,f,\"b\"\"\"",
    ];
    const FIRST: &str = "{\"time\":1,\"tags\":{\"t\":\"b\"},\"fields\":{\"f\":1.5}},";
    const SECOND: &str = "{\"time\":2,\"tags\":{\"t\":\"a\"},\"fields\":{\"f\":2.0,\"g\":3.0}},";
    const THIRD: &str = "{\"time\":2,\"tags\":{\"t\":\"b\\\"\"},\"fields\":{\"f\":4.0}},";

    #[test]
    fn fields_of_a_record_come_together_and_records_by_time() {
        let all = [FIRST, SECOND, THIRD].concat();
        assert_eq!(gather_rows(10, MANY, &ROWS), (all.clone(), false));
        assert_eq!(gather_rows(3, MANY, &ROWS), (all, false));
    }

    #[test]
    fn of_more_than_may_be_the_first_are_kept_whole() {
        assert_eq!(
            gather_rows(2, MANY, &ROWS),
            ([FIRST, SECOND].concat(), true)
        );
        assert_eq!(gather_rows(1, MANY, &ROWS), (FIRST.to_owned(), true));
        let few = Limits { bytes: 100, ..MANY };
        assert_eq!(gather_rows(10, few, &ROWS), (FIRST.to_owned(), true));
        let few = Limits { values: 2, ..MANY };
        let (rows, truncated) = gather_rows(10, few, &ROWS);
        assert!(truncated && rows.starts_with(FIRST), "{rows}");
    }
}

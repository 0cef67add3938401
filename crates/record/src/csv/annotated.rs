//! `InfluxDB`'s annotated CSV: tables whose columns have their types in lines above the header row (`#datatype`, `#group`, `#default`).
//!
//! A table of `InfluxDB` has a value in each row, whose field is named in another column: `_value` and `_field`. Columns without a
//! role that belong to the answer (`result`, `table`) or begin with an underscore (`_start`, `_stop`) are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    rows::{Cell, Rows},
    wrong::{Wrong, Wrongs},
};
use crate::{
    Columns, FieldValue, Layout, Measurement, Mistake, Precision, Problem, Record, TimeColumn,
    columns::Role,
    names::{check_measurement, check_name, over_limit},
    source_text::SourceText,
    time,
};

const FIELD: &str = "_field";
const VALUE: &str = "_value";
const MEASUREMENT: &str = "_measurement";
const TIME: &str = "_time";

/// Whether the text begins with an annotation.
pub(crate) fn is_annotated(text: &str) -> bool {
    let text = text.trim_start();
    ["#datatype,", "#group,", "#default,"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// Every record of the tables; mistakes are noted.
pub(super) fn read(
    source: SourceText<'_>,
    columns: &Columns,
    precision: Precision,
    wrongs: &mut Wrongs,
) -> Vec<Record> {
    let reader = Reader { columns, precision };
    let mut records = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut tables = AnnotatedTables::new(source);
    while let Some(line) = tables.next_line(wrongs) {
        let table = &tables.current;
        match line {
            Line::Header => {
                let header = table.header.iter();
                seen.extend(header.map(|cell| cell.text.clone().into_owned()));
                let header = table.header.iter();
                wrongs.extend(header.filter_map(|cell| wrong_name(cell, columns)));
            }
            Line::Row(row) => records.extend(reader.record(table, &row, wrongs)),
        }
    }
    for name in columns.names().filter(|name| !seen.contains(*name)) {
        wrongs.add(Wrong::new(0, format!("no table has a column {name:?}")));
    }
    records
}

/// The columns of the tables, by what their annotations say of them.
pub(crate) fn columns(source: SourceText<'_>, measurement: &str) -> Result<Columns, Vec<Mistake>> {
    let mut wrongs = Wrongs::default();
    let mut columns = Columns::of_measurement(measurement);
    let mut tags: BTreeMap<String, bool> = BTreeMap::new();
    let mut tables = AnnotatedTables::new(source);
    while let Some(line) = tables.next_line(&mut wrongs) {
        let table = &tables.current;
        if let Line::Row(row) = line {
            // A window of time without values, as aggregateWindow() writes it.
            let is_value = |index: &usize| table.header[*index].text == VALUE;
            let mut values = (0..row.len().min(table.header.len())).filter(is_value);
            columns.skip_empty |= values.any(|index| row[index].text.is_empty());
            continue;
        }
        for (index, cell) in table.header.iter().enumerate() {
            let name = &*cell.text;
            if name == MEASUREMENT {
                columns.measurement = Measurement::Column(name.to_owned());
            } else if name == TIME {
                columns.time = Some(TimeColumn::of_column(name));
            } else if !is_of_answer(name) && name != FIELD && name != VALUE {
                let is_text = table.datatype(index) == "string";
                let is_group = table.annotation(&table.groups, index) == "true";
                *tags.entry(name.to_owned()).or_insert(true) &= is_text && is_group;
            }
        }
    }
    columns.tags = (tags.into_iter())
        .filter_map(|(name, is_tag)| is_tag.then_some(name))
        .collect();
    wrongs.into_result(source, columns)
}

/// The current table.
#[derive(Default)]
struct AnnotatedTable<'a> {
    datatypes: Vec<Cell<'a>>,
    groups: Vec<Cell<'a>>,
    defaults: Vec<Cell<'a>>,
    header: Vec<Cell<'a>>,
}

impl AnnotatedTable<'_> {
    fn annotation<'t>(&'t self, cells: &'t [Cell<'_>], index: usize) -> &'t str {
        cells.get(index).map_or("", |cell| &*cell.text)
    }

    fn datatype(&self, index: usize) -> &str {
        self.annotation(&self.datatypes, index)
    }

    /// The cell, or the default of its column.
    fn text<'t>(&'t self, row: &'t [Cell<'_>], index: usize) -> &'t str {
        match &*row[index].text {
            "" => self.annotation(&self.defaults, index),
            text => text,
        }
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|cell| cell.text == name)
    }
}

/// The tables of a text, line after line.
struct AnnotatedTables<'a> {
    rows: Rows<'a>,
    current: AnnotatedTable<'a>,
}

/// A line of the current table that is no annotation.
enum Line<'a> {
    Header,
    Row(Vec<Cell<'a>>),
}

impl<'a> AnnotatedTables<'a> {
    fn new(source: SourceText<'a>) -> Self {
        let layout = Layout {
            delimiter: Some(','),
            ..Layout::default()
        };
        Self {
            rows: Rows::new(source.text, &layout),
            current: AnnotatedTable::default(),
        }
    }

    /// The next header row, or row of its table; annotations are read on the way.
    fn next_line(&mut self, wrongs: &mut Wrongs) -> Option<Line<'a>> {
        loop {
            let row = self.rows.next_row(wrongs)?;
            if wrongs.is_full() {
                return None;
            }
            let Some(first) = row.first() else {
                continue;
            };
            if let Some(annotation) = first.text.strip_prefix('#') {
                if !self.current.header.is_empty() {
                    self.current = AnnotatedTable::default();
                }
                match annotation {
                    "datatype" => self.current.datatypes = row,
                    "group" => self.current.groups = row,
                    "default" => self.current.defaults = row,
                    _ => {
                        let actual = &first.text;
                        let problem =
                            format!("expected #datatype, #group or #default, found {actual:?}");
                        wrongs.add(Wrong::new(first.at, problem));
                    }
                }
            } else if self.current.header.is_empty() {
                self.current.header = row;
                return Some(Line::Header);
            } else if row.len() == self.current.header.len() {
                return Some(Line::Row(row));
            } else {
                let (expected, actual) = (self.current.header.len(), row.len());
                let problem = format!(
                    "expected {expected} cells as in the header of the table, found {actual}"
                );
                wrongs.add(Wrong::new(first.at, problem));
            }
        }
    }
}

/// Whether a column belongs to the answer of a query, and not to its records.
fn is_of_answer(name: &str) -> bool {
    matches!(name, "" | "result" | "table") || name.starts_with('_')
}

fn wrong_name(cell: &Cell<'_>, columns: &Columns) -> Option<Wrong> {
    let is_used =
        matches!(columns.role(&cell.text), Role::Tag | Role::Field) && !is_of_answer(&cell.text);
    let problem = check_name("a column's name", &cell.text)
        .err()
        .filter(|_| is_used)?;
    Some(Wrong::new(cell.at, problem.to_string()))
}

/// Reads rows whose columns have the roles in `columns`.
struct Reader<'c> {
    columns: &'c Columns,
    precision: Precision,
}

impl Reader<'_> {
    fn record(
        &self,
        table: &AnnotatedTable<'_>,
        row: &[Cell<'_>],
        wrongs: &mut Wrongs,
    ) -> Option<Record> {
        if let (Some(index), Some(_)) = (table.index("error"), table.index("reference")) {
            let message = table.text(row, index);
            let problem = format!("the table is an error of the database: {message}");
            wrongs.add(Wrong::new(row[0].at, problem));
            return None;
        }
        let mut record = Record {
            measurement: match &self.columns.measurement {
                Measurement::Name(name) => name.clone(),
                Measurement::Column(_) => String::new(),
            },
            tags: Vec::new(),
            fields: Vec::new(),
            time_ns: None,
        };
        let mut wrong: Vec<Wrong> = Vec::new();
        for index in 0..row.len() {
            let problem = self.add_cell(table, row, index, &mut record).err();
            wrong.extend(problem.map(|Problem(problem)| Wrong::new(row[index].at, problem)));
        }
        match self.time(table, row) {
            Ok(time) => record.time_ns = time,
            Err(Problem(problem)) => wrong.push(Wrong::new(row[0].at, problem)),
        }
        if record.fields.is_empty() && wrong.is_empty() {
            if self.columns.skip_empty {
                return None;
            }
            let remedy = "skip_empty: true leaves out rows without values";
            wrong.push(Wrong::new(row[0].at, "the row has no fields").with_remedy(remedy));
        }
        let limit = over_limit(record.tags.len(), record.fields.len());
        wrong.extend(limit.map(|problem| Wrong::new(row[0].at, problem)));
        if let Measurement::Column(name) = &self.columns.measurement
            && table.index(name).is_none()
        {
            let problem = format!("the table has no column {name:?}, which has the measurement");
            wrong.push(Wrong::new(row[0].at, problem));
        }
        let is_right = wrong.is_empty();
        wrongs.extend(wrong);
        is_right.then_some(record)
    }

    /// Adds what a cell says by the role of its column; the error is what is wrong with it.
    fn add_cell(
        &self,
        table: &AnnotatedTable<'_>,
        row: &[Cell<'_>],
        index: usize,
        record: &mut Record,
    ) -> Result<(), Problem> {
        let (name, text) = (&*table.header[index].text, table.text(row, index));
        let named = |problem: crate::Unwritable| Problem(problem.to_string());
        match self.columns.role(name) {
            Role::Measurement => {
                text.clone_into(&mut record.measurement);
                check_measurement(text).map_err(named)
            }
            Role::Tag if !self.columns.is_missing(text) => {
                record.tags.push((name.to_owned(), text.to_owned()));
                check_name("a tag value", text).map_err(named)
            }
            Role::Field if !self.columns.is_missing(text) => {
                let key = match table.index(FIELD) {
                    Some(field) if name == VALUE => table.text(row, field),
                    _ if name != VALUE && is_of_answer(name) => return Ok(()),
                    _ => name,
                };
                check_name("a field key", key).map_err(named)?;
                let value = value(text, table.datatype(index)).map_err(|expected| {
                    Problem(format!(
                        "expected {expected} in column {name:?}, found {text:?}"
                    ))
                })?;
                record.fields.push((key.to_owned(), value));
                Ok(())
            }
            Role::Tag | Role::Field | Role::Time(_) | Role::LeftOut => Ok(()),
        }
    }

    fn time(&self, table: &AnnotatedTable<'_>, row: &[Cell<'_>]) -> Result<Option<i64>, Problem> {
        let Some(column) = &self.columns.time else {
            return Ok(None);
        };
        let mut texts = Vec::with_capacity(column.columns.len());
        for name in &column.columns {
            let index = table.index(name);
            let index = index.ok_or_else(|| {
                Problem(format!("the table has no column {name:?} with the time"))
            })?;
            texts.push(table.text(row, index));
        }
        time::from_cell(&texts.join(" "), column, self.precision).map(Some)
    }
}

/// A value of a type of Flux; the error is what was expected. Types without a counterpart are texts.
fn value(text: &str, datatype: &str) -> Result<FieldValue, &'static str> {
    match datatype {
        "double" => {
            let value = text.parse().ok().filter(|value: &f64| value.is_finite());
            value
                .map(FieldValue::Float)
                .ok_or("a finite number (#datatype double)")
        }
        "long" => {
            let value = text.parse().map(FieldValue::Integer);
            value.map_err(|_| "an integer of 64 bits (#datatype long)")
        }
        "unsignedLong" => {
            let value = text.parse().map(FieldValue::Unsigned);
            value.map_err(|_| "an unsigned integer of 64 bits (#datatype unsignedLong)")
        }
        "boolean" => match text {
            "true" => Ok(FieldValue::Boolean(true)),
            "false" => Ok(FieldValue::Boolean(false)),
            _ => Err("true or false (#datatype boolean)"),
        },
        _ => Ok(FieldValue::Text(text.to_owned())),
    }
}

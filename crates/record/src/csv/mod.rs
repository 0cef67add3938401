//! CSV as in RFC 4180 and as loggers write it: one record per row, with types by column.
//!
//! Cells are separated by a comma, a semicolon, a tab or a vertical bar, which is found in the header row or named. A column has
//! integers, floats or booleans if all its cells do; integers in a column with floats are floats; anything else is text. An empty
//! cell is an absent field or tag. `InfluxDB`'s annotated CSV says the types itself.

mod annotated;
mod kind;
mod rows;
mod wrong;

use std::collections::HashMap;

use crate::{
    Columns, Decimal, Layout, Measurement, Mistake, Precision, Problem, Record,
    columns::Role,
    guess,
    names::{check_measurement, check_name, over_limit},
    source_text::SourceText,
    time,
};
pub(crate) use annotated::{columns as annotated_columns, is_annotated};
use kind::is_inexact_integer;
pub(crate) use kind::{Kind, is_identifier, is_telephone_number, lossy_value};
pub(crate) use rows::likely_delimiter;
use rows::{Cell, Rows};
use wrong::Wrong;
pub(crate) use wrong::Wrongs;

/// Columns that a message names.
const COLUMNS_SHOWN: usize = 20;

/// Every record of a table, or the mistakes: of a mistake that repeats, each occurrence up to [`crate::TABLE_MISTAKES_MAX`].
pub fn read(
    text: &[u8],
    columns: &Columns,
    precision: Precision,
) -> Result<Vec<Record>, Vec<Mistake>> {
    let source = SourceText::parse_utf8(text)?;
    let mut wrongs = Wrongs::default();
    if is_annotated(source.text) && columns.layout == Layout::default() {
        let records = annotated::read(source, columns, precision, &mut wrongs);
        return wrongs.into_result(source, records);
    }
    let Some(table) = Table::parse(source, columns, &mut wrongs) else {
        return wrongs.into_result(source, Vec::new());
    };
    let kinds = table.kinds(columns, &mut wrongs);
    let reader = Reader {
        table: &table,
        kinds: &kinds,
        columns,
        precision,
    };
    let mut records = Vec::new();
    for row in &table.rows {
        if wrongs.is_full() {
            break;
        }
        records.extend(reader.record(row, &mut wrongs));
    }
    wrongs.into_result(source, records)
}

/// A text cut into cells.
pub(crate) struct Table<'a> {
    header: Vec<Cell<'a>>,
    roles: Vec<Role>,
    rows: Vec<Vec<Cell<'a>>>,
    delimiter: char,
}

impl<'a> Table<'a> {
    /// `None` if there is no header, which is a mistake.
    pub(crate) fn parse(
        source: SourceText<'a>,
        columns: &'a Columns,
        wrongs: &mut Wrongs,
    ) -> Option<Self> {
        let mut rows = Rows::new(source.text, &columns.layout);
        let header = if let Some(names) = &columns.layout.header {
            rows.skip_lines(columns.layout.skip_after_header);
            let cell = |name: &'a String| Cell {
                text: name.as_str().into(),
                at: 0,
                is_quoted: true,
            };
            names.iter().map(cell).collect()
        } else {
            let Some(header) = rows.next_row(wrongs) else {
                let problem = if columns.layout.skip_lines > 0 {
                    "expected a header row after the skipped lines, found the end of the file"
                } else {
                    "expected a header row, found an empty file"
                };
                wrongs.add(Wrong::new(0, problem));
                return None;
            };
            rows.skip_lines(columns.layout.skip_after_header);
            if header.is_empty() {
                return None;
            }
            trim_names(header)
        };
        let roles = roles(&header, columns, wrongs);
        let mut table = Self {
            header,
            roles,
            rows: Vec::new(),
            delimiter: rows.delimiter,
        };
        while let Some(mut row) = rows.next_row(wrongs) {
            // A delimiter at the end of a row, which the header row lacks, separates nothing.
            if row.len() == table.header.len() + 1 && row.last().is_some_and(Cell::is_absent) {
                row.pop();
            }
            // A row with a mistake in its quotes has no cells.
            if row.is_empty() {
            } else if row.len() == table.header.len() {
                table.rows.push(row);
            } else {
                wrongs.add(table.wrong_width(&row));
            }
            if wrongs.is_full() {
                break;
            }
        }
        Some(table)
    }

    fn wrong_width(&self, row: &[Cell<'_>]) -> Wrong {
        let (expected, width) = (self.header.len(), row.len());
        let wrong = Wrong::new(
            row[0].at,
            format!("expected {expected} cells as in the header, found {width}"),
        );
        let remedy = if width > expected {
            "correct the row; skip_lines leaves out lines before the header row, if another line is that"
        } else if self.delimiter != ',' {
            "delimiter names what separates cells, if it is another character"
        } else {
            "correct the row; skip_lines and comment leave out lines that are none"
        };
        wrong.with_remedy(remedy)
    }

    /// The cells of a column that are not missing.
    fn cells<'t>(
        &'t self,
        columns: &'t Columns,
        column: usize,
    ) -> impl Iterator<Item = &'t Cell<'a>> {
        self.rows
            .iter()
            .map(move |row| &row[column])
            .filter(|cell| !columns.is_missing(cell.text.trim_matches(' ')))
    }

    /// The type of each column; `None` if every cell is missing.
    fn kinds(&self, columns: &Columns, wrongs: &mut Wrongs) -> Vec<Option<Kind>> {
        let decimal = columns.layout.decimal.unwrap_or(Decimal::Point);
        let mut kinds = Vec::with_capacity(self.header.len());
        for (column, role) in self.roles.iter().enumerate() {
            let cells = self.cells(columns, column).map(|cell| &*cell.text);
            let kind = Kind::of_cells(cells, decimal);
            let is_open = columns.layout.decimal.is_none() && *role == Role::Field;
            if is_open
                && kind == Some(Kind::Text)
                && let Some(cell) = self.decimal_comma(columns, column)
            {
                let name = &self.header[column].text;
                let problem = format!(
                    "column {name:?} has numbers with a comma, such as {:?}",
                    cell.text
                );
                let remedy = "decimal: comma reads them as numbers, decimal: point as texts";
                wrongs.add(Wrong::new(cell.at, problem).with_remedy(remedy));
            }
            if kind == Some(Kind::Float) && *role == Role::Field {
                wrongs.extend(self.wrong_integer(columns, column));
            }
            kinds.push(kind);
        }
        kinds
    }

    /// An integer of a column of floats that no float is equal to.
    fn wrong_integer(&self, columns: &Columns, column: usize) -> Option<Wrong> {
        let decimal = columns.layout.decimal.unwrap_or(Decimal::Point);
        let mut cells = self.cells(columns, column);
        let cell = cells.find(|cell| is_inexact_integer(&cell.text, decimal))?;
        let name = &self.header[column].text;
        let problem = format!(
            "expected an integer that a float holds, because no other type has all numbers of column {name:?}, found {:?}",
            cell.text
        );
        let remedy = format!("tags reads {name:?} as texts, and leave_out leaves it out");
        Some(Wrong::new(cell.at, problem).with_remedy(remedy))
    }

    /// A number with a comma, if most cells of the column are such.
    fn decimal_comma<'t>(&'t self, columns: &'t Columns, column: usize) -> Option<&'t Cell<'a>> {
        let is_number = |cell: &Cell<'_>, decimal| {
            Kind::of_cells(std::iter::once(&*cell.text), decimal).is_some_and(Kind::is_number)
        };
        let with_comma =
            |cell: &&Cell<'a>| !is_number(cell, Decimal::Point) && is_number(cell, Decimal::Comma);
        let count = self.cells(columns, column).filter(with_comma).count();
        let is_most = 2 * count > self.cells(columns, column).count();
        let first = self.cells(columns, column).find(with_comma);
        first.filter(|_| is_most)
    }

    /// The name of each column, with its cells and their offsets in the text.
    pub(crate) fn samples(&self) -> Vec<(String, Vec<(String, usize)>)> {
        (self.header.iter().enumerate())
            .map(|(column, name)| (name.text.clone().into_owned(), self.sample(column)))
            .collect()
    }

    fn sample(&self, column: usize) -> Vec<(String, usize)> {
        let cells = self.rows.iter().map(|row| &row[column]);
        cells
            .map(|cell| (cell.text.clone().into_owned(), cell.at))
            .collect()
    }
}

/// The names without the spaces of columns of one width.
fn trim_names(mut header: Vec<Cell<'_>>) -> Vec<Cell<'_>> {
    for cell in &mut header {
        if cell.text.trim_matches(' ').len() != cell.text.len() {
            cell.text = cell.text.trim_matches(' ').to_owned().into();
        }
    }
    header
}

fn roles(header: &[Cell<'_>], columns: &Columns, wrongs: &mut Wrongs) -> Vec<Role> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut roles = Vec::with_capacity(header.len());
    for cell in header {
        let role = columns.role(&cell.text);
        let times = seen.entry(&cell.text).or_default();
        *times += 1;
        if *times > 1 && role != Role::LeftOut {
            let problem = format!("column {:?} occurs twice in the header", cell.text);
            wrongs.add(Wrong::new(cell.at, problem));
        }
        if let (Role::Tag | Role::Field, Err(problem)) =
            (role, check_name("a column's name", &cell.text))
        {
            let remedy = "leave_out: names columns that are not used";
            wrongs.add(Wrong::new(cell.at, problem.to_string()).with_remedy(remedy));
        }
        roles.push(role);
    }
    let offset = header.first().map_or(0, |cell| cell.at);
    let mut missing: Vec<&String> = columns
        .names()
        .filter(|name| !seen.contains_key(name.as_str()))
        .collect();
    missing.dedup();
    for name in missing {
        let names = header.iter().take(COLUMNS_SHOWN);
        let names: Vec<String> = names.map(|cell| format!("{:?}", cell.text)).collect();
        let more = if header.len() > COLUMNS_SHOWN {
            ", …"
        } else {
            ""
        };
        let remedy = format!("its columns are {}{more}", names.join(", "));
        let problem = format!("the header has no column {name:?}");
        wrongs.add(Wrong::new(offset, problem).with_remedy(remedy));
    }
    roles
}

struct Reader<'r, 'a> {
    table: &'r Table<'a>,
    kinds: &'r [Option<Kind>],
    columns: &'r Columns,
    precision: Precision,
}

impl Reader<'_, '_> {
    fn record(&self, row: &[Cell<'_>], wrongs: &mut Wrongs) -> Option<Record> {
        let mut record = Record {
            measurement: match &self.columns.measurement {
                Measurement::Name(name) => name.clone(),
                Measurement::Column(_) => String::new(),
            },
            tags: Vec::new(),
            fields: Vec::new(),
            time_ns: None,
        };
        let decimal = self.columns.layout.decimal.unwrap_or(Decimal::Point);
        let mut wrong = Vec::new();
        for (column, cell) in row.iter().enumerate() {
            let key = || self.table.header[column].text.clone().into_owned();
            let is_missing = self.columns.is_missing(cell.text.trim_matches(' '));
            match (self.table.roles[column], self.kinds[column]) {
                (Role::Measurement, _) => {
                    if let Err(problem) = check_measurement(&cell.text) {
                        wrong.push(Wrong::new(cell.at, problem.to_string()));
                    }
                    record.measurement = cell.text.clone().into_owned();
                }
                (Role::Tag, Some(_)) if !is_missing => {
                    if let Err(problem) = check_name("a tag value", &cell.text) {
                        wrong.push(Wrong::new(cell.at, problem.to_string()));
                    }
                    record.tags.push((key(), cell.text.clone().into_owned()));
                }
                (Role::Field, Some(kind)) if !is_missing => {
                    record.fields.push((key(), kind.value(&cell.text, decimal)));
                }
                (Role::Time(_) | Role::LeftOut | Role::Tag | Role::Field, _) => {}
            }
        }
        match self.time(row) {
            Ok(time) => record.time_ns = time,
            Err(wrong_time) => wrong.push(wrong_time),
        }
        if record.fields.is_empty() {
            if self.columns.skip_empty {
                return None;
            }
            let remedy = "skip_empty: true leaves out rows without values";
            wrong.push(Wrong::new(row[0].at, "the row has no fields").with_remedy(remedy));
        }
        wrong.extend(
            over_limit(record.tags.len(), record.fields.len())
                .map(|problem| Wrong::new(row[0].at, problem)),
        );
        let is_right = wrong.is_empty();
        for mistake in wrong {
            wrongs.add(mistake);
        }
        is_right.then_some(record)
    }

    /// The time of a row, in one cell or in several; `None` if the table has no time.
    fn time(&self, row: &[Cell<'_>]) -> Result<Option<i64>, Wrong> {
        let Some(column) = &self.columns.time else {
            return Ok(None);
        };
        let mut parts: Vec<(usize, &Cell<'_>)> = Vec::with_capacity(column.columns.len());
        for (cell, role) in row.iter().zip(&self.table.roles) {
            if let Role::Time(part) = role {
                parts.push((*part, cell));
            }
        }
        parts.sort_by_key(|(part, _)| *part);
        // A column that the header lacks is a mistake already.
        let Some((_, first)) = parts.first() else {
            return Ok(None);
        };
        let texts: Vec<&str> = parts
            .iter()
            .map(|(_, cell)| cell.text.trim_ascii())
            .collect();
        let text = texts.join(" ");
        time::from_cell(&text, column, self.precision)
            .map(Some)
            .map_err(|Problem(problem)| {
                Wrong::new(first.at, problem).with_remedy(guess::time_remedy(&text, column))
            })
    }
}

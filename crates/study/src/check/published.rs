//! Figures that somebody published, beside which a study's own are shown.

use super::{
    Checker,
    threshold::{Known, find, in_unit, suffix_expected},
};
use crate::{
    FeedTable, Published, PublishedColumn, PublishedRow, cells::Levels, mistake::Finding,
    nearest::list, raw, tree::quoted,
};

/// Most columns that are shown.
const MAX_COLUMNS: usize = 20;

/// `None`: none are shown, or something is wrong with them. Without `known`, what is wrong with the load was reported.
pub(super) fn published(
    checker: &mut Checker<'_>,
    raw: &raw::Published,
    cells: &[Levels],
    known: Option<&[Known]>,
) -> Option<Published> {
    let by = by_factor(checker, raw, cells);
    let file = raw.from.as_deref()?;
    let named_at = checker.at(&["published", "from"]);
    let table = match checker.shelf?.table(file, named_at) {
        Ok(table) => table,
        Err(found) => {
            found
                .into_iter()
                .for_each(|finding| checker.report(finding));
            return None;
        }
    };
    let by = by.filter(|by| has_column(checker, &table, by, &["published", "by"]))?;
    let columns = columns(checker, raw, &table, known?)?;
    let place = |name: &str| table.columns.iter().position(|column| column == name);
    let key = place(&by)?;
    let mut rows = Vec::new();
    for row in &table.rows {
        let is_cell = |levels: &Levels| {
            levels
                .iter()
                .any(|(factor, level, _)| *factor == by && level.to_string() == row[key])
        };
        if cells.iter().any(is_cell) {
            let values = columns
                .iter()
                .map(|column| column.value(checker, &table, row, named_at))
                .collect::<Option<Vec<_>>>()?;
            rows.push(PublishedRow {
                level: row[key].clone(),
                values,
            });
        }
    }
    if rows.is_empty() {
        let what = format!("no row of {file} has a level of factor {by} in its column {by}");
        checker.report(Finding::new(named_at, what).expected("the levels as the study has them"));
        return None;
    }
    Some(Published {
        title: raw.title.clone()?,
        source: raw.source.clone()?,
        from: file.to_owned(),
        by,
        columns: columns
            .into_iter()
            .map(|column| PublishedColumn {
                name: column.name,
                number: column.number,
            })
            .collect(),
        rows,
    })
}

/// The factor whose levels name the rows.
fn by_factor(checker: &mut Checker<'_>, raw: &raw::Published, cells: &[Levels]) -> Option<String> {
    let by = raw.by.as_ref()?;
    let factors = || {
        cells
            .first()
            .into_iter()
            .flatten()
            .map(|(name, ..)| name.as_str())
    };
    if factors().any(|factor| factor == by) {
        return Some(by.clone());
    }
    let what = format!("published.by is {}, which is no factor", quoted(by));
    let expected = match factors().next() {
        Some(_) => list(factors()),
        None => "a study with factors or cells".to_owned(),
    };
    let near = crate::nearest::nearest(by, factors());
    let finding = Finding::new(checker.at(&["published", "by"]), what);
    checker.report(finding.expected(expected).meant(near));
    None
}

fn has_column(checker: &mut Checker<'_>, table: &FeedTable, name: &str, path: &[&str]) -> bool {
    let names = || table.columns.iter().map(String::as_str);
    if names().any(|column| column == name) {
        return true;
    }
    let what = format!("the table of published.from has no column {}", quoted(name));
    let near = crate::nearest::nearest(name, names());
    let finding = Finding::new(checker.at(path), what);
    checker.report(finding.expected(list(names())).meant(near));
    false
}

/// One column with the way in which its values are read.
struct Column {
    name: String,
    number: Vec<String>,
    place: usize,
    /// What is written behind each value to read it.
    suffix: String,
    unit: super::threshold::Unit,
}

fn columns(
    checker: &mut Checker<'_>,
    raw: &raw::Published,
    table: &FeedTable,
    known: &[Known],
) -> Option<Vec<Column>> {
    let given = raw.columns.as_ref()?;
    if given.len() > MAX_COLUMNS {
        let what = format!("published.columns has {} columns", given.len());
        let at = checker.at(&["published", "columns"]);
        checker.report(Finding::new(at, what).expected(format!("at most {MAX_COLUMNS}")));
        return None;
    }
    let mut all = Vec::new();
    for (index, column) in given.iter().enumerate() {
        all.push(self::column(checker, column, index, table, known));
    }
    all.into_iter().collect()
}

fn column(
    checker: &mut Checker<'_>,
    raw: &raw::PublishedColumn,
    index: usize,
    table: &FeedTable,
    known: &[Known],
) -> Option<Column> {
    let index = index.to_string();
    let path = |key: &'static str| ["published", "columns", index.as_str(), key];
    let name = raw.column.clone()?;
    let there = has_column(checker, table, &name, &path("column"));
    let number = raw.number.as_deref()?;
    let unit = match find(number, checker.at(&path("number")), known) {
        Ok(unit) => unit,
        Err(finding) => {
            checker.report(finding);
            return None;
        }
    };
    let suffix = raw.unit.clone().unwrap_or_default();
    if in_unit(&format!("1{suffix}"), unit).is_none() {
        let what = match &raw.unit {
            Some(unit) => format!("{} is no unit of {number}", quoted(unit)),
            None => format!("the values of {number} have no unit"),
        };
        let at = checker.at(&path("unit"));
        checker.report(Finding::new(at, what).expected(suffix_expected(unit)));
        return None;
    }
    Some(Column {
        place: table.columns.iter().position(|column| *column == name)?,
        name: raw.name.clone().unwrap_or(name),
        number: number.split('.').map(str::to_owned).collect(),
        suffix,
        unit,
    })
    .filter(|_| there)
}

impl Column {
    /// `Some(None)`: the table has no value there.
    fn value(
        &self,
        checker: &mut Checker<'_>,
        table: &FeedTable,
        row: &[String],
        at: crate::mistake::Place,
    ) -> Option<Option<f64>> {
        let text = row[self.place].trim();
        if text.is_empty() {
            return Some(None);
        }
        let value = in_unit(&format!("{text}{}", self.suffix), self.unit);
        if value.is_none() {
            let column = &table.columns[self.place];
            let what = format!("{} in column {column} is no number", quoted(text));
            let expected = format!("a number of {}, or nothing", self.number.join("."));
            checker.report(Finding::new(at, what).expected(expected));
        }
        value.map(Some)
    }
}

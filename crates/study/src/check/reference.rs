//! Reference results: figures from elsewhere, shown next to the study's own.

use waggle_spec::{Reference, ReferenceColumn, ReferenceRow};

use super::{
    Checker,
    known_metrics::Known,
    threshold::{parse_in_unit, suffix_expected, unit_of},
};
use crate::{
    FeedTable, Level,
    levels::Levels,
    mistake::{Finding, Position},
    nearest::list,
    raw,
    tree::quote,
};

/// Most columns that are shown.
const MAX_COLUMNS: usize = 20;

/// `None`: they have a mistake. Without `known` the metrics are not known, because of a mistake in the load that was reported.
pub(super) fn check_reference(
    checker: &mut Checker<'_>,
    raw: &raw::Reference,
    cells: &[Levels],
    known: Option<&[Known]>,
) -> Option<Reference> {
    let by = by_factors(checker, raw, cells);
    let file = raw.file.as_deref()?;
    let named_at = checker.position_of(&["reference", "file"]);
    let table = match checker.sources?.table(file, named_at) {
        Ok(table) => table,
        Err(findings) => {
            findings
                .into_iter()
                .for_each(|finding| checker.report(finding));
            return None;
        }
    };
    let keys = key_columns(checker, raw, &table, &by?)?;
    let columns = columns(checker, raw, &table, known?)?;
    let mut rows: Vec<ReferenceRow> = Vec::new();
    for row in &table.rows {
        let has = |factor: &str, level: &Level| {
            let mut keys = keys.iter().filter(|(name, _)| name == factor);
            keys.all(|(_, column)| level.to_string() == row[*column])
        };
        let is_cell = |cell: &Levels| cell.iter().all(|(factor, level, _)| has(factor, level));
        if !cells.iter().any(is_cell) {
            continue;
        }
        let levels: Vec<String> = keys
            .iter()
            .map(|(_, column)| row[*column].clone())
            .collect();
        if rows.iter().any(|earlier| earlier.levels == levels) {
            let what = format!("{file} has two rows of {}", row_text(&keys, &levels));
            checker.report(Finding::new(named_at, what).with_expected("one row for each"));
            return None;
        }
        let values = columns
            .iter()
            .map(|column| column.value(checker, &table, row, named_at))
            .collect::<Option<Vec<_>>>()?;
        rows.push(ReferenceRow { levels, values });
    }
    let match_on: Vec<String> = keys.into_iter().map(|(factor, _)| factor).collect();
    if rows.is_empty() {
        let (many, their) = match match_on.len() {
            1 => ("a level of factor", "column"),
            _ => ("the levels of a cell of factors", "columns"),
        };
        let names = list(match_on.iter().map(String::as_str));
        let what = format!("no row of {file} has {many} {names} in its {their} {names}");
        checker
            .report(Finding::new(named_at, what).with_expected("the levels as the study has them"));
        return None;
    }
    Some(Reference {
        title: raw.title.clone()?,
        source: raw.source.clone()?,
        match_on,
        columns: columns
            .into_iter()
            .map(|column| ReferenceColumn {
                name: column.name,
                metric: column.metric,
            })
            .collect(),
        rows,
    })
}

/// The factors whose levels name the rows.
fn by_factors(
    checker: &mut Checker<'_>,
    raw: &raw::Reference,
    cells: &[Levels],
) -> Option<Vec<String>> {
    let by = raw.match_on.as_ref()?.texts();
    let factors = || {
        cells
            .first()
            .into_iter()
            .flatten()
            .map(|(name, ..)| name.as_str())
    };
    let mut factor_names = Vec::new();
    for (index, name) in by.iter().enumerate() {
        let position = match_on_position(checker, raw, index);
        if by[..index].contains(name) {
            let what = format!("reference.match_on has {} twice", quote(name));
            checker.report(Finding::new(position, what).with_expected("each factor once"));
        } else if factors().any(|factor| factor == name) {
            factor_names.push(name.clone());
        } else {
            let what = format!("reference.match_on is {}, which is no factor", quote(name));
            let expected = match factors().next() {
                Some(_) => list(factors()),
                None => "a study with factors or cells".to_owned(),
            };
            let near = crate::nearest::nearest_word(name, factors());
            checker.report(
                Finding::new(position, what)
                    .with_expected(expected)
                    .with_suggestion(near),
            );
        }
    }
    (factor_names.len() == by.len() && !by.is_empty()).then_some(factor_names)
}

/// The position of a factor in `reference.match_on`.
fn match_on_position(checker: &Checker<'_>, raw: &raw::Reference, index: usize) -> Position {
    let index = index.to_string();
    match raw.match_on {
        Some(raw::OneOrSeveral::Several(_)) => {
            checker.position_of(&["reference", "match_on", &index])
        }
        _ => checker.position_of(&["reference", "match_on"]),
    }
}

/// Each factor with the index of its column.
fn key_columns(
    checker: &mut Checker<'_>,
    raw: &raw::Reference,
    table: &FeedTable,
    by: &[String],
) -> Option<Vec<(String, usize)>> {
    let mut columns = Vec::new();
    for (index, factor) in by.iter().enumerate() {
        let position = match_on_position(checker, raw, index);
        if has_column(checker, table, factor, position) {
            let number = table.columns.iter().position(|column| column == factor)?;
            columns.push((factor.clone(), number));
        }
    }
    (columns.len() == by.len()).then_some(columns)
}

/// `transport=rest, users=50`.
fn row_text(keys: &[(String, usize)], levels: &[String]) -> String {
    let pairs = keys.iter().zip(levels);
    let named: Vec<String> = pairs
        .map(|((factor, _), level)| format!("{factor}={level}"))
        .collect();
    list(named.iter().map(String::as_str))
}

fn has_column(
    checker: &mut Checker<'_>,
    table: &FeedTable,
    name: &str,
    position: Position,
) -> bool {
    let names = || table.columns.iter().map(String::as_str);
    if names().any(|column| column == name) {
        return true;
    }
    let what = format!("the table of reference.file has no column {}", quote(name));
    let near = crate::nearest::nearest_word(name, names());
    let finding = Finding::new(position, what);
    checker.report(finding.with_expected(list(names())).with_suggestion(near));
    false
}

/// One column, and how its values are read.
struct Column {
    name: String,
    metric: Vec<String>,
    index: usize,
    /// The unit that is appended to each value before it is read.
    suffix: String,
    unit: waggle_metrics::Unit,
}

fn columns(
    checker: &mut Checker<'_>,
    raw: &raw::Reference,
    table: &FeedTable,
    known: &[Known],
) -> Option<Vec<Column>> {
    let given = raw.columns.as_ref()?;
    if given.len() > MAX_COLUMNS {
        let what = format!("reference.columns has {} columns", given.len());
        let position = checker.position_of(&["reference", "columns"]);
        checker
            .report(Finding::new(position, what).with_expected(format!("at most {MAX_COLUMNS}")));
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
    raw: &raw::ReferenceColumn,
    index: usize,
    table: &FeedTable,
    known: &[Known],
) -> Option<Column> {
    let index = index.to_string();
    let path = |key: &'static str| ["reference", "columns", index.as_str(), key];
    let name = raw.column.clone()?;
    let column_at = checker.position_of(&path("column"));
    let there = has_column(checker, table, &name, column_at);
    let metric = raw.metric.as_deref()?;
    let unit = match unit_of(metric, checker.position_of(&path("metric")), known) {
        Ok(unit) => unit,
        Err(finding) => {
            checker.report(finding);
            return None;
        }
    };
    let suffix = raw.unit.clone().unwrap_or_default();
    if parse_in_unit(&format!("1{suffix}"), unit).is_none() {
        let what = match &raw.unit {
            Some(unit) => format!("{} is no unit of {metric}", quote(unit)),
            None => format!("the values of {metric} have no unit"),
        };
        let position = checker.position_of(&path("unit"));
        checker.report(Finding::new(position, what).with_expected(suffix_expected(unit)));
        return None;
    }
    Some(Column {
        index: table.columns.iter().position(|column| *column == name)?,
        name: raw.name.clone().unwrap_or(name),
        metric: metric.split('.').map(str::to_owned).collect(),
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
        position: Position,
    ) -> Option<Option<f64>> {
        let text = row[self.index].trim();
        if text.is_empty() {
            return Some(None);
        }
        let value = parse_in_unit(&format!("{text}{}", self.suffix), self.unit);
        if value.is_none() {
            let column = &table.columns[self.index];
            let what = format!("{} in column {column} is no number", quote(text));
            let expected = format!("a number of {}, or nothing", self.metric.join("."));
            checker.report(Finding::new(position, what).with_expected(expected));
        }
        value.map(Some)
    }
}

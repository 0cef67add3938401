//! The part `reference` of a study: figures from elsewhere, shown next to the study's own.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::ReferenceRow;

use crate::{
    FeedTable, Level,
    at::{At, Key},
    check::{Checker, Known, parse_in_unit, suffix_expected, unit_of},
    levels::{Levels, check_factors},
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    raw::OneOrSeveral,
    tree::quote,
};

/// Reference results: a table of figures from elsewhere, each row next to the study's cell with the same levels.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reference {
    /// Its title, e.g. `Table 1`.
    #[schemars(required)]
    pub title: Key<String>,
    /// Who measured it and on what, in a sentence; shown below the table in the report.
    #[schemars(required)]
    pub source: Key<String>,
    /// The file, CSV with a header or NDJSON, relative to the study's folder. An empty field is no figure.
    #[schemars(required)]
    pub file: Key<String>,
    /// A factor or a list of them, which are columns of the file, too: a cell is shown next to the row that has its levels.
    #[schemars(required)]
    pub match_on: Key<OneOrSeveral<At<String>>>,
    /// The columns that are shown, each next to a metric of the study.
    #[schemars(required, length(min = 1))]
    pub columns: Key<Vec<At<ReferenceColumn>>>,
}

/// One column of reference results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReferenceColumn {
    /// The column in the file.
    #[schemars(required)]
    pub column: Key<String>,
    /// The metric of the study that it is compared with, as in `thresholds`, e.g. `delivery.delay.mean`.
    #[schemars(required)]
    pub metric: Key<String>,
    /// The unit of the file's values, e.g. `s`, `ms`, `/s`, `%`; none for counts.
    pub unit: Key<String>,
    /// Its heading in the report; the column's name by default.
    pub name: Key<String>,
}

/// Most columns that are shown.
const MAX_COLUMNS: usize = 20;

/// `None`: there are none, or they have a mistake. Without `known` the metrics are not known, because of a mistake in the load that
/// was reported.
pub(crate) fn reference(
    checker: &mut Checker<'_>,
    given: &Key<Reference>,
    cells: &[Levels],
    known: Option<&[Known]>,
) -> Option<waggle_spec::Reference> {
    let raw = given.value()?;
    let match_on = raw.match_on.content();
    let by = match_on.and_then(|given| check_factors(checker, given, "is", cells));
    let file = raw.file.content()?;
    let (named_at, file) = (file.place.value, &file.value);
    let table = match checker.sources?.table(file, named_at) {
        Ok(table) => table,
        Err(findings) => {
            findings
                .into_iter()
                .for_each(|finding| checker.report(finding));
            return None;
        }
    };
    by?;
    let keys = key_columns(checker, match_on?, &table)?;
    let columns = columns(checker, raw.columns.content()?, &table, known?)?;
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
    Some(waggle_spec::Reference {
        title: raw.title.value()?.clone(),
        source: raw.source.value()?.clone(),
        match_on,
        columns: columns
            .into_iter()
            .map(|column| waggle_spec::ReferenceColumn {
                name: column.name,
                metric: column.metric,
            })
            .collect(),
        rows,
    })
}

/// Each factor with the index of its column. The factors were checked.
fn key_columns(
    checker: &mut Checker<'_>,
    match_on: &At<OneOrSeveral<At<String>>>,
    table: &FeedTable,
) -> Option<Vec<(String, usize)>> {
    let entries = match_on.entries();
    let mut columns = Vec::new();
    for (position, factor) in &entries {
        let number = column_number(checker, table, factor, *position);
        columns.extend(number.map(|number| ((*factor).to_owned(), number)));
    }
    (columns.len() == entries.len() && !columns.is_empty()).then_some(columns)
}

/// `transport=rest, users=50`.
fn row_text(keys: &[(String, usize)], levels: &[String]) -> String {
    let pairs = keys.iter().zip(levels);
    let named: Vec<String> = pairs
        .map(|((factor, _), level)| format!("{factor}={level}"))
        .collect();
    list(named.iter().map(String::as_str))
}

/// The number of a column in the table, counted from 0; it is reported if there is none.
fn column_number(
    checker: &mut Checker<'_>,
    table: &FeedTable,
    name: &str,
    position: Position,
) -> Option<usize> {
    let number = table.columns.iter().position(|column| column == name);
    if number.is_none() {
        let names = || table.columns.iter().map(String::as_str);
        let what = format!("the table of reference.file has no column {}", quote(name));
        let finding = Finding::new(position, what).with_expected(list(names()));
        checker.report(finding.with_suggestion(nearest_word(name, names())));
    }
    number
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
    At { place, value }: &At<Vec<At<ReferenceColumn>>>,
    table: &FeedTable,
    known: &[Known],
) -> Option<Vec<Column>> {
    if value.len() > MAX_COLUMNS {
        let mistake = place.mistake(format!("has {} columns", value.len()));
        checker.report(mistake.with_expected(format!("at most {MAX_COLUMNS}")));
        return None;
    }
    let columns = value
        .iter()
        .map(|given| column(checker, given, table, known));
    let columns: Vec<_> = columns.collect();
    columns.into_iter().collect()
}

fn column(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<ReferenceColumn>,
    table: &FeedTable,
    known: &[Known],
) -> Option<Column> {
    let name = keys.column.content()?;
    let index = column_number(checker, table, &name.value, name.place.value);
    let metric = keys.metric.content()?;
    let unit = match unit_of(&metric.value, metric.place.value, known) {
        Ok(unit) => unit,
        Err(finding) => {
            checker.report(finding);
            return None;
        }
    };
    let metric = &metric.value;
    let suffix = keys.unit.value().cloned().unwrap_or_default();
    if parse_in_unit(&format!("1{suffix}"), unit).is_none() {
        let (position, what) = match keys.unit.place() {
            Some(unit) => (
                unit.value,
                format!("{} is no unit of {metric}", quote(&suffix)),
            ),
            None => (place.value, format!("the values of {metric} have no unit")),
        };
        checker.report(Finding::new(position, what).with_expected(suffix_expected(unit)));
        return None;
    }
    Some(Column {
        name: keys.name.value().unwrap_or(&name.value).clone(),
        metric: metric.split('.').map(str::to_owned).collect(),
        index: index?,
        suffix,
        unit,
    })
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

//! Looks at a file of records and says how it is to be read: what `Columns` need, found in the file itself.

mod layout;
mod times;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    Columns, Decimal, Format, Mistake, TimeColumn, TimeFormat, Zone,
    csv::{Kind, Table, Wrongs},
    source_text::SourceText,
};
pub(crate) use times::remedy as time_remedy;

/// Rows that are looked at.
const ROWS: usize = 1_000;
/// Most different texts of a column that is a tag.
const TAG_VALUES_MAX: usize = 100;
/// Parts of names of columns that are likely to be the time.
const TIME_NAMES: [&str; 8] = [
    "time", "date", "datum", "zeit", "ts", "epoch", "stamp", "when",
];

/// How a file is to be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    pub columns: Columns,
    /// What is not certain, in sentences.
    pub notes: Vec<String>,
}

/// How a table of this measurement is to be read. `None` for line protocol, JSON, and NDJSON that has measurement and fields of
/// its own: they need no columns.
///
/// # Errors
/// The text is not UTF-8, or has no header row.
pub fn guess(
    text: &[u8],
    format: Format,
    measurement: &str,
) -> Result<Option<Guess>, Vec<Mistake>> {
    match format {
        Format::LineProtocol | Format::Json => Ok(None),
        Format::Csv => of_csv(text, measurement).map(Some),
        Format::Ndjson => of_ndjson(text, measurement),
    }
}

/// The cells of a column, in the order of rows.
struct Sample {
    name: String,
    cells: Vec<String>,
}

impl Sample {
    /// The cells that are not empty.
    fn texts(&self) -> Vec<&str> {
        let cells = self.cells.iter().map(|cell| cell.trim_ascii());
        cells.filter(|cell| !cell.is_empty()).collect()
    }
}

fn of_csv(text: &[u8], measurement: &str) -> Result<Guess, Vec<Mistake>> {
    let source = SourceText::parse_utf8(text)?;
    let mut guess = Guess {
        columns: Columns::of_measurement(measurement),
        notes: Vec::new(),
    };
    guess.columns.layout = layout::layout(source.text);
    let mut samples = csv_samples(source, &guess.columns)?;
    guess.columns.layout.skip_after_header = lines_of_units(&samples);
    if let Some(names) = names_without_header(&samples) {
        guess
            .notes
            .push("the file has no header row: name its columns in header".into());
        guess.columns.layout.header = Some(names);
    }
    if guess.columns.layout.skip_after_header > 0 || guess.columns.layout.header.is_some() {
        samples = csv_samples(source, &guess.columns)?;
    }
    guess.find_missing(&samples);
    guess.find_decimal(&samples);
    guess.find_roles(samples);
    Ok(guess)
}

fn csv_samples(source: SourceText<'_>, columns: &Columns) -> Result<Vec<Sample>, Vec<Mistake>> {
    // Rows with mistakes are left out; whoever reads the file is told them.
    let end = source
        .text
        .match_indices('\n')
        .nth(columns.layout.skip_lines + ROWS)
        .map_or(source.text.len(), |(at, _)| at + 1);
    let head = SourceText {
        text: &source.text[..end],
        ..source
    };
    let mut wrongs = Wrongs::default();
    let Some(table) = Table::parse(head, columns, &mut wrongs) else {
        return wrongs.into_result(source, Vec::new());
    };
    Ok(table
        .samples()
        .into_iter()
        .map(|(name, cells)| Sample { name, cells })
        .collect())
}

/// Lines after the header row that are no rows, such as units: where other cells of a column are numbers, theirs are texts.
fn lines_of_units(samples: &[Sample]) -> usize {
    let rows = samples.iter().map(|sample| sample.cells.len()).max();
    let most = rows.unwrap_or_default().saturating_sub(1).min(3);
    let numeric: Vec<&Sample> = samples
        .iter()
        .filter(|sample| {
            let cells = &sample.cells;
            cells.len() > most + 1 && cells[most..].iter().all(|cell| is_number(cell))
        })
        .collect();
    if numeric.is_empty() {
        return 0;
    }
    (0..most)
        .take_while(|&row| numeric.iter().all(|sample| !is_number(&sample.cells[row])))
        .count()
}

/// Names for the columns of a file whose first row has values: the names of all columns of numbers are numbers.
fn names_without_header(samples: &[Sample]) -> Option<Vec<String>> {
    let numeric = samples.iter().filter(|sample| {
        let cells = sample.texts();
        !cells.is_empty() && cells.iter().all(|cell| is_number(cell))
    });
    let mut names_of_numeric = numeric.map(|sample| &sample.name).peekable();
    names_of_numeric.peek()?;
    names_of_numeric.all(|name| is_number(name)).then(|| {
        (1..=samples.len())
            .map(|index| format!("column{index}"))
            .collect()
    })
}

fn is_number(cell: &str) -> bool {
    [Decimal::Point, Decimal::Comma]
        .into_iter()
        .any(|decimal| Kind::of_cells(std::iter::once(cell), decimal).is_some_and(Kind::is_number))
}

fn of_ndjson(text: &[u8], measurement: &str) -> Result<Option<Guess>, Vec<Mistake>> {
    let source = SourceText::parse_utf8(text)?;
    let mut samples: Vec<Sample> = Vec::new();
    let mut is_own = true;
    let lines = source.text.trim_start_matches('\u{feff}').lines();
    for line in lines
        .filter(|line| !line.trim_ascii().is_empty())
        .take(ROWS)
    {
        // A line that is not JSON is a mistake that the reader reports.
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        is_own &= value.get("measurement").is_some_and(Value::is_string)
            && value.get("fields").is_some_and(Value::is_object);
        flatten("", &value, &mut samples);
    }
    if is_own && !samples.is_empty() {
        return Ok(None);
    }
    let mut guess = Guess {
        columns: Columns::of_measurement(measurement),
        notes: Vec::new(),
    };
    guess.find_roles(samples);
    Ok(Some(guess))
}

fn flatten(path: &str, value: &Value, samples: &mut Vec<Sample>) {
    let within = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    let cell = match value {
        Value::Null => return,
        Value::Object(members) => {
            for (key, value) in members {
                flatten(&within(key), value, samples);
            }
            return;
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                flatten(&within(&index.to_string()), value, samples);
            }
            return;
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if let Some(sample) = samples.iter_mut().find(|sample| sample.name == path) {
        sample.cells.push(cell);
    } else {
        samples.push(Sample {
            name: path.to_owned(),
            cells: vec![cell],
        });
    }
}

impl Guess {
    fn find_missing(&mut self, samples: &[Sample]) {
        let mut missing = BTreeSet::new();
        for sample in samples {
            missing.extend(layout::missing_texts(&sample.texts(), is_number));
        }
        self.columns.missing = missing.into_iter().collect();
    }

    fn find_decimal(&mut self, samples: &[Sample]) {
        let kind = |sample: &Sample, decimal| {
            let texts = sample.texts();
            let cells = texts.iter().copied();
            Kind::of_cells(cells.filter(|cell| !self.columns.is_missing(cell)), decimal)
        };
        let has_comma = samples.iter().any(|sample| {
            kind(sample, Decimal::Point) == Some(Kind::Text)
                && kind(sample, Decimal::Comma).is_some_and(Kind::is_number)
        });
        if has_comma {
            self.columns.layout.decimal = Some(Decimal::Comma);
        }
    }

    /// Time, tags, and columns that cannot be sent.
    fn find_roles(&mut self, samples: Vec<Sample>) {
        self.find_time(&samples);
        let rows = samples.iter().map(|sample| sample.cells.len()).max();
        let time_columns = self.columns.time.iter().flat_map(|time| &time.columns);
        let time_columns: Vec<String> = time_columns.cloned().collect();
        let decimal = self.columns.layout.decimal.unwrap_or(Decimal::Point);
        let mut empty_rows = rows.unwrap_or_default();
        for sample in samples {
            if time_columns.contains(&sample.name) {
                continue;
            }
            let texts = sample.texts();
            let cells: Vec<&str> = texts
                .into_iter()
                .filter(|cell| !self.columns.is_missing(cell))
                .collect();
            let different: BTreeSet<&str> = cells.iter().copied().collect();
            let kind = Kind::of_cells(cells.iter().copied(), decimal);
            if sample.name.is_empty() || sample.name.ends_with('\\') || kind.is_none() {
                self.columns.leave_out.push(sample.name);
            } else if kind == Some(Kind::Text)
                && different.len() <= TAG_VALUES_MAX
                && (different.len() == 1 || different.len() * 2 <= cells.len())
                && different
                    .iter()
                    .all(|text| !text.ends_with('\\') && !text.contains('\n'))
            {
                self.columns.tags.push(sample.name);
            } else {
                empty_rows = empty_rows.min(rows.unwrap_or_default() - cells.len());
            }
        }
        self.columns.skip_empty = empty_rows > 0;
    }

    fn find_time(&mut self, samples: &[Sample]) {
        let is_named = |sample: &&Sample| {
            let name = sample.name.to_lowercase();
            TIME_NAMES.iter().any(|part| name.contains(part))
        };
        let named = samples.iter().filter(is_named);
        let others = samples.iter().filter(|sample| !is_named(sample));
        for (sample, has_name) in named.map(|s| (s, true)).chain(others.map(|s| (s, false))) {
            let formats = times::formats(&sample.texts());
            let is_integer = matches!(formats.first(), Some(TimeFormat::Epoch(_)));
            let Some(format) = formats.first().filter(|_| has_name || !is_integer) else {
                continue;
            };
            self.note_ambiguity(&sample.name, &formats);
            self.columns.time = Some(TimeColumn {
                columns: vec![sample.name.clone()],
                format: format.clone(),
                zone: Zone::default(),
            });
            return;
        }
        self.columns.time = self.date_and_time(samples);
    }

    /// A date in one column and the time of day in another.
    fn date_and_time(&mut self, samples: &[Sample]) -> Option<TimeColumn> {
        let (date, patterns) = samples
            .iter()
            .map(|sample| (sample, times::dates(&sample.texts())))
            .find(|(_, patterns)| !patterns.is_empty())?;
        let (time, of_day) = samples
            .iter()
            .find_map(|sample| Some((sample, times::time_of_day(&sample.texts())?)))?;
        let formats: Vec<TimeFormat> = patterns
            .iter()
            .map(|date| TimeFormat::Pattern(format!("{date} {of_day}")))
            .collect();
        self.note_ambiguity(&date.name, &formats);
        Some(TimeColumn {
            columns: vec![date.name.clone(), time.name.clone()],
            format: formats.into_iter().next()?,
            zone: Zone::default(),
        })
    }

    fn note_ambiguity(&mut self, name: &str, formats: &[TimeFormat]) {
        let patterns: Vec<String> = formats
            .iter()
            .filter_map(|format| match format {
                TimeFormat::Pattern(pattern) => Some(format!("{pattern:?}")),
                _ => None,
            })
            .collect();
        if patterns.len() > 1 {
            let either = patterns.join(" and ");
            self.notes
                .push(format!("{either} both read the times of column {name:?}"));
        }
    }
}

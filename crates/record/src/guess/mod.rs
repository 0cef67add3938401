//! Looks at a file of records and says how it is to be read: what `Columns` need, found in the file itself.

mod layout;
mod numbers;
mod times;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::{
    Columns, Decimal, Format, Mistake, TimeColumn, TimeFormat, Zone,
    csv::{Kind, Table, Wrongs, likely_delimiter},
    source_text::SourceText,
};
pub(crate) use times::remedy as time_remedy;

/// Rows that are looked at.
const ROWS: usize = 10_000;
/// Columns that are looked at: no record has more tags and fields.
const COLUMNS: usize = 4_096;
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
    if samples.iter().any(|sample| sample.name.contains('\n')) {
        guess.join_names(source.text, &samples);
    }
    guess.columns.layout.skip_after_header = numbers::lines_of_units(&samples);
    if let Some(names) = names_without_header(&samples) {
        guess
            .notes
            .push("the file has no header row: name its columns in header".into());
        guess.columns.layout.header = Some(names);
    }
    if guess.columns.layout.skip_after_header > 0 || guess.columns.layout.header.is_some() {
        samples = csv_samples(source, &guess.columns)?;
    }
    let skipped = guess.columns.layout.skip_after_header;
    if skipped > 0 {
        let lines = if skipped == 1 { "line" } else { "lines" };
        guess.notes.push(format!(
            "skip_after_header leaves out {skipped} {lines} after the header row"
        ));
    }
    guess.find_missing(&samples);
    guess.find_decimal(&samples);
    guess.note_texts(&samples);
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

/// Names for the columns of a file whose first row has values: the names of all columns of numbers are numbers.
fn names_without_header(samples: &[Sample]) -> Option<Vec<String>> {
    let numeric = samples.iter().filter(|sample| {
        let cells = sample.texts();
        !cells.is_empty() && cells.iter().all(|cell| numbers::is_number(cell))
    });
    let mut names_of_numeric = numeric.map(|sample| &sample.name).peekable();
    names_of_numeric.peek()?;
    // Names may be numbers, as of channels: above times is a name that is none.
    let is_name_of_times = |sample: &Sample| {
        let texts = sample.texts();
        texts.iter().any(|text| !numbers::is_number(text))
            && !times::formats(&texts).is_empty()
            && times::formats(&[&sample.name]).is_empty()
    };
    if samples.iter().any(is_name_of_times) {
        return None;
    }
    names_of_numeric
        .all(|name| numbers::is_number(name))
        .then(|| {
            (1..=samples.len())
                .map(|index| format!("column{index}"))
                .collect()
        })
}

fn of_ndjson(text: &[u8], measurement: &str) -> Result<Option<Guess>, Vec<Mistake>> {
    let source = SourceText::parse_utf8(text)?;
    let mut samples = Samples::default();
    let mut is_own = true;
    for line in source
        .text
        .lines()
        .filter(|line| !line.trim_ascii().is_empty())
        .take(ROWS)
    {
        // A line that is not JSON is a mistake that the reader reports.
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        is_own &= value.get("measurement").is_some_and(Value::is_string)
            && value.get("fields").is_some_and(Value::is_object);
        samples.flatten(None, &value);
    }
    let samples = samples.all;
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

/// Columns of objects, found by their paths.
#[derive(Default)]
struct Samples {
    all: Vec<Sample>,
    places: HashMap<String, usize>,
}

impl Samples {
    fn flatten(&mut self, path: Option<&str>, value: &Value) {
        let within =
            |key: &str| path.map_or_else(|| key.to_owned(), |path| format!("{path}.{key}"));
        match value {
            Value::Null => {}
            Value::Object(members) => {
                for (key, value) in members {
                    self.flatten(Some(&within(key)), value);
                }
            }
            Value::Array(elements) => {
                for (index, value) in elements.iter().enumerate().take(COLUMNS) {
                    self.flatten(Some(&within(&index.to_string())), value);
                }
            }
            Value::String(text) => self.add(path, text.clone()),
            other => self.add(path, other.to_string()),
        }
    }

    fn add(&mut self, path: Option<&str>, cell: String) {
        let name = path.unwrap_or_default();
        if let Some(&place) = self.places.get(name) {
            self.all[place].cells.push(cell);
        } else if self.all.len() < COLUMNS {
            self.places.insert(name.to_owned(), self.all.len());
            self.all.push(Sample {
                name: name.to_owned(),
                cells: vec![cell],
            });
        }
    }
}

impl Guess {
    /// Gives the columns the names of the header row without their line ends, which no name may have.
    fn join_names(&mut self, text: &str, samples: &[Sample]) {
        let layout = &mut self.columns.layout;
        let first_line = text.lines().nth(layout.skip_lines).unwrap_or_default();
        layout
            .delimiter
            .get_or_insert_with(|| likely_delimiter(first_line));
        let ends = samples
            .iter()
            .map(|sample| sample.name.matches('\n').count());
        layout.skip_lines += 1 + ends.sum::<usize>();
        let joined = |sample: &Sample| sample.name.split_whitespace().collect::<Vec<_>>().join(" ");
        layout.header = Some(samples.iter().map(joined).collect());
        self.notes
            .push("header has the names of the columns, which have line ends in the file".into());
    }

    /// Texts of columns of numbers that stand for no value, unless they are values of another column.
    fn find_missing(&mut self, samples: &[Sample]) {
        let of_columns: Vec<Vec<String>> = samples
            .iter()
            .map(|sample| layout::missing_texts(&sample.texts(), numbers::is_number))
            .collect();
        let all: BTreeSet<&String> = of_columns.iter().flatten().collect();
        for text in all {
            let is_value = samples.iter().zip(&of_columns).any(|(sample, missing)| {
                !missing.contains(text) && sample.texts().contains(&text.as_str())
            });
            if is_value {
                self.notes.push(format!(
                    "{text:?} stands for no value in one column, and is one in another"
                ));
                continue;
            }
            if numbers::is_number(text) {
                self.notes.push(format!("{text:?} is taken for no value"));
            }
            self.columns.missing.push(text.clone());
        }
    }

    /// The cells of a column that have a value.
    fn values<'s>(&self, sample: &'s Sample) -> Vec<&'s str> {
        let texts = sample.texts().into_iter();
        texts
            .filter(|cell| !self.columns.is_missing(cell))
            .collect()
    }

    fn find_decimal(&mut self, samples: &[Sample]) {
        let is_with_point = |sample: &Sample| {
            let cells = self.values(sample);
            Kind::of_cells(cells.into_iter(), Decimal::Point) == Some(Kind::Float)
        };
        let has_point = samples.iter().any(is_with_point);
        let is_thousand = |text: &str| {
            text.rsplit_once(',')
                .is_some_and(|(whole, digits)| digits.len() == 3 && !whole.contains('.'))
        };
        let mut first = None;
        let mut are_thousands = true;
        for sample in samples {
            let cells = self.values(sample);
            let with_comma = || cells.iter().filter(|cell| numbers::has_comma(cell));
            let is_read = |cell: &&&str| numbers::is_number_with(Decimal::Comma, cell);
            let others = cells.iter().filter(|cell| !numbers::has_comma(cell));
            let numbers = with_comma().count() + others.filter(is_read).count();
            if with_comma().next().is_some() && 2 * numbers > cells.len() {
                are_thousands &= with_comma().all(|cell| is_thousand(cell));
                first = first.or(Some(&sample.name));
            }
        }
        match first {
            None => {}
            Some(name) if has_point || are_thousands => self.notes.push(format!(
                "the commas of column {name:?} may separate thousands or fractions: decimal says which"
            )),
            Some(_) => self.columns.layout.decimal = Some(Decimal::Comma),
        }
    }

    /// Columns of numbers that are read as texts because of some cells, and letters that are read as booleans: a column has one
    /// type.
    fn note_texts(&mut self, samples: &[Sample]) {
        let decimal = self.columns.layout.decimal.unwrap_or(Decimal::Point);
        for sample in samples {
            let cells = self.values(sample);
            if !cells.is_empty() && cells.iter().all(|cell| matches!(*cell, "T" | "F")) {
                self.notes.push(format!(
                    "column {:?} is read as booleans, such as {:?}: tags reads it as texts",
                    sample.name, cells[0]
                ));
            }
            let is_text = |cell: &&&str| !numbers::is_number_with(decimal, cell);
            let texts = cells.iter().filter(is_text).count();
            let Some(example) = cells.iter().find(is_text) else {
                continue;
            };
            // Whether commas are decimal is asked, or a mistake of the reader.
            let is_open = self.columns.layout.decimal.is_none()
                && cells.iter().any(|cell| numbers::has_comma(cell));
            let marks = cells.iter().filter(|cell| layout::is_missing_text(cell));
            let meant = cells.iter().filter(|cell| numbers::is_meant(cell)).count();
            let are_meant = !is_open && 2 * meant > cells.len() - marks.count();
            if 2 * texts < cells.len() || are_meant {
                self.notes.push(format!(
                    "column {:?} is read as texts, because {texts} of its {} cells {} no number, such as {example:?}",
                    sample.name,
                    cells.len(),
                    if texts == 1 { "is" } else { "are" },
                ));
            }
        }
    }

    /// Time, tags, and columns that cannot be sent.
    fn find_roles(&mut self, samples: Vec<Sample>) {
        self.find_time(&samples);
        let rows = samples.iter().map(|sample| sample.cells.len()).max();
        let rows = rows.unwrap_or_default();
        let time_columns = self.columns.time.iter().flat_map(|time| &time.columns);
        let time_columns: Vec<String> = time_columns.cloned().collect();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for sample in &samples {
            *names.entry(sample.name.clone()).or_default() += 1;
        }
        // Rows of the field that has most.
        let mut filled_rows = 0;
        for sample in samples {
            if time_columns.contains(&sample.name) {
                continue;
            }
            let cells = self.values(&sample);
            let is_twice = names[&sample.name] > 1;
            let is_unnamed = sample.name.is_empty() || sample.name.ends_with('\\');
            if is_twice || is_unnamed || cells.is_empty() {
                self.leave_out(sample.name, is_twice && !is_unnamed);
            } else if self.is_tag(&cells) {
                self.columns.tags.push(sample.name);
            } else {
                filled_rows = filled_rows.max(cells.len());
            }
        }
        // A record has a field: texts of states alone are not what identifies a series.
        if filled_rows == 0 {
            self.columns.tags.clear();
        } else {
            self.columns.skip_empty = filled_rows < rows;
        }
    }

    fn leave_out(&mut self, name: String, is_noted: bool) {
        if self.columns.leave_out.contains(&name) {
            return;
        }
        if is_noted {
            self.notes
                .push(format!("column {name:?} is there twice, and left out"));
        }
        self.columns.leave_out.push(name);
    }

    /// Whether these cells are few different texts.
    fn is_tag(&self, cells: &[&str]) -> bool {
        let decimal = self.columns.layout.decimal.unwrap_or(Decimal::Point);
        let different: BTreeSet<&str> = cells.iter().copied().collect();
        Kind::of_cells(cells.iter().copied(), decimal) == Some(Kind::Text)
            && different.len() <= TAG_VALUES_MAX
            && !are_unread(cells)
            && (different.len() == 1 || different.len() * 2 <= cells.len())
            && different
                .iter()
                .all(|text| !text.ends_with('\\') && !text.contains('\n'))
    }

    fn find_time(&mut self, samples: &[Sample]) {
        let is_named = |sample: &&Sample| is_time_name(&sample.name);
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
        if self.columns.time.is_none() {
            self.note_unread_times(samples);
        }
    }

    /// Columns of times that no known format reads, or not all of them.
    fn note_unread_times(&mut self, samples: &[Sample]) {
        for sample in samples {
            let texts = sample.texts();
            let time = texts.iter().find(|text| times::is_likely(text));
            let is_named = is_time_name(&sample.name) && !numbers::are_mostly_numbers(&texts);
            let Some(first) = texts.first().filter(|_| is_named || are_unread(&texts)) else {
                continue;
            };
            let others: Vec<&&str> = texts
                .iter()
                .filter(|text| !times::is_likely(text))
                .collect();
            let note = match (time, &others[..]) {
                (Some(_), [other, ..]) if 2 * others.len() < texts.len() => format!(
                    "column {:?} is not read as times, because {} of its {} cells {} no time, such as {other:?}: time names the column once they are corrected",
                    sample.name,
                    others.len(),
                    texts.len(),
                    if others.len() == 1 { "is" } else { "are" },
                ),
                _ => format!(
                    "column {:?} is not read as times, such as {first:?}: time.format is their pattern, and time.zone their zone",
                    sample.name
                ),
            };
            self.notes.push(note);
        }
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

fn is_time_name(name: &str) -> bool {
    let name = name.to_lowercase();
    TIME_NAMES.iter().any(|part| name.contains(part))
}

/// Whether most of the texts look like instants.
fn are_unread(texts: &[&str]) -> bool {
    2 * texts.iter().filter(|text| times::is_likely(text)).count() > texts.len()
}

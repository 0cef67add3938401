//! Looks at a file of records and says how it is to be read: what `Columns` need, found in the file itself.

mod layout;
mod notes;
mod numbers;
mod samples;
mod times;

use std::collections::{BTreeMap, BTreeSet};

use self::samples::{JsonKind, Sample, csv_samples, json_samples};
use crate::{
    Columns, Decimal, Format, Measurement, Mistake, TimeColumn, TimeFormat, Zone,
    columns::Role,
    csv::{Kind, annotated_columns, is_annotated, likely_delimiter},
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

/// White space that no name may have.
const BREAKS: [char; 5] = ['\n', '\r', '\t', '\u{b}', '\u{c}'];

/// How a file is to be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    pub columns: Columns,
    /// What is not certain, in sentences.
    pub notes: Vec<String>,
    /// Columns of JSON whose integers are read as floats, because others of their values are.
    pub widened: Vec<String>,
}

/// How a table of this measurement is to be read. `None` for line protocol, and for JSON and NDJSON that have measurement and
/// fields of their own: they need no columns.
///
/// # Errors
/// The text is not UTF-8, or has no header row.
pub fn guess(
    text: &[u8],
    format: Format,
    measurement: &str,
) -> Result<Option<Guess>, Vec<Mistake>> {
    if format == Format::LineProtocol {
        return Ok(None);
    }
    let look = Look {
        source: SourceText::parse_utf8(text)?,
        columns: Columns::of_measurement(measurement),
        notes: Vec::new(),
    };
    match format {
        Format::LineProtocol => Ok(None),
        Format::Csv => look.guess_csv().map(Some),
        Format::Json | Format::Ndjson => look.guess_json(format),
    }
}

/// What is found so far.
struct Look<'a> {
    source: SourceText<'a>,
    columns: Columns,
    notes: Vec<String>,
}

impl Look<'_> {
    fn guess_csv(mut self) -> Result<Guess, Vec<Mistake>> {
        if is_annotated(self.source.text) {
            let Measurement::Name(measurement) = &self.columns.measurement else {
                return Ok(self.into_guess(Vec::new()));
            };
            self.columns = annotated_columns(self.source, measurement)?;
            return Ok(self.into_guess(Vec::new()));
        }
        self.columns.layout = layout::layout(self.source.text);
        let mut samples = csv_samples(self.source, &self.columns)?;
        if samples.iter().any(|sample| sample.name.contains(BREAKS)) {
            self.join_names(&samples);
        }
        self.columns.layout.skip_after_header = numbers::lines_of_units(&samples);
        let layout = &self.columns.layout;
        let in_comment = layout::names_in_comment(self.source.text, layout, samples.len());
        let is_named_by_time = in_comment.is_some() && samples.iter().any(is_time_above_times);
        let names = names_without_header(&samples);
        if let Some(names) = names.or_else(|| is_named_by_time.then(Vec::new)) {
            self.note(match in_comment {
                Some(_) => "header has the names of the columns, which are in a comment",
                None => "the file has no header row: name its columns in header",
            });
            self.columns.layout.header = Some(in_comment.unwrap_or(names));
        }
        self.note_comments();
        if self.columns.layout.skip_after_header > 0 || self.columns.layout.header.is_some() {
            samples = csv_samples(self.source, &self.columns)?;
        }
        let skipped = self.columns.layout.skip_after_header;
        if skipped > 0 {
            let lines = if skipped == 1 { "line" } else { "lines" };
            self.note(format!(
                "skip_after_header leaves out {skipped} {lines} after the header row"
            ));
        }
        self.find_missing(&samples, |sample| {
            layout::missing_texts(&sample.texts(), numbers::is_number)
        });
        self.find_decimal(&samples);
        self.note_texts(&samples);
        self.find_roles(&samples);
        self.note_digits(&samples);
        Ok(self.into_guess(Vec::new()))
    }

    fn guess_json(mut self, format: Format) -> Result<Option<Guess>, Vec<Mistake>> {
        let Some(samples) = json_samples(self.source, format)? else {
            return Ok(None);
        };
        self.find_missing(&samples, |sample| {
            if sample.is_numeric_json() && sample.json_texts().all(layout::is_missing_text) {
                let mut texts: Vec<String> = sample.json_texts().map(str::to_owned).collect();
                texts.retain(|text| !text.is_empty());
                texts
            } else {
                Vec::new()
            }
        });
        self.find_roles(&samples);
        self.note_digits(&samples);
        let is_widened = |sample: &&Sample| {
            sample.has_json(JsonKind::Integer)
                && sample.has_json(JsonKind::Float)
                && self.columns.role(&sample.name) == Role::Field
        };
        let widened = samples.iter().filter(is_widened);
        let widened = widened.map(|sample| sample.name.clone()).collect();
        Ok(Some(self.into_guess(widened)))
    }

    fn into_guess(self, widened: Vec<String>) -> Guess {
        Guess {
            columns: self.columns,
            notes: self.notes,
            widened,
        }
    }
}

/// Whether a column of times has a time where its name should be.
fn is_time_above_times(sample: &Sample) -> bool {
    let is_of_times = |texts: &[&str]| !times::formats(texts).is_empty();
    is_of_times(&sample.texts()) && is_of_times(&[&sample.name])
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
    if samples.iter().any(is_name_above_times) {
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

/// Whether a column of times that are no numbers has a name that is no time.
fn is_name_above_times(sample: &Sample) -> bool {
    let texts = sample.texts();
    texts.iter().any(|text| !numbers::is_number(text))
        && !times::formats(&texts).is_empty()
        && times::formats(&[&sample.name]).is_empty()
}

impl Look<'_> {
    /// Gives the columns the names of the header row without their line ends and tabs, which no name may have.
    fn join_names(&mut self, samples: &[Sample]) {
        let layout = &mut self.columns.layout;
        let first_line = self
            .source
            .text
            .lines()
            .nth(layout.skip_lines)
            .unwrap_or_default();
        layout
            .delimiter
            .get_or_insert_with(|| likely_delimiter(first_line));
        let ends = samples
            .iter()
            .map(|sample| sample.name.matches('\n').count());
        layout.skip_lines += 1 + ends.sum::<usize>();
        let joined = |sample: &Sample| sample.name.split_whitespace().collect::<Vec<_>>().join(" ");
        layout.header = Some(samples.iter().map(joined).collect());
        self.note("header has the names of the columns, which have line ends or tabs in the file");
    }

    /// Texts of columns of numbers that stand for no value, unless they are values of another column.
    fn find_missing(&mut self, samples: &[Sample], missing_texts: impl Fn(&Sample) -> Vec<String>) {
        let of_columns: Vec<Vec<String>> = samples.iter().map(missing_texts).collect();
        let all: BTreeSet<&String> = of_columns.iter().flatten().collect();
        for text in all {
            let is_value = samples.iter().zip(&of_columns).any(|(sample, missing)| {
                !missing.contains(text) && sample.texts().contains(&text.as_str())
            });
            if is_value {
                self.note(format!(
                    "{text:?} stands for no value in one column, and is one in another"
                ));
                continue;
            }
            if numbers::is_number(text) {
                self.note(format!("{text:?} is taken for no value"));
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
            Some(name) if has_point || are_thousands => self.note(format!(
                "the commas of column {name:?} may separate thousands or fractions: decimal says which"
            )),
            Some(_) => self.columns.layout.decimal = Some(Decimal::Comma),
        }
    }

    /// Time, tags, and columns that cannot be sent.
    fn find_roles(&mut self, samples: &[Sample]) {
        self.find_time(samples);
        let rows = samples.iter().map(|sample| sample.cells.len()).max();
        let rows = rows.unwrap_or_default();
        let time_columns = self.columns.time.iter().flat_map(|time| &time.columns);
        let time_columns: Vec<String> = time_columns.cloned().collect();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for sample in samples {
            *names.entry(sample.name.clone()).or_default() += 1;
        }
        // Rows of the field that has most.
        let mut filled_rows = 0;
        for sample in samples {
            if time_columns.contains(&sample.name) {
                continue;
            }
            let cells = self.values(sample);
            let is_twice = names[&sample.name] > 1;
            let is_unnamed = sample.name.is_empty() || sample.name.ends_with('\\');
            if is_twice || is_unnamed || cells.is_empty() {
                self.leave_out(sample.name.clone(), is_twice && !is_unnamed);
            } else if !is_mixed(sample) && self.is_tag(&cells) {
                self.columns.tags.push(sample.name.clone());
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
            self.note(format!("column {name:?} is there twice, and left out"));
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
            && different.iter().all(|text| {
                !text.ends_with('\\') && !text.bytes().any(|byte| byte.is_ascii_control())
            })
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
}

fn is_time_name(name: &str) -> bool {
    let name = name.to_lowercase();
    TIME_NAMES.iter().any(|part| name.contains(part))
}

/// Whether most of the texts look like instants.
fn are_unread(texts: &[&str]) -> bool {
    2 * texts.iter().filter(|text| times::is_likely(text)).count() > texts.len()
}

/// Whether a column of JSON has texts and others: its type is to be corrected.
fn is_mixed(sample: &Sample) -> bool {
    sample.has_json(JsonKind::Text)
        && (sample.is_numeric_json() || sample.has_json(JsonKind::Boolean))
}

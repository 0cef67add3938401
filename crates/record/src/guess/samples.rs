//! The first cells of each column of a file.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::{COLUMNS, ROWS};
use crate::{
    Columns, Format, Mistake,
    csv::{Table, Wrongs},
    json,
    source_text::SourceText,
};

/// Most objects and lists within each other that are looked at; the readers refuse more.
const DEPTH_MAX: usize = 32;

/// The cells of a column, in the order of rows.
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) cells: Vec<SampleCell>,
}

/// A cell of a row, or a value of an object.
pub(super) struct SampleCell {
    pub(super) text: String,
    /// Offset in the text of the file.
    at: usize,
    /// What the value is in JSON; `None` in CSV.
    json: Option<JsonKind>,
}

/// What a value is in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonKind {
    Text,
    Integer,
    Float,
    Boolean,
}

impl Sample {
    /// The cells that are not empty.
    pub(super) fn texts(&self) -> Vec<&str> {
        let cells = self.cells.iter().map(|cell| cell.text.trim_ascii());
        cells.filter(|cell| !cell.is_empty()).collect()
    }

    /// The cell of a row.
    pub(super) fn text(&self, row: usize) -> &str {
        self.cells[row].text.trim_ascii()
    }

    /// The line of the first cell with this text.
    pub(super) fn line(&self, text: &str, source: SourceText<'_>) -> usize {
        let mut cells = self.cells.iter();
        let cell = cells.find(|cell| cell.text.trim_ascii() == text);
        source.place(cell.map_or(0, |cell| cell.at)).0
    }

    pub(super) fn has_json(&self, kind: JsonKind) -> bool {
        self.cells.iter().any(|cell| cell.json == Some(kind))
    }

    /// The texts of a column of JSON.
    pub(super) fn json_texts(&self) -> impl Iterator<Item = &str> {
        let texts = self.cells.iter();
        let texts = texts.filter(|cell| cell.json == Some(JsonKind::Text));
        texts.map(|cell| cell.text.trim_ascii())
    }

    /// Whether the values of a column of JSON, other than its texts, are numbers.
    pub(super) fn is_numeric_json(&self) -> bool {
        let has_number = self.has_json(JsonKind::Integer) || self.has_json(JsonKind::Float);
        has_number && !self.has_json(JsonKind::Boolean)
    }
}

/// The columns of a table. Rows with mistakes are left out; whoever reads the file is told them.
pub(super) fn csv_samples(
    source: SourceText<'_>,
    columns: &Columns,
) -> Result<Vec<Sample>, Vec<Mistake>> {
    let end = source
        .text
        .match_indices('\n')
        .nth(columns.layout.skip_lines + ROWS)
        .map_or(source.text.len(), |(offset, _)| offset + 1);
    let head = SourceText {
        text: &source.text[..end],
        ..source
    };
    let mut wrongs = Wrongs::default();
    let Some(table) = Table::parse(head, columns, &mut wrongs) else {
        return wrongs.into_result(source, Vec::new());
    };
    let mut samples = Vec::new();
    for (name, cells) in table.samples() {
        let cells = cells.into_iter().map(|(text, offset)| SampleCell {
            text,
            at: offset,
            json: None,
        });
        let cells = cells.collect();
        samples.push(Sample { name, cells });
    }
    Ok(samples)
}

/// The columns of objects; `None` if each has measurement and fields of its own.
pub(super) fn json_samples(
    source: SourceText<'_>,
    format: Format,
) -> Result<Option<Vec<Sample>>, Vec<Mistake>> {
    let objects: Vec<&RawValue> = if format == Format::Json {
        let objects = json::objects(source)
            .map_err(|mistakes| json::name_ndjson(source.text.as_bytes(), mistakes));
        objects?.map(|(_, object)| object).take(ROWS).collect()
    } else {
        let lines = source.text.lines();
        let lines = lines.filter(|line| !line.trim_ascii().is_empty());
        // A line that is not JSON is a mistake that the reader reports.
        lines
            .take(ROWS)
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    let mut samples = Samples {
        source,
        all: Vec::new(),
        places: HashMap::new(),
    };
    let mut is_own = true;
    for object in objects {
        is_own &= is_own_shape(object);
        samples.flatten(None, object, 0);
    }
    Ok((!is_own || samples.all.is_empty()).then_some(samples.all))
}

/// Whether the object has `measurement` and `fields`.
fn is_own_shape(object: &RawValue) -> bool {
    let members = json::members(object).unwrap_or_default();
    let has = |name: &str, open: char| {
        let mut members = members.iter();
        members.any(|(key, value)| key == name && value.get().starts_with(open))
    };
    has("measurement", '"') && has("fields", '{')
}

/// Columns of objects, found by their paths.
struct Samples<'a> {
    source: SourceText<'a>,
    all: Vec<Sample>,
    places: HashMap<String, usize>,
}

impl Samples<'_> {
    fn flatten(&mut self, path: Option<&str>, value: &RawValue, depth: usize) {
        let within =
            |key: &str| path.map_or_else(|| key.to_owned(), |path| format!("{path}.{key}"));
        let json = value.get();
        if depth > DEPTH_MAX {
            return;
        }
        let (text, kind) = match json.as_bytes()[0] {
            b'n' => return,
            b'{' => {
                for (key, value) in json::members(value).unwrap_or_default() {
                    self.flatten(Some(&within(&key)), value, depth + 1);
                }
                return;
            }
            b'[' => {
                let elements: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
                for (index, value) in elements.into_iter().enumerate().take(COLUMNS) {
                    self.flatten(Some(&within(&index.to_string())), value, depth + 1);
                }
                return;
            }
            b'"' => (
                serde_json::from_str(json).unwrap_or_default(),
                JsonKind::Text,
            ),
            b't' | b'f' => (json.to_owned(), JsonKind::Boolean),
            _ if json.contains(['.', 'e', 'E']) => (json.to_owned(), JsonKind::Float),
            _ => (json.to_owned(), JsonKind::Integer),
        };
        let cell = SampleCell {
            text,
            at: self.source.offset_of(json),
            json: Some(kind),
        };
        self.add(path.unwrap_or_default(), cell);
    }

    fn add(&mut self, name: &str, cell: SampleCell) {
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

//! Converts one JSON object to a record; mistakes are noted with the position of the value or key.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    FieldValue, Mistake, Precision, Problem, Record,
    field_types::{FieldTypes, Scope},
    names::{check_measurement, check_name, over_limit},
    source_text::{Mistakes, SourceText},
    time,
};

/// Reads objects that are `{"measurement", "tags", "fields", "time"}`.
pub(crate) struct RecordReader {
    precision: Precision,
    /// The types of the fields, if each has one.
    types: Option<FieldTypes>,
}

impl RecordReader {
    pub(crate) fn new(precision: Precision) -> Self {
        Self {
            precision,
            types: None,
        }
    }

    /// A field of a measurement has one type.
    pub(crate) fn of_file(precision: Precision) -> Self {
        Self {
            precision,
            types: Some(FieldTypes::new(Scope::Measurement)),
        }
    }

    /// The records with the types of their fields, or the mistakes.
    pub(crate) fn finish(
        self,
        mut records: Vec<Record>,
        mut mistakes: Mistakes,
    ) -> Result<Vec<Record>, Vec<Mistake>> {
        if let Some(types) = self.types {
            types.unify(&mut records, &mut mistakes);
        }
        mistakes.into_result(records)
    }

    /// The record of an object; `None` if mistakes were noted.
    pub(crate) fn record(
        &mut self,
        source: SourceText<'_>,
        object: &RawValue,
        mistakes: &mut Mistakes,
    ) -> Option<Record> {
        let mut reader = Reader::new(source, mistakes);
        let mut measurement = None;
        let mut tags = None;
        let (mut fields, mut raw_fields) = (None, object);
        let mut time_ns = None;
        for (raw_key, key, value) in reader.pairs(object, "a record: an object")? {
            match &*key {
                "measurement" => measurement = reader.measurement(value),
                "tags" => tags = reader.tags(value),
                "fields" => {
                    raw_fields = value;
                    fields = reader.fields(value);
                }
                "time" => time_ns = reader.time(value, self.precision),
                _ => reader.wrong(
                    raw_key,
                    format!("expected measurement, tags, fields or time, found {key:?}"),
                ),
            }
        }
        if reader.ok && measurement.is_none() {
            reader.wrong(object, "the record has no measurement".into());
        }
        if reader.ok && fields.as_ref().is_none_or(Vec::is_empty) {
            reader.wrong(object, "the record has no fields".into());
        }
        let record = Record {
            measurement: measurement?,
            tags: tags.unwrap_or_default(),
            fields: fields?,
            time_ns,
        };
        if let Some(types) = &mut self.types {
            reader.note_types(&record, raw_fields, types);
        }
        reader.finish(object, record)
    }
}

/// Reads the parts of one object and notes mistakes.
pub(super) struct Reader<'a, 'm> {
    source: SourceText<'a>,
    mistakes: &'m mut Mistakes,
    /// No mistake in this object so far.
    pub(super) ok: bool,
}

/// Key as written, key, value.
pub(super) type Pair<'a> = (&'a RawValue, Cow<'a, str>, &'a RawValue);

impl<'a, 'm> Reader<'a, 'm> {
    pub(super) fn new(source: SourceText<'a>, mistakes: &'m mut Mistakes) -> Self {
        Self {
            source,
            mistakes,
            ok: true,
        }
    }
}

impl Reader<'_, '_> {
    /// Line and column of a piece of the text.
    pub(super) fn place(&self, raw: &RawValue) -> (usize, usize) {
        self.source.place(self.source.offset_of(raw.get()))
    }

    /// Notes the types of a record's fields, which were read from `raw`.
    fn note_types(&mut self, record: &Record, raw: &RawValue, types: &mut FieldTypes) {
        for (key, value) in &record.fields {
            // Rarely asked for, so it is looked up again.
            let raw_value = || member(raw, key).unwrap_or(raw);
            let place = || self.place(raw_value());
            if let Err(expected) = types.note(&record.measurement, key, value, place) {
                let raw_value = raw_value();
                self.wrong(
                    raw_value,
                    format!("{expected}, found {}", excerpt(raw_value)),
                );
            }
        }
    }

    pub(super) fn wrong(&mut self, raw: &RawValue, problem: String) {
        self.mistake(raw, problem, None);
    }

    /// Notes a mistake that an option of the reader mends.
    pub(super) fn mistake(&mut self, raw: &RawValue, problem: String, remedy: Option<String>) {
        self.ok = false;
        let offset = self.source.offset_of(raw.get());
        let mistake = self.source.mistake(offset, problem);
        self.mistakes.add(Mistake { remedy, ..mistake });
    }

    pub(super) fn finish(mut self, object: &RawValue, record: Record) -> Option<Record> {
        if let Some(problem) = over_limit(record.tags.len(), record.fields.len()) {
            self.wrong(object, problem);
        }
        self.ok.then_some(record)
    }

    /// The members of an object, keys checked to be unique.
    pub(super) fn pairs<'r>(&mut self, raw: &'r RawValue, wanted: &str) -> Option<Vec<Pair<'r>>> {
        let Ok(Members(members)) = serde_json::from_str(raw.get()) else {
            self.wrong(raw, format!("expected {wanted}, found {}", excerpt(raw)));
            return None;
        };
        let mut seen = HashSet::with_capacity(members.len());
        let mut pairs = Vec::with_capacity(members.len());
        for (raw_key, value) in members {
            let Some(key) = self.text(raw_key, "a key") else {
                continue;
            };
            if !seen.insert(key.clone()) {
                self.wrong(raw_key, format!("key {key:?} occurs twice in the object"));
                continue;
            }
            pairs.push((raw_key, key, value));
        }
        Some(pairs)
    }

    pub(super) fn text<'r>(&mut self, raw: &'r RawValue, wanted: &str) -> Option<Cow<'r, str>> {
        match serde_json::from_str::<Text<'r>>(raw.get()) {
            Ok(Text(text)) => Some(text),
            Err(_) => {
                self.wrong(raw, format!("expected {wanted}, found {}", excerpt(raw)));
                None
            }
        }
    }

    pub(super) fn name(&mut self, raw: &RawValue, part: &'static str, text: &str) {
        if let Err(problem) = check_name(part, text) {
            self.wrong(raw, problem.to_string());
        }
    }

    pub(super) fn measurement(&mut self, raw: &RawValue) -> Option<String> {
        let text = self.text(raw, "a measurement: a text")?;
        if let Err(problem) = check_measurement(&text) {
            self.wrong(raw, problem.to_string());
        }
        Some(text.into_owned())
    }

    fn tags(&mut self, raw: &RawValue) -> Option<Vec<(String, String)>> {
        let mut tags = Vec::new();
        for (raw_key, key, raw_value) in self.pairs(raw, "tags: an object of texts")? {
            self.name(raw_key, "a tag key", &key);
            let Some(value) = self.text(raw_value, "a tag value: a text") else {
                continue;
            };
            self.name(raw_value, "a tag value", &value);
            tags.push((key.into_owned(), value.into_owned()));
        }
        Some(tags)
    }

    /// A tag of a flat object may also be a number or a boolean: its text is used as written.
    pub(super) fn flat_tag(&mut self, raw: &RawValue) -> Option<String> {
        if raw.get().starts_with(['[', '{']) {
            self.wrong(raw, format!("expected a tag value, found {}", excerpt(raw)));
            return None;
        }
        if !raw.get().starts_with('"') {
            return Some(raw.get().to_owned());
        }
        let text = self.text(raw, "a tag value")?;
        self.name(raw, "a tag value", &text);
        Some(text.into_owned())
    }

    fn fields(&mut self, raw: &RawValue) -> Option<Vec<(String, FieldValue)>> {
        let mut fields = Vec::new();
        for (raw_key, key, raw_value) in self.pairs(raw, "fields: an object")? {
            self.name(raw_key, "a field key", &key);
            if raw_value.get() != "null" {
                let value = self.value(raw_value);
                fields.extend(value.map(|value| (key.into_owned(), value)));
            }
        }
        Some(fields)
    }

    pub(super) fn value(&mut self, raw: &RawValue) -> Option<FieldValue> {
        let json = raw.get();
        match json.as_bytes()[0] {
            b't' => Some(FieldValue::Boolean(true)),
            b'f' => Some(FieldValue::Boolean(false)),
            b'"' => {
                let text = self.text(raw, "a text")?;
                Some(FieldValue::Text(text.into_owned()))
            }
            b'-' | b'0'..=b'9' => {
                let number = number(json);
                if number.is_none() {
                    self.wrong(
                        raw,
                        format!("expected a number of 64 bits, found {}", excerpt(raw)),
                    );
                }
                number
            }
            _ => {
                let wanted = "expected a number, a boolean or a text";
                self.wrong(raw, format!("{wanted}, found {}", excerpt(raw)));
                None
            }
        }
    }

    fn time(&mut self, raw: &RawValue, precision: Precision) -> Option<i64> {
        let time = match raw.get().as_bytes()[0] {
            b'"' => time::from_text(&self.text(raw, "a time")?),
            b'-' | b'0'..=b'9' => time::from_integer(raw.get(), precision),
            _ => Err(Problem(format!(
                "expected a time, an integer or a text, found {}",
                excerpt(raw)
            ))),
        };
        match time {
            Ok(time) => Some(time),
            Err(Problem(problem)) => {
                self.wrong(raw, problem);
                None
            }
        }
    }
}

/// The value of a member of an object.
fn member<'r>(object: &'r RawValue, key: &str) -> Option<&'r RawValue> {
    let Members(members) = serde_json::from_str(object.get()).ok()?;
    let is_key = |raw_key: &RawValue| {
        serde_json::from_str::<Text<'_>>(raw_key.get()).is_ok_and(|text| text.0 == *key)
    };
    let mut members = members.into_iter();
    members.find_map(|(raw_key, value)| is_key(raw_key).then_some(value))
}

/// A number without a fraction is an integer, unsigned only if it must be; any other a float. `None` beyond 64 bits.
fn number(json: &str) -> Option<FieldValue> {
    if json.contains(['.', 'e', 'E']) {
        let value: f64 = json.parse().ok()?;
        return value.is_finite().then_some(FieldValue::Float(value));
    }
    let integer = json.parse().map(FieldValue::Integer);
    integer
        .or_else(|_| json.parse().map(FieldValue::Unsigned))
        .ok()
}

/// The keys and values of an object; `None` if it is none.
pub(crate) fn members(raw: &RawValue) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    let Members(members) = serde_json::from_str(raw.get()).ok()?;
    let mut pairs = Vec::with_capacity(members.len());
    for (raw_key, value) in members {
        if let Ok(Text(key)) = serde_json::from_str(raw_key.get()) {
            pairs.push((key, value));
        }
    }
    Some(pairs)
}

/// Longest piece of the text that a message repeats, in characters.
const SHOWN_CHARS: usize = 32;

pub(super) fn excerpt(raw: &RawValue) -> String {
    let text = raw.get();
    match text.char_indices().nth(SHOWN_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A text, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members of an object as written, in order; duplicates are kept.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

//! Converts one object of any shape to a record: values of nested objects and lists are columns, named by their path.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::object::{Reader, excerpt};
use crate::{
    Columns, Measurement, Mistake, Precision, Problem, Record,
    columns::Role,
    field_types::{FieldTypes, Scope},
    guess,
    names::over_limit,
    source_text::{Mistakes, SourceText},
    time,
};

/// Most objects and lists within each other.
const DEPTH_MAX: usize = 32;

/// Reads objects whose paths have the roles in `columns`.
pub(crate) struct FlatReader<'c> {
    columns: &'c Columns,
    precision: Precision,
    /// Names of `columns` that no object had so far.
    unseen: HashSet<&'c str>,
    types: FieldTypes,
}

impl<'c> FlatReader<'c> {
    pub(crate) fn new(columns: &'c Columns, precision: Precision) -> Self {
        Self {
            columns,
            precision,
            unseen: columns.names().map(String::as_str).collect(),
            types: FieldTypes::new(Scope::Text),
        }
    }

    /// The records with one type for each column, or the mistakes.
    pub(crate) fn finish(
        self,
        mut records: Vec<Record>,
        mut mistakes: Mistakes,
    ) -> Result<Vec<Record>, Vec<Mistake>> {
        // A typing error in a name would send other records than was meant.
        if mistakes.is_empty() {
            let mut unseen: Vec<&str> = self.unseen.iter().copied().collect();
            unseen.sort_unstable();
            for name in unseen {
                mistakes.add(Mistake::new(1, 1, format!("no object has {name:?}")));
            }
        }
        self.types.unify(&mut records, &mut mistakes);
        mistakes.into_result(records)
    }

    /// The record of an object; `None` if mistakes were noted, or if it has no value and such are left out.
    pub(crate) fn record(
        &mut self,
        source: SourceText<'_>,
        object: &RawValue,
        mistakes: &mut Mistakes,
    ) -> Option<Record> {
        let mut reader = Reader::new(source, mistakes);
        let time_columns = self.columns.time.as_ref().map(|time| time.columns.len());
        let mut flat = Flat {
            measurement: match &self.columns.measurement {
                Measurement::Name(name) => Some(name.clone()),
                Measurement::Column(_) => None,
            },
            time: vec![None; time_columns.unwrap_or_default()],
            ..Flat::default()
        };
        self.object(&mut reader, None, object, &mut flat, 0)?;
        let time_ns = self.time(&mut reader, object, &flat.time);
        if let (None, Measurement::Column(name)) = (&flat.measurement, &self.columns.measurement)
            && reader.ok
        {
            reader.wrong(object, format!("the object has no measurement {name:?}"));
        }
        if reader.ok && flat.fields.is_empty() {
            if self.columns.skip_empty {
                return None;
            }
            let remedy = "skip_empty: true leaves out objects without values";
            reader.mistake(
                object,
                "the object has no fields".into(),
                Some(remedy.into()),
            );
        }
        let record = Record {
            measurement: flat.measurement.unwrap_or_default(),
            tags: flat.tags,
            fields: flat.fields,
            time_ns,
        };
        reader.finish(object, record)
    }

    fn object<'r>(
        &mut self,
        reader: &mut Reader<'_, '_>,
        path: Option<&str>,
        object: &'r RawValue,
        flat: &mut Flat<'r>,
        depth: usize,
    ) -> Option<()> {
        if depth == DEPTH_MAX {
            reader.wrong(object, format!("nested deeper than {DEPTH_MAX} levels"));
            return None;
        }
        for (raw_key, key, value) in reader.pairs(object, "a record: an object")? {
            let column = join_path(path, &key);
            let member = Member {
                raw_key,
                column,
                value,
            };
            self.value(reader, member, flat, depth)?;
        }
        Some(())
    }

    fn value<'r>(
        &mut self,
        reader: &mut Reader<'_, '_>,
        member: Member<'r>,
        flat: &mut Flat<'r>,
        depth: usize,
    ) -> Option<()> {
        let Member { column, value, .. } = &member;
        self.unseen.remove(column.as_str());
        // Columns of other names may lie within one that is not named.
        if self.columns.leave_out.contains(column) {
            return Some(());
        }
        if value.get().starts_with('{') {
            return self.object(reader, Some(column), value, flat, depth + 1);
        }
        if value.get().starts_with('[') {
            if depth + 1 == DEPTH_MAX {
                reader.wrong(value, format!("nested deeper than {DEPTH_MAX} levels"));
                return None;
            }
            let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else {
                reader.wrong(value, format!("expected a list, found {}", excerpt(value)));
                return None;
            };
            for (index, value) in elements.into_iter().enumerate() {
                let member = Member {
                    column: join_path(Some(column), &index.to_string()),
                    value,
                    ..member
                };
                self.value(reader, member, flat, depth + 1)?;
            }
            return Some(());
        }
        self.leaf(reader, member, flat)
    }

    fn leaf<'r>(
        &mut self,
        reader: &mut Reader<'_, '_>,
        member: Member<'r>,
        flat: &mut Flat<'r>,
    ) -> Option<()> {
        let Member {
            raw_key,
            column,
            value,
        } = member;
        let role = self.columns.role(&column);
        let is_missing = value.get() == "null"
            || serde_json::from_str::<String>(value.get())
                .is_ok_and(|text| self.columns.missing.contains(&text))
            || self.columns.missing.iter().any(|text| text == value.get())
            // As an empty cell of CSV.
            || (role == Role::Tag && value.get() == "\"\"");
        if is_missing || role == Role::LeftOut {
            return Some(());
        }
        if !flat.seen.insert(column.clone()) {
            let problem = format!("{column:?} is both a key and a path in the object");
            reader.wrong(raw_key, problem);
            return Some(());
        }
        // No more of them are read.
        if let Some(problem) = over_limit(flat.tags.len(), flat.fields.len()) {
            reader.wrong(raw_key, problem);
            return None;
        }
        match role {
            Role::LeftOut => {}
            Role::Time(part) => flat.time[part] = Some(value),
            Role::Measurement => flat.measurement = reader.measurement(value),
            Role::Tag => {
                reader.name(raw_key, "a tag key", &column);
                let text = reader.flat_tag(value);
                flat.tags.extend(text.map(|text| (column, text)));
            }
            Role::Field => {
                reader.name(raw_key, "a field key", &column);
                let Some(field_value) = reader.value(value) else {
                    return Some(());
                };
                let place = || reader.place(value);
                if let Err(expected) = self.types.note("", &column, &field_value, place) {
                    let problem = format!("{expected}, found {}", excerpt(value));
                    reader.mistake(value, problem, Some(type_remedy(&column)));
                }
                flat.fields.push((column, field_value));
            }
        }
        Some(())
    }

    fn time(
        &self,
        reader: &mut Reader<'_, '_>,
        object: &RawValue,
        parts: &[Option<&RawValue>],
    ) -> Option<i64> {
        let column = self.columns.time.as_ref()?;
        let mut texts = Vec::with_capacity(parts.len());
        for (part, name) in parts.iter().zip(&column.columns) {
            let Some(part) = part else {
                if reader.ok {
                    reader.wrong(object, format!("the object has no time {name:?}"));
                }
                return None;
            };
            texts.push(if part.get().starts_with('"') {
                reader.text(part, "a time")?.into_owned()
            } else {
                part.get().to_owned()
            });
        }
        let text = texts.join(" ");
        match time::from_cell(&text, column, self.precision) {
            Ok(time) => Some(time),
            Err(Problem(problem)) => {
                let source = parts.first().copied().flatten().unwrap_or(object);
                reader.mistake(source, problem, Some(guess::time_remedy(&text, column)));
                None
            }
        }
    }
}

/// A value of an object, or of a list in it.
struct Member<'r> {
    raw_key: &'r RawValue,
    column: String,
    value: &'r RawValue,
}

/// The values of an object so far.
#[derive(Default)]
struct Flat<'r> {
    measurement: Option<String>,
    tags: Vec<(String, String)>,
    fields: Vec<(String, crate::FieldValue)>,
    /// By the parts of the time.
    time: Vec<Option<&'r RawValue>>,
    /// Columns with a role.
    seen: HashSet<String>,
}

fn type_remedy(column: &str) -> String {
    format!(
        "a column has one type: missing names texts that stand for no value, and leave_out or tags {column:?}"
    )
}

fn join_path(path: Option<&str>, key: &str) -> String {
    path.map_or_else(|| key.to_owned(), |path| format!("{path}.{key}"))
}

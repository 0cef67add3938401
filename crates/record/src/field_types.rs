//! The type of each field of a text whose values have types of their own, as JSON's: it is one over the whole text.
//!
//! Integers and floats together are floats. What no type holds without a change of its value is a mistake.

use std::collections::HashMap;

use crate::{FieldValue, Mistake, Problem, Record, source_text::Mistakes};

/// Fields are the same over all measurements, or each measurement has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Text,
    Measurement,
}

/// The types of the fields so far.
#[derive(Debug)]
pub(crate) struct FieldTypes {
    scope: Scope,
    /// By measurement, then by field.
    fields: HashMap<String, HashMap<String, FieldType>>,
}

/// Where a value is, and the value.
#[derive(Debug, Clone)]
struct Place {
    line: usize,
    column: usize,
    value: String,
}

impl Place {
    fn new(value: impl ToString, place: impl Fn() -> (usize, usize)) -> Self {
        let (line, column) = place();
        Self {
            line,
            column,
            value: value.to_string(),
        }
    }
}

/// The type of one field.
#[derive(Debug)]
struct FieldType {
    class: Class,
    /// The line of its first value.
    line: usize,
    float: Option<Place>,
    negative: Option<Place>,
    /// An integer beyond those with a sign.
    unsigned: Option<Place>,
    /// An integer that no float is equal to.
    inexact: Option<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Number,
    Boolean,
    Text,
}

impl Class {
    fn of_value(value: &FieldValue) -> Self {
        match value {
            FieldValue::Float(_) | FieldValue::Integer(_) | FieldValue::Unsigned(_) => Self::Number,
            FieldValue::Boolean(_) => Self::Boolean,
            FieldValue::Text(_) => Self::Text,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Text => "a text",
        }
    }
}

impl FieldTypes {
    pub(crate) fn new(scope: Scope) -> Self {
        Self {
            scope,
            fields: HashMap::new(),
        }
    }

    /// Notes a value of a field. `place`: its line and column; it is asked for the first value and for rare ones alone.
    ///
    /// # Errors
    /// Earlier values have another type; the problem says what was expected.
    pub(crate) fn note(
        &mut self,
        measurement: &str,
        field: &str,
        value: &FieldValue,
        place: impl Fn() -> (usize, usize),
    ) -> Result<(), Problem> {
        let class = Class::of_value(value);
        let scope = match self.scope {
            Scope::Text => "",
            Scope::Measurement => measurement,
        };
        if !self.fields.contains_key(scope) {
            self.fields.insert(scope.to_owned(), HashMap::new());
        }
        let fields = self.fields.get_mut(scope).expect("it was added above");
        if !fields.contains_key(field) {
            fields.insert(field.to_owned(), FieldType::new(class, place().0));
        }
        let known = fields.get_mut(field).expect("it was added above");
        if known.class != class {
            let (expected, line) = (known.class.name(), known.line);
            return Err(Problem(format!(
                "expected {expected} in field {field:?} as in line {line}"
            )));
        }
        known.note_number(value, &place);
        Ok(())
    }

    /// Gives the numbers of each field one type, or notes why none holds all of them.
    pub(crate) fn unify(&self, records: &mut [Record], mistakes: &mut Mistakes) {
        for fields in self.fields.values() {
            for (field, known) in fields {
                known
                    .mistake(field)
                    .into_iter()
                    .for_each(|mistake| mistakes.add(mistake));
            }
        }
        for record in records {
            let scope = match self.scope {
                Scope::Text => "",
                Scope::Measurement => &record.measurement,
            };
            let Some(fields) = self.fields.get(scope) else {
                continue;
            };
            for (field, value) in &mut record.fields {
                if let Some(known) = fields.get(field) {
                    known.widen(value);
                }
            }
        }
    }
}

impl FieldType {
    fn new(class: Class, line: usize) -> Self {
        Self {
            class,
            line,
            float: None,
            negative: None,
            unsigned: None,
            inexact: None,
        }
    }

    fn note_number(&mut self, value: &FieldValue, place: &impl Fn() -> (usize, usize)) {
        match *value {
            FieldValue::Float(value) if self.float.is_none() => {
                self.float = Some(Place::new(value, place));
            }
            FieldValue::Integer(value) => {
                if value < 0 && self.negative.is_none() {
                    self.negative = Some(Place::new(value, place));
                }
                if self.inexact.is_none() && !is_exact(value.into()) {
                    self.inexact = Some(Place::new(value, place));
                }
            }
            FieldValue::Unsigned(value) => {
                if self.unsigned.is_none() {
                    self.unsigned = Some(Place::new(value, place));
                }
                if self.inexact.is_none() && !is_exact(value.into()) {
                    self.inexact = Some(Place::new(value, place));
                }
            }
            _ => {}
        }
    }

    /// That no type holds all of the field's numbers as they are.
    fn mistake(&self, field: &str) -> Option<Mistake> {
        let (wrong, expected) = match (&self.float, &self.negative) {
            (Some(float), _) => (
                self.inexact.as_ref()?,
                format!(
                    "an integer that a float holds, because field {field:?} has the float {} in line {}",
                    float.value, float.line
                ),
            ),
            (None, Some(negative)) => (
                self.unsigned.as_ref()?,
                format!(
                    "an integer up to {}, because field {field:?} has {} in line {}",
                    i64::MAX,
                    negative.value,
                    negative.line
                ),
            ),
            (None, None) => return None,
        };
        let problem = format!("expected {expected}, found {}", wrong.value);
        Some(Mistake::new(wrong.line, wrong.column, problem))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a field with floats has no integer that is none, or it is a mistake"
    )]
    fn widen(&self, value: &mut FieldValue) {
        match *value {
            FieldValue::Integer(whole) if self.float.is_some() => {
                *value = FieldValue::Float(whole as f64);
            }
            FieldValue::Unsigned(whole) if self.float.is_some() => {
                *value = FieldValue::Float(whole as f64);
            }
            FieldValue::Integer(whole) if self.unsigned.is_some() => {
                if let Ok(whole) = u64::try_from(whole) {
                    *value = FieldValue::Unsigned(whole);
                }
            }
            _ => {}
        }
    }
}

/// Whether a float is equal to the integer, which has 64 bits.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "whether something is lost is the question"
)]
pub(crate) fn is_exact(integer: i128) -> bool {
    (integer as f64) as i128 == integer
}

//! Records and their text formats: line protocol, JSON, NDJSON, CSV.
//!
//! Text in, records or a list of mistakes (each with its line and column) out. Knows no socket, no file and no study. The gateway
//! stores records, the runner makes requests of them. Readers accept only names that every format can write.

mod columns;
pub mod csv;
mod field_types;
mod format;
mod guess;
pub mod json;
pub mod line_protocol;
mod names;
pub mod ndjson;
mod source_text;
mod stamp;
#[cfg(test)]
mod tests;
mod time;
mod value;

pub use columns::{Columns, DELIMITERS, Decimal, Layout, Measurement, TimeColumn, TimeFormat};
pub use format::Format;
pub use guess::{Guess, guess};
pub use stamp::{
    Body, KEY_FIELD, KEY_PLACEHOLDER, RESERVED_PREFIX, RUN_TAG, Stamped, TIME_PLACEHOLDER, body,
    stamp,
};
pub use time::{Zone, check_pattern};
pub use value::{
    FieldValue, MISTAKES_MAX, Mistake, Precision, Problem, Record, TABLE_MISTAKES_MAX, TIME_MAX_NS,
    TIME_MIN_NS, Unwritable,
};

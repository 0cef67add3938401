//! Records and the text formats they travel in: line protocol, JSON, NDJSON, CSV.
//!
//! Text in, records or a list of mistakes (each with its line and column) out. Knows no socket, no file
//! and no study. Used by the gateway, which stores records, and by the runner, which makes requests of them.

pub mod line_protocol;
mod value;

pub use value::{
    FieldValue, MISTAKES_MAX, Mistake, Precision, Record, TIME_MAX_NS, TIME_MIN_NS, Unwritable,
};

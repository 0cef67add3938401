//! Records and the text formats they travel in: line protocol, JSON, NDJSON, CSV.
//!
//! Text in, records or a list of mistakes (each with its line and column) out. Knows no socket, no file
//! and no study. Used by the gateway, which stores records, and by the runner, which makes requests of them.

mod value;

pub use value::{FieldValue, Mistake, Precision, Record};

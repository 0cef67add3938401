//! Numbers with units: text to number and back, and the right word for a misspelt one. Pure; knows neither studies nor results.
//!
//! Parses values of files and flags (`250ms`, `4MiB`, `1000/s`, `5%`); formatted values parse to the same value.

mod amount;
mod format;
mod nearest;
mod parse;

pub use amount::{Amount, Dimension, parse_amount};
pub use format::{format_duration, format_size};
pub use nearest::nearest_word;
pub use parse::{
    DURATION_MAX, DurationError, parse_byte_rate, parse_bytes, parse_duration,
    parse_duration_up_to, parse_number, parse_rate, parse_share, parse_size,
};

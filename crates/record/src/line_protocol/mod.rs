//! Line protocol, as the `InfluxDB` 2 reference documents it: `measurement,tag=value field=1i 1700000000000000000`.
//!
//! [`lines`] is the hot path: one pass over the text, every part checked, nothing copied. [`read`] makes records of lines,
//! [`write()`] makes text of a record. Like `InfluxDB`, readers take more than one space between the parts, spaces at both ends
//! of a line, `\r\n`, and keep a backslash that escapes nothing. Unlike `InfluxDB`, they refuse a tag or field key that occurs
//! twice in a line, and names with control characters of ASCII, which its grammar does not have (`nonprintable_char`). Names that start with `_` are taken: `InfluxDB` reserves them but leaves it to the writer.

#[cfg(test)]
mod corpus;
mod limits;
mod line;
mod number;
mod scan;
#[cfg(test)]
mod tests;
mod text;
mod write;

pub use limits::{FIELDS_MAX, LINE_MAX_BYTES, TAGS_MAX};
pub use line::{Field, Fields, Line, Lines, RawValue, Tag, Tags, Time};
pub use text::{measurement_text, name_text, string_text};
pub use write::write;
pub(crate) use write::{write_fields, write_series};

use crate::{MISTAKES_MAX, Mistake, Precision, Record};

/// The lines of a text that hold a record, each checked, in order; comments and blank lines are skipped. After a mistake it
/// continues with the next line.
#[must_use]
pub fn lines(text: &[u8]) -> Lines<'_> {
    Lines::new(text)
}

/// The lines of a text that was checked before, when names could have control characters; else as [`lines`].
#[must_use]
pub fn stored_lines(text: &[u8]) -> Lines<'_> {
    Lines::new(text).with_names(scan::Names::Any)
}

/// Whether the text is a float as a field's value would be written.
pub(crate) fn is_float(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_digit() || last == '.')
        && number::check_value(text.as_bytes()).is_ok()
}

/// Every record of a text, or its mistakes: all of them, up to [`MISTAKES_MAX`].
pub fn read(text: &[u8], precision: Precision) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut records = Vec::new();
    let mut mistakes = Vec::new();
    for line in lines(text) {
        match line.and_then(|line| line.to_record(precision)) {
            Ok(record) => records.push(record),
            Err(mistake) => mistakes.push(mistake),
        }
        if mistakes.len() == MISTAKES_MAX {
            break;
        }
    }
    if mistakes.is_empty() {
        Ok(records)
    } else {
        Err(mistakes)
    }
}

//! Valid names of a record: those that every format can express. Readers refuse others with their position.

use crate::{
    Unwritable,
    line_protocol::{FIELDS_MAX, TAGS_MAX},
};

/// A measurement is a name that does not begin a comment.
pub(crate) fn check_measurement(text: &str) -> Result<(), Unwritable> {
    if text.starts_with('#') {
        let text = text.to_owned();
        return Err(Unwritable::Comment { text });
    }
    check_name("the measurement", text)
}

/// `part` is what messages call it: `the measurement`, `a tag key`, `a tag value`, `a field key`.
pub(crate) fn check_name(part: &'static str, text: &str) -> Result<(), Unwritable> {
    if text.is_empty() {
        return Err(Unwritable::Empty { part });
    }
    if text.contains('\n') {
        let text = text.to_owned();
        return Err(Unwritable::LineBreak { part, text });
    }
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        let text = text.to_owned();
        return Err(Unwritable::Control { part, text });
    }
    // A backslash would escape the comma, equals sign or space after the name.
    if text.ends_with('\\') {
        let text = text.to_owned();
        return Err(Unwritable::LastBackslash { part, text });
    }
    Ok(())
}

/// The limits of a line hold in every format; `Some` names the exceeded one.
pub(crate) fn over_limit(tags: usize, fields: usize) -> Option<String> {
    if tags > TAGS_MAX {
        Some(format!(
            "a record has at most {TAGS_MAX} tags, this one has {tags}"
        ))
    } else if fields > FIELDS_MAX {
        Some(format!(
            "a record has at most {FIELDS_MAX} fields, this one has {fields}"
        ))
    } else {
        None
    }
}

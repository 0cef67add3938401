//! Parses readings from text that the gateway wrote itself. It was checked before, so only its parts are searched.

use waggle_record::line_protocol;

use super::Reading;

/// Gives every reading of lines that end with their times, joined by line breaks.
pub(super) fn readings(mut text: &[u8], mut give: impl FnMut(Reading<'_>)) {
    while let Some((reading, length)) = first_reading(text) {
        give(reading);
        text = &text[(length + 1).min(text.len())..];
    }
}

/// The first reading, and the length of its line.
fn first_reading(text: &[u8]) -> Option<(Reading<'_>, usize)> {
    let length = match memchr::memchr3(b'\n', b'"', b'\\', text) {
        None => text.len(),
        Some(position) if text[position] == b'\n' => position,
        // A text may have a line break, a name an escaped space.
        Some(_) => return first_of_any(text),
    };
    let line = &text[..length];
    let series_end = memchr::memchr(b' ', line)?;
    let time_at = memchr::memrchr(b' ', line)?;
    let reading = Reading {
        series: &line[..series_end],
        fields: line.get(series_end + 1..time_at)?,
        time: std::str::from_utf8(&line[time_at + 1..])
            .ok()?
            .parse()
            .ok()?,
    };
    Some((reading, length))
}

fn first_of_any(text: &[u8]) -> Option<(Reading<'_>, usize)> {
    let line = line_protocol::stored_lines(text).next()?.ok()?;
    let reading = Reading {
        series: line.series().as_bytes(),
        fields: line.fields_raw().as_bytes(),
        time: line.time?.value,
    };
    Some((reading, line.raw.len()))
}

/// The two parts of a line without a time.
pub(super) fn series_and_fields(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr2(b' ', b'\\', line)?;
    if line[end] == b' ' {
        return Some((&line[..end], &line[end + 1..]));
    }
    let line = line_protocol::stored_lines(line).next()?.ok()?;
    Some((line.series().as_bytes(), line.fields_raw().as_bytes()))
}

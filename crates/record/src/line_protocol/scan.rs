//! Scans one line in one pass: the offsets of its parts, or a mistake with its position. Copies nothing and creates no records.

use super::{
    limits::{FIELDS_MAX, LINE_MAX_BYTES, TAGS_MAX},
    number,
};

/// The parts of a line, as offsets into the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub(super) start: usize,
    pub(super) measurement_end: usize,
    pub(super) series_end: usize,
    pub(super) fields_start: usize,
    pub(super) fields_end: usize,
    /// Value, first and last-but-one byte of the time.
    pub(super) time: Option<(i64, usize, usize)>,
    pub(super) end: usize,
    /// Where the next line starts.
    pub(super) next: usize,
    /// Line breaks inside quotes.
    pub(super) breaks: usize,
}

/// A mistake, and its offset in the text.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) problem: Problem,
}

#[derive(Debug)]
pub(super) enum Problem {
    /// What was expected; the message adds what was found.
    Expected(&'static str),
    /// The whole message.
    Plain(String),
}

/// Offsets of the keys of a line's tags or fields. The first few are stored inline, so that most lines need no allocation; the
/// buffer for more is reused.
#[derive(Debug, Default)]
pub(super) struct Keys {
    count: usize,
    few: [Key; FEW_KEYS],
    /// All of them, once there are more than a few.
    many: Vec<Key>,
}

/// Offset of the first byte, and of the one after the last.
type Key = (usize, usize);

/// Up to this many keys are compared with each other, more are sorted at the end.
const FEW_KEYS: usize = 16;

const COMMA: u8 = 1;
const SPACE: u8 = 2;
const EQUALS: u8 = 4;
const NEWLINE: u8 = 8;
const RETURN: u8 = 16;
const BACKSLASH: u8 = 32;
/// A control character of ASCII; line ends are, too.
const CONTROL: u8 = 64;

/// What ends a measurement; a backslash is examined and skipped.
const MEASUREMENT: u8 = COMMA | SPACE | NEWLINE | BACKSLASH;
/// What ends a tag key, tag value or field key.
const NAME: u8 = MEASUREMENT | EQUALS;
/// What ends an unquoted field value or a time.
const BARE: u8 = COMMA | SPACE | NEWLINE | RETURN;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 32 {
        class[byte] = CONTROL;
        byte += 1;
    }
    class[0x7F] = CONTROL;
    class[b',' as usize] = COMMA;
    class[b' ' as usize] = SPACE;
    class[b'=' as usize] = EQUALS;
    class[b'\n' as usize] = NEWLINE;
    class[b'\r' as usize] = RETURN | CONTROL;
    class[b'\\' as usize] = BACKSLASH;
    class
};

/// Which characters names may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Printable,
    /// As they were accepted once.
    Any,
}

/// Scans the line that starts at `start`, which is neither blank, comment nor space.
pub(super) fn scan(
    text: &[u8],
    start: usize,
    keys: &mut Keys,
    names: Names,
) -> Result<Parts, Fault> {
    let measurement_end = checked_end::<MEASUREMENT>(text, start, names, "the measurement")?;
    if measurement_end == start {
        return expected_fault(start, "expected a measurement");
    }
    let series_end = tags(text, measurement_end, keys, names)?;
    if text.get(series_end) != Some(&b' ') {
        return expected_fault(series_end, "expected a space and fields");
    }
    let fields_start = spaces_end(text, series_end);
    let (fields_end, breaks) = fields(text, fields_start, keys, names)?;
    let mut end = fields_end;
    let mut position = spaces_end(text, fields_end);
    let mut time = None;
    if line_end(text, position).is_none() {
        end = bare_end(text, position);
        time = Some((time_value(text, position, end)?, position, end));
        position = spaces_end(text, end);
    }
    let Some(next) = line_end(text, position) else {
        return expected_fault(position, "expected the end of the line after the time");
    };
    if end - start > LINE_MAX_BYTES {
        let problem = format!(
            "a line has at most {LINE_MAX_BYTES} bytes, this one has {}",
            end - start
        );
        return Err(Fault {
            at: start,
            problem: Problem::Plain(problem),
        });
    }
    Ok(Parts {
        start,
        measurement_end,
        series_end,
        fields_start,
        fields_end,
        time,
        end,
        next,
        breaks,
    })
}

/// Checks the tags; returns where they end.
fn tags(text: &[u8], mut position: usize, keys: &mut Keys, names: Names) -> Result<usize, Fault> {
    keys.clear();
    while text.get(position) == Some(&b',') {
        let key = position + 1;
        let key_end = checked_end::<NAME>(text, key, names, "the tag key")?;
        if key_end == key {
            return expected_fault(key, "expected a tag key");
        }
        if text.get(key_end) != Some(&b'=') {
            return expected_fault(key_end, "expected = and a value after the tag key");
        }
        let value = key_end + 1;
        position = checked_end::<NAME>(text, value, names, "the tag value")?;
        if position == value {
            return expected_fault(value, "expected a tag value");
        }
        if text.get(position) == Some(&b'=') {
            return expected_fault(
                position,
                "expected a comma, a space or \\= in the tag value",
            );
        }
        keys.note(text, (key, key_end), "tag")?;
        if keys.count > TAGS_MAX {
            return too_many(key, TAGS_MAX, "tags");
        }
    }
    keys.check_many(text, "tag")?;
    Ok(position)
}

/// Checks the fields; returns where they end, and the number of line breaks in them.
fn fields(
    text: &[u8],
    mut position: usize,
    keys: &mut Keys,
    names: Names,
) -> Result<(usize, usize), Fault> {
    keys.clear();
    let mut breaks = 0;
    loop {
        let key_end = checked_end::<NAME>(text, position, names, "the field key")?;
        if key_end == position {
            return expected_fault(position, "expected a field key");
        }
        if text.get(key_end) != Some(&b'=') {
            return expected_fault(key_end, "expected = and a value after the field key");
        }
        keys.note(text, (position, key_end), "field")?;
        if keys.count > FIELDS_MAX {
            return too_many(position, FIELDS_MAX, "fields");
        }
        let value = key_end + 1;
        let end = if text.get(value) == Some(&b'"') {
            string_end(text, value, &mut breaks)?
        } else {
            bare_value(text, value)?
        };
        if text.get(end) != Some(&b',') {
            if text.get(end) != Some(&b' ') && line_end(text, end).is_none() {
                return expected_fault(
                    end,
                    "expected a comma, a space or the end of the line after the value",
                );
            }
            keys.check_many(text, "field")?;
            return Ok((end, breaks));
        }
        position = end + 1;
    }
}

impl Keys {
    fn clear(&mut self) {
        self.count = 0;
        self.many.clear();
    }

    fn note(&mut self, text: &[u8], key: Key, kind: &'static str) -> Result<(), Fault> {
        if let Some(room) = self.few.get_mut(self.count) {
            *room = key;
            let bytes = &text[key.0..key.1];
            let same = |&(from, to): &Key| to - from == bytes.len() && text[from..to] == *bytes;
            if self.few[..self.count].iter().any(same) {
                return duplicate_key(text, key, kind);
            }
        } else {
            if self.many.is_empty() {
                self.many.extend_from_slice(&self.few);
            }
            self.many.push(key);
        }
        self.count += 1;
        Ok(())
    }

    /// Finds a key that occurs twice among many; no key has two spellings.
    fn check_many(&mut self, text: &[u8], kind: &'static str) -> Result<(), Fault> {
        self.many
            .sort_unstable_by_key(|&(from, to)| (&text[from..to], from));
        let same = |pair: &&[Key]| text[pair[0].0..pair[0].1] == text[pair[1].0..pair[1].1];
        match (self.many.windows(2).filter(same))
            .map(|pair| pair[1])
            .min_by_key(|key| key.0)
        {
            Some(key) => duplicate_key(text, key, kind),
            None => Ok(()),
        }
    }
}

fn duplicate_key<T>(text: &[u8], key: Key, kind: &str) -> Result<T, Fault> {
    let name = excerpt(&text[key.0..key.1]);
    Err(Fault {
        at: key.0,
        problem: Problem::Plain(format!("{kind} key {name} occurs twice in the line")),
    })
}

fn too_many<T>(position: usize, most: usize, what: &str) -> Result<T, Fault> {
    Err(Fault {
        at: position,
        problem: Problem::Plain(format!("a line has at most {most} {what}")),
    })
}

fn expected_fault<T>(position: usize, wanted: &'static str) -> Result<T, Fault> {
    Err(Fault {
        at: position,
        problem: Problem::Expected(wanted),
    })
}

/// Where a name ends; a control character in it is a fault.
#[inline]
fn checked_end<const ENDS: u8>(
    text: &[u8],
    mut position: usize,
    names: Names,
    part: &'static str,
) -> Result<usize, Fault> {
    loop {
        let end = if ENDS == NAME {
            name_end::<{ NAME | CONTROL }>(text, position)
        } else {
            name_end::<{ MEASUREMENT | CONTROL }>(text, position)
        };
        let is_control = |&byte: &u8| CLASS[usize::from(byte)] & CONTROL != 0;
        if !text.get(end).is_some_and(is_control) || line_end(text, end).is_some() {
            return Ok(end);
        }
        if names == Names::Printable {
            let character = char::from(text[end]);
            let problem = format!("expected no control character in {part}, found {character:?}");
            return Err(Fault {
                at: end,
                problem: Problem::Plain(problem),
            });
        }
        position = end + 1;
    }
}

/// The first byte from `position` that ends a name and has no backslash before it.
#[inline]
fn name_end<const ENDS: u8>(text: &[u8], mut position: usize) -> usize {
    while let Some(&byte) = text.get(position) {
        let class = CLASS[usize::from(byte)] & ENDS;
        if class == 0 {
            position += 1;
        } else if class == BACKSLASH {
            let next = text
                .get(position + 1)
                .map_or(0, |&next| CLASS[usize::from(next)] & ENDS);
            let escapes = matches!(next, COMMA | SPACE | EQUALS);
            position += if escapes { 2 } else { 1 };
        } else {
            break;
        }
    }
    position
}

/// Checks the unquoted value at `start`; returns where it ends.
#[inline]
fn bare_value(text: &[u8], start: usize) -> Result<usize, Fault> {
    // Plain numbers, which are nearly all values, need no second check.
    if let Some(end) = number::plain_end(text, start)
        && text
            .get(end)
            .is_none_or(|&byte| CLASS[usize::from(byte)] & BARE != 0)
    {
        return Ok(end);
    }
    let end = bare_end(text, start);
    match number::check_value(&text[start..end]) {
        Ok(()) => Ok(end),
        Err(wanted) => expected_fault(start, wanted),
    }
}

#[inline]
fn bare_end(text: &[u8], mut position: usize) -> usize {
    while text
        .get(position)
        .is_some_and(|&byte| CLASS[usize::from(byte)] & BARE == 0)
    {
        position += 1;
    }
    position
}

/// The offset after the closing quote of the string that opens at `open`.
fn string_end(text: &[u8], open: usize, breaks: &mut usize) -> Result<usize, Fault> {
    let inside = &text[open + 1..];
    let Some(end) = closing_quote(inside) else {
        let problem = "the text that opens here has no closing double quote".into();
        return Err(Fault {
            at: open,
            problem: Problem::Plain(problem),
        });
    };
    *breaks += memchr::memchr_iter(b'\n', &inside[..end]).count();
    Ok(open + 1 + end + 1)
}

/// The first double quote without a backslash before it.
pub(super) fn closing_quote(inside: &[u8]) -> Option<usize> {
    let mut position = 0;
    while let Some(distance) = memchr::memchr2(b'"', b'\\', &inside[position..]) {
        position += distance;
        if inside[position] == b'"' {
            return Some(position);
        }
        let escapes = matches!(inside.get(position + 1), Some(b'"' | b'\\'));
        position += if escapes { 2 } else { 1 };
    }
    None
}

/// Where the tag key, tag value or field key at the start of a checked text ends.
pub(super) fn name_end_in(text: &[u8]) -> usize {
    name_end::<NAME>(text, 0)
}

fn time_value(text: &[u8], start: usize, end: usize) -> Result<i64, Fault> {
    number::integer(&text[start..end])
        .or_else(|_| expected_fault(start, "expected a time, a 64-bit integer"))
}

/// The first byte from `position` that is not a space.
pub(super) fn spaces_end(text: &[u8], mut position: usize) -> usize {
    while text.get(position) == Some(&b' ') {
        position += 1;
    }
    position
}

/// Where the next line starts, if this one ends at `position`.
pub(super) fn line_end(text: &[u8], position: usize) -> Option<usize> {
    match &text[position.min(text.len())..] {
        [] => Some(position),
        [b'\n', ..] => Some(position + 1),
        [b'\r'] => Some(position + 1),
        [b'\r', b'\n', ..] => Some(position + 2),
        _ => None,
    }
}

/// Longest piece of the text that a message repeats, in characters.
const EXCERPT_CHARS: usize = 32;

/// A piece of the text for a message, in quotes, shortened.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(EXCERPT_CHARS * 4 + 4)];
    let text = String::from_utf8_lossy(bytes);
    let mut short: String = text.chars().take(EXCERPT_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

//! Reads input of the user from a file or the standard input. `what` names it in error messages.

use std::{fs::File, io::Read, path::Path};

use anyhow::{Context, Result, anyhow, bail};

/// Limit on the input.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

pub fn file(path: &Path, what: &str) -> Result<Vec<u8>> {
    file_within(path, what, MAX_BYTES)
}

/// A file of limited size.
pub fn file_within(path: &Path, what: &str, max_bytes: u64) -> Result<Vec<u8>> {
    let opened = File::open(path).map_err(|problem| {
        let near = waggle_runner::nearest_file(path);
        anyhow!("cannot read {what}: {problem}{}", question(near.as_deref()))
    })?;
    read_bounded(opened, what, max_bytes)
}

pub fn standard_input(what: &str) -> Result<Vec<u8>> {
    read_bounded(std::io::stdin().lock(), what, MAX_BYTES)
}

/// The text of a file that an editor or a shell may have written: UTF-8, or UTF-16 with its byte order mark. The mark is left out.
pub fn text(bytes: Vec<u8>, what: &str) -> Result<String> {
    let units = match &bytes[..] {
        [0xFF, 0xFE, rest @ ..] => rest
            .chunks(2)
            .map(|unit| unit.try_into().map(u16::from_le_bytes))
            .collect(),
        [0xFE, 0xFF, rest @ ..] => rest
            .chunks(2)
            .map(|unit| unit.try_into().map(u16::from_be_bytes))
            .collect(),
        _ => {
            let text = String::from_utf8(bytes);
            let mut text = text.with_context(|| format!("{what} is not UTF-8 text"))?;
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            return Ok(text);
        }
    };
    let units: Result<Vec<u16>, std::array::TryFromSliceError> = units;
    let units =
        units.with_context(|| format!("{what} is not UTF-16 text: it has an odd length"))?;
    // Half a surrogate pair is no character, and JavaScript writes such strings.
    Ok(String::from_utf16_lossy(&units))
}

fn read_bounded(from: impl Read, what: &str, max_bytes: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {what}"))?;
    if bytes.len() as u64 > max_bytes {
        bail!("{what} is longer than {max_bytes} bytes");
    }
    Ok(bytes)
}

/// Asks whether this is what was meant.
pub fn question(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn texts_have_no_byte_order_mark() {
        let check = |bytes: &[u8], expected: &str| {
            let read = text(bytes.to_vec(), "it").unwrap_or_else(|why| why.to_string());
            assert_eq!(read, expected);
        };
        check("aü".as_bytes(), "aü");
        check("\u{feff}aü".as_bytes(), "aü");
        check(b"\xFF\xFEa\0\xFC\0", "aü");
        check(b"\xFE\xFF\0a\0\xFC\xD8\x00\0b", "aü\u{fffd}b");
        check(b"\xFF\xFEa", "it is not UTF-16 text: it has an odd length");
        check(b"\xFFa", "it is not UTF-8 text");
    }
}

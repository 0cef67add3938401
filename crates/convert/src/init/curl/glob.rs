//! curl's URL globs: `{a,b}`, `[1-3]`, `[01-10:2]`, `[a-c]`, and a backslash before a literal bracket.

use anyhow::{Result, bail};

/// Maximum number of URLs of one glob.
pub(super) const URLS_MAX: usize = 100;

/// All URLs of a text, the rightmost glob changing fastest.
pub(super) fn urls(text: &str) -> Result<Vec<String>> {
    let mut urls = vec![String::new()];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (alternatives, length) = match first {
            '\\' if rest[1..].starts_with(['{', '}', '[', ']']) => (vec![rest[1..2].to_owned()], 2),
            '[' if is_address(rest) => {
                let length = rest.find(']').map_or(rest.len(), |end| end + 1);
                (vec![rest[..length].to_owned()], length)
            }
            '{' => set(rest)?,
            '[' => range(rest)?,
            '}' | ']' => bail!("curl's URL has a {first} that closes nothing; {EXPECTED}"),
            other => (vec![other.to_string()], other.len_utf8()),
        };
        if urls.len() * alternatives.len() > URLS_MAX {
            bail!("curl's URL is a glob of more than {URLS_MAX} URLs; expected fewer");
        }
        urls = urls
            .iter()
            .flat_map(|url| alternatives.iter().map(move |next| format!("{url}{next}")))
            .collect();
        rest = &rest[length..];
    }
    Ok(urls)
}

const EXPECTED: &str =
    "expected {a,b}, [1-3], [1-10:2] or [a-c], or -g if the brackets are part of the URL";

/// Whether a bracket begins an IPv6 address.
fn is_address(text: &str) -> bool {
    let inner = text[1..].split(']').next().unwrap_or_default();
    let address = inner.split("%25").next().unwrap_or_default();
    text.contains(']') && address.parse::<std::net::Ipv6Addr>().is_ok()
}

/// The elements of a set at the beginning of the text, and the set's length in bytes.
fn set(text: &str) -> Result<(Vec<String>, usize)> {
    let mut elements = vec![String::new()];
    let mut letters = text.char_indices().skip(1);
    while let Some((offset, letter)) = letters.next() {
        let last = elements.last_mut().expect("it begins with one element");
        match letter {
            '}' if offset == 1 => bail!("curl's URL has an empty {{}}; {EXPECTED}"),
            '}' => return Ok((elements, offset + 1)),
            ',' => elements.push(String::new()),
            '\\' => last.extend(letters.next().map(|(_, next)| next)),
            '{' | '[' | ']' => bail!("curl's URL has a {letter} within braces; {EXPECTED}"),
            other => last.push(other),
        }
        if elements.len() > URLS_MAX {
            bail!("curl's URL is a glob of more than {URLS_MAX} URLs; expected fewer");
        }
    }
    bail!("curl's URL has a {{ that is not closed; {EXPECTED}")
}

/// The elements of a range at the beginning of the text, and the range's length in bytes.
fn range(text: &str) -> Result<(Vec<String>, usize)> {
    let Some(end) = text.find(']') else {
        bail!("curl's URL has a [ that is not closed; {EXPECTED}");
    };
    let inner = &text[1..end];
    match elements(inner) {
        Some(elements) => Ok((elements, end + 1)),
        None => bail!(
            "curl's URL has [{inner}], which is no range of at most {URLS_MAX} elements; {EXPECTED}"
        ),
    }
}

fn elements(inner: &str) -> Option<Vec<String>> {
    let (bounds, step) = match inner.split_once(':') {
        Some((bounds, step)) => (bounds, step.parse::<u64>().ok()?),
        None => (inner, 1),
    };
    let (first, last) = bounds.split_once('-')?;
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(u64::from(*letter)),
        _ => None,
    };
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().ok()).flatten()
    };
    let (from, to, width) = match (letter(first), letter(last)) {
        (Some(from), Some(to)) => (from, to, None),
        // The number of digits is kept if the first one is a zero.
        _ => {
            let width = if first.starts_with('0') {
                first.len()
            } else {
                0
            };
            (number(first)?, number(last)?, Some(width))
        }
    };
    let span = to.checked_sub(from)?;
    let is_step = if span == 0 {
        step == 1
    } else {
        (1..=span).contains(&step)
    };
    let is_letters = width.is_none();
    if !is_step || span / step >= URLS_MAX as u64 || (is_letters && span > 25) {
        return None;
    }
    let values = (0..=span / step).map(|index| from + index * step);
    let text = |value: u64| match width {
        Some(width) => Some(format!("{value:0width$}")),
        None => u8::try_from(value)
            .ok()
            .map(|byte| char::from(byte).to_string()),
    };
    values.map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::urls;

    #[test]
    fn globs_are_expanded() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(urls(text).unwrap(), expected, "{text}");
        };
        check("h/a", &["h/a"]);
        check("h/{a,b}[1-2]", &["h/a1", "h/a2", "h/b1", "h/b2"]);
        check("h/[1-10:4]", &["h/1", "h/5", "h/9"]);
        check("h/[08-10]", &["h/08", "h/09", "h/10"]);
        check("h/[a-e:2]", &["h/a", "h/c", "h/e"]);
        check("h/\\[a\\]\\{b\\}", &["h/[a]{b}"]);
        check(
            "http://[::1]:8/[1-2]",
            &["http://[::1]:8/1", "http://[::1]:8/2"],
        );
        check("h/{a\\,b,c}", &["h/a,b", "h/c"]);
        check("h/{,x}", &["h/", "h/x"]);
    }

    #[test]
    fn other_brackets_are_refused() {
        let check = |text: &str, expected: &str| {
            let why = format!("{:#}", urls(text).unwrap_err());
            assert!(why.contains(expected), "{text}: {why}");
        };
        check("h/?filter[a]=1", "[a], which is no range");
        check("h/[3-1]", "[3-1], which is no range");
        check("h/[1-3:0]", "no range");
        check("h/[1-3:7]", "no range");
        check("h/[1-", "[ that is not closed");
        check("h/{a", "{ that is not closed");
        check("h/{}", "empty {}");
        check("h/a]", "] that closes nothing");
        check("h/{a{b}}", "{ within braces");
        check("h/[1-101]", "at most 100");
        check("h/[1-11][1-11]", "more than 100");
        check("h/[0-18446744073709551615]", "no range");
    }
}

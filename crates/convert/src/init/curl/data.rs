//! The values of curl's `-d`, `--data-…`, `--json` and `--url-query`: texts and files.

use anyhow::{Result, bail};

use super::percent_encoded;

/// Reads a file that a command names.
pub(super) type Files<'a> = &'a dyn Fn(&str) -> Result<String>;

pub(super) fn file(name: &str, read: Files<'_>) -> Result<String> {
    match name {
        "-" => bail!("a curl command reads the standard input (-); expected a file or the text"),
        name => read(name),
    }
}

/// Removes line ends from a file, as curl's `-d` does.
pub(super) fn ascii(value: &str, read: Files<'_>) -> Result<String> {
    match value.strip_prefix('@') {
        Some(name) => Ok(file(name, read)?.replace(['\r', '\n', '\0'], "")),
        None => Ok(value.to_owned()),
    }
}

pub(super) fn file_or_text(value: &str, read: Files<'_>) -> Result<String> {
    match value.strip_prefix('@') {
        Some(name) => file(name, read),
        None => Ok(value.to_owned()),
    }
}

/// `content`, `=content`, `name=content`, `@file`, `name@file`; a `=` anywhere counts before an `@`.
pub(super) fn urlencode(value: &str, read: Files<'_>) -> Result<String> {
    let (name, content) = match (value.split_once('='), value.split_once('@')) {
        (Some((name, content)), _) => (name, content.to_owned()),
        (None, Some((name, path))) => (name, file(path, read)?),
        (None, None) => ("", value.to_owned()),
    };
    // As curl: a space is a plus.
    let encoded = percent_encoded(&content).replace("%20", "+");
    Ok(match name {
        "" => encoded,
        name => format!("{name}={encoded}"),
    })
}

/// As `--data-urlencode`; behind a plus the text is kept.
pub(super) fn url_query(value: &str, read: Files<'_>) -> Result<String> {
    match value.strip_prefix('+') {
        Some(text) => Ok(text.to_owned()),
        None => urlencode(value, read),
    }
}

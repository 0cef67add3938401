//! curl's `-F`: the parts of a multipart form.

use anyhow::{Result, bail};

use super::{
    super::form_body::Part,
    data::{Files, file},
};

/// Media types by the ending of a file's name, as curl knows them.
const MEDIA_TYPES: [(&str, &str); 10] = [
    (".gif", "image/gif"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain"),
    (".htm", "text/html"),
    (".html", "text/html"),
    (".pdf", "application/pdf"),
    (".xml", "application/xml"),
];

/// `name=value`, whatever the value is (`--form-string`).
pub(super) fn literal_part(text: &str) -> Result<Part> {
    let (name, content) = name_and_value(text)?;
    Ok(Part {
        name: name.to_owned(),
        content: content.to_owned(),
        ..Part::default()
    })
}

/// `name=value`, `name=@file`, `name=<file`, with `;type=` and `;filename=`.
pub(super) fn part(text: &str, read: Files<'_>) -> Result<Part> {
    let (name, value) = name_and_value(text)?;
    let mut part = Part {
        name: name.to_owned(),
        ..Part::default()
    };
    if value.starts_with(['(', ')']) || name.is_empty() {
        bail!("curl's -F has a part within a part, which is not supported");
    }
    let (content, is_file, is_read) = match (value.strip_prefix('@'), value.strip_prefix('<')) {
        (Some(path), _) => (path, true, true),
        (_, Some(path)) => (path, false, true),
        _ => (value, false, false),
    };
    let (content, parameters) = word(content)?;
    add_parameters(&mut part, parameters, is_file)?;
    if is_file {
        if content.contains(',') {
            bail!("curl's -F {name}: several files in one part are not supported");
        }
        let base = content.rsplit(['/', '\\']).next().unwrap_or_default();
        part.file_name.get_or_insert_with(|| base.to_owned());
        let known = MEDIA_TYPES
            .iter()
            .find(|(ending, _)| content.to_ascii_lowercase().ends_with(ending));
        let known = known.map_or("application/octet-stream", |(_, known)| known);
        part.media_type.get_or_insert_with(|| known.to_owned());
    }
    part.content = match is_read {
        true => file(&content, read)?,
        false => content,
    };
    Ok(part)
}

fn name_and_value(text: &str) -> Result<(&str, &str)> {
    match text.split_once('=') {
        Some(pair) => Ok(pair),
        None => bail!("curl's -F has no =; expected name=value, name=@file or name=<file"),
    }
}

/// The text up to a semicolon, or in quotes; and what is behind.
fn word(text: &str) -> Result<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (word, rest) = text.split_once(';').unwrap_or((text, ""));
        return Ok((word.to_owned(), rest));
    };
    let mut word = String::new();
    let mut letters = quoted.char_indices();
    while let Some((offset, letter)) = letters.next() {
        match letter {
            '"' => {
                let rest = quoted[offset + 1..].trim_start();
                match rest.strip_prefix(';') {
                    Some(rest) => return Ok((word, rest)),
                    None if rest.is_empty() => return Ok((word, "")),
                    None => {
                        bail!("curl's -F has text behind a quoted value; expected ; or the end")
                    }
                }
            }
            '\\' => match letters.next() {
                Some((_, next @ ('"' | '\\'))) => word.push(next),
                other => {
                    word.push('\\');
                    word.extend(other.map(|(_, next)| next));
                }
            },
            other => word.push(other),
        }
    }
    bail!("curl's -F has a \" that is not closed")
}

fn add_parameters(part: &mut Part, text: &str, is_file: bool) -> Result<()> {
    let mut rest = text;
    while !rest.trim().is_empty() {
        let name = rest.split('=').next().unwrap_or_default();
        let key = name.trim().to_ascii_lowercase();
        let value = rest[name.len()..].strip_prefix('=').unwrap_or_default();
        let (value, behind) = word(value)?;
        rest = behind;
        match (&*key, &mut part.media_type) {
            ("type", None) => part.media_type = Some(value),
            ("filename", _) if is_file => part.file_name = Some(value),
            ("headers" | "encoder" | "filename" | "type", _) | (_, None) => {
                bail!("curl's -F {}: ;{key} is not supported here", part.name)
            }
            (_, Some(media_type)) => {
                media_type.push_str(&format!(";{name}={value}"));
            }
        }
    }
    Ok(())
}

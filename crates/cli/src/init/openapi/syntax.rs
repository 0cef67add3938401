//! The text of an OpenAPI document or of a file that belongs to it → its value; and which media types are JSON.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::yaml;
use crate::input;

/// Parses JSON, or YAML.
pub(super) fn parse(text: &str) -> Result<Value> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).context("the document is not JSON");
    }
    yaml::read(text).context("the document cannot be read")
}

pub(super) fn parse_file(path: &Path) -> Result<Value> {
    let shown = path.display().to_string();
    let text = String::from_utf8(input::file(path, &shown)?);
    parse(&text.with_context(|| format!("{shown} is not UTF-8 text"))?)
}

pub(super) fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || kind.ends_with("+json")
}

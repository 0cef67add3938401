//! The text of an OpenAPI document or of a file that belongs to it → its value; and which media types are JSON.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::{exact, slot, yaml};
use crate::input;

/// Parses JSON, or YAML. Numbers that a program does not hold are kept as they are written ([`exact`]).
pub(super) fn parse(text: &str) -> Result<Value> {
    let text = slot::without_noncharacters(text);
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(&exact::json(&text)).context("the document is not JSON");
    }
    yaml::read(&text).context("the document cannot be read")
}

pub(super) fn parse_file(path: &Path) -> Result<Value> {
    let shown = path.display().to_string();
    parse(&input::text(input::file(path, &shown)?, &shown)?)
}

pub(super) fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || kind.ends_with("+json")
}

//! The recorded answer of an entry of a HAR file: what later requests may repeat.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::super::call::Answer;

/// Maximum size of a recorded body; longer ones are not searched for values.
const BODY_MAX_BYTES: usize = 4 * 1024 * 1024;

pub(super) fn read(response: &Value, started_ms: Option<i64>, took: f64) -> Answer {
    let headers = fields(&response["headers"]);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number of milliseconds; a cast of a float saturates"
    )]
    let ended_ms = started_ms.map(|started| started.saturating_add(took as i64));
    Answer {
        cookies: cookies(&headers, &response["cookies"]),
        headers,
        body: body(&response["content"]).unwrap_or_default(),
        ended_ms,
    }
}

/// Pairs of `name` and `value`.
pub(super) fn fields(list: &Value) -> Vec<(String, String)> {
    let fields = list.as_array().into_iter().flatten();
    let fields = fields.filter_map(|field| {
        let (name, value) = (field["name"].as_str()?, field["value"].as_str()?);
        Some((name.to_owned(), value.to_owned()))
    });
    fields.collect()
}

/// Those of `Set-Cookie`, which Firefox joins by line ends, or else of the list of cookies.
fn cookies(headers: &[(String, String)], list: &Value) -> Vec<(String, String)> {
    let set = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let lines = set.flat_map(|(_, value)| value.lines());
    let pair = |line: &str| {
        let (name, value) = line.split(';').next()?.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    let cookies: Vec<_> = lines.filter_map(pair).collect();
    if cookies.is_empty() {
        fields(list)
    } else {
        cookies
    }
}

/// A body of text.
fn body(content: &Value) -> Option<String> {
    let text = content["text"].as_str()?;
    if text.len() > BODY_MAX_BYTES {
        return None;
    }
    if content["encoding"] == "base64" {
        return String::from_utf8(STANDARD.decode(text.trim()).ok()?).ok();
    }
    Some(text.to_owned())
}

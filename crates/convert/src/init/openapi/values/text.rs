//! Texts of a length and format.

use std::ops::RangeInclusive;

use anyhow::{Result, bail};
use serde_json::Value;

use super::pattern;

/// Most characters of a made text.
pub(super) const TEXT_MAX: u64 = 10_000;

/// `spend` takes the steps of a pattern before they are made.
pub(super) fn make(schema: &Value, variant: usize, spend: pattern::Spend<'_>) -> Result<String> {
    if let Some(pattern) = schema["pattern"].as_str() {
        return pattern::make(pattern, lengths(schema)?, variant, spend);
    }
    // Each month has 28 days here, so that each variant is a day.
    let (year, month, day) = (
        2026 + variant / 336 % 7_000,
        variant / 28 % 12 + 1,
        variant % 28 + 1,
    );
    let text = match schema["format"].as_str() {
        Some("date-time") => format!("{year}-{month:02}-{day:02}T00:00:00Z"),
        Some("date") => format!("{year}-{month:02}-{day:02}"),
        Some("time") => format!(
            "{:02}:{:02}:{:02}Z",
            variant / 3_600 % 24,
            variant / 60 % 60,
            variant % 60
        ),
        Some("duration") => format!("PT{}S", variant + 1),
        Some("uuid") => format!("00000000-0000-4000-8000-{:012x}", variant + 1),
        Some("email" | "idn-email") => format!("someone{}@example.org", suffix(variant)),
        Some("uri" | "url" | "iri" | "uri-reference") => {
            format!("http://example.org/{}", suffix(variant))
        }
        Some("hostname" | "idn-hostname") => format!("host{}.example.org", suffix(variant)),
        Some("ipv4") => format!("192.0.{}.{}", 2 + variant / 254 % 250, variant % 254 + 1),
        Some("ipv6") => format!("2001:db8::{:x}", variant % 65_535 + 1),
        Some("byte") => "dGV4dA==".to_owned(),
        _ => return plain_text(schema, variant),
    };
    Ok(text)
}

fn suffix(variant: usize) -> String {
    if variant == 0 {
        String::new()
    } else {
        variant.to_string()
    }
}

/// The least and the most characters.
fn lengths(schema: &Value) -> Result<RangeInclusive<usize>> {
    let least = schema["minLength"].as_u64().unwrap_or(0);
    if least > TEXT_MAX {
        bail!("its text has at least {least} characters; at most {TEXT_MAX} are made");
    }
    let most = schema["maxLength"].as_u64().unwrap_or(TEXT_MAX);
    let length = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Ok(length(least)..=length(most))
}

fn plain_text(schema: &Value, variant: usize) -> Result<String> {
    let lengths = lengths(schema)?;
    let (mut text, mut rest) = (String::new(), variant);
    while rest > 0 {
        rest -= 1;
        text.push(char::from(
            b'a' + u8::try_from(rest % 26).expect("below 26"),
        ));
        rest /= 26;
    }
    if variant == 0 {
        text.push_str("text");
    }
    text.push_str(&"x".repeat(lengths.start().saturating_sub(text.len())));
    Ok(text.chars().take(*lengths.end()).collect())
}

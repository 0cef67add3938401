//! A HAR file, as browsers save it (HTTP Archive 1.2) → the calls of one session, in their order.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    call::{Call, Found, most_called, name_of},
    names::percent_encoded,
};
use crate::load::target::{Target, display_url};

/// Pauses shorter than this are the browser's own and no person's.
const PAUSE_MIN_MS: f64 = 200.0;
/// Longest pause that is carried over: a person went for coffee.
const PAUSE_MAX_MS: f64 = 30_000.0;
/// Longest pauses of a session in all; longer ones are shortened alike, so that a trial can show whole sessions.
const PAUSES_MAX_MS: u64 = 60_000;
/// Longest answer that counts for how long a session takes.
const ANSWER_MAX_MS: f64 = 10_000.0;
/// Endings of what a browser fetches to show a page; a study of an API has no use for them.
const ASSETS: [&str; 16] = [
    ".css", ".js", ".mjs", ".map", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico",
    ".woff", ".woff2", ".ttf", ".mp4", ".wasm",
];

/// Reads a HAR; the origin with most calls is the one that is studied.
pub(crate) fn read(text: &str) -> Result<Found> {
    let har: Value = serde_json::from_str(text).context("this is no HAR: it is not JSON")?;
    let entries = har["log"]["entries"]
        .as_array()
        .context("this is no HAR: log.entries is missing")?;
    let mut found = Found {
        is_session: true,
        ..Found::default()
    };
    let mut seen: Vec<Seen> = Vec::new();
    let mut assets = 0_usize;
    for (index, entry) in entries.iter().enumerate() {
        match call(entry, &mut found.left_out)
            .with_context(|| format!("log.entries[{index}] of the HAR"))?
        {
            Some(one) if is_asset(&one.call) => assets += 1,
            Some(one) => seen.push(one),
            None => {}
        }
    }
    if assets > 0 {
        found.left_out.push(format!(
            "{assets} calls for what a page is made of (styles, scripts, pictures, fonts)"
        ));
    }
    let origin = most_called(seen.iter().map(|one| &one.call))
        .context("the HAR has no call that a study could make")?;
    let before = seen.len();
    seen.retain(|one| one.call.origin == origin);
    if seen.len() < before {
        found.left_out.push(format!(
            "{} calls of other servers than {origin}",
            before - seen.len()
        ));
    }
    // RFC 3339 in one zone sorts by time; where a browser wrote several zones, the file's order is kept.
    seen.sort_by(|one, other| one.started.total_cmp(&other.started));
    let mut ended: Option<f64> = None;
    let mut took = 0;
    for one in &mut seen {
        took += round_millis(one.took.min(ANSWER_MAX_MS));
        let pause = ended.map(|end| one.started - end);
        one.call.pause_ms = pause
            .filter(|pause| *pause >= PAUSE_MIN_MS)
            .map(|pause| round_millis(pause.min(PAUSE_MAX_MS)));
        let end = one.started + one.took;
        ended = Some(ended.map_or(end, |last| last.max(end)));
    }
    found.calls = seen.into_iter().map(|one| one.call).collect();
    let pauses = shorten_pauses(&mut found);
    found.session_ms = Some(pauses + took);
    Ok(found)
}

/// Shortens pauses that are too long together; gives how long they are then.
fn shorten_pauses(found: &mut Found) -> u64 {
    let all = |calls: &[Call]| -> u64 { calls.iter().filter_map(|call| call.pause_ms).sum() };
    let seen = all(&found.calls);
    if seen > PAUSES_MAX_MS {
        for call in &mut found.calls {
            call.pause_ms = call
                .pause_ms
                .map(|pause| (pause * PAUSES_MAX_MS / seen).max(1));
        }
        found.left_out.push(format!(
            "pauses of {} s in all: shortened to {} s, each alike",
            seen / 1_000,
            PAUSES_MAX_MS / 1_000
        ));
    }
    all(&found.calls)
}

struct Seen {
    call: Call,
    /// Milliseconds since 1970, and how long it took.
    started: f64,
    took: f64,
}

fn call(entry: &Value, left_out: &mut Vec<String>) -> Result<Option<Seen>> {
    let request = &entry["request"];
    let url = request["url"].as_str().context("request.url is missing")?;
    if url.starts_with("data:") || url.starts_with("blob:") || url.starts_with("chrome-extension:")
    {
        return Ok(None);
    }
    if url.starts_with("ws:") || url.starts_with("wss:") {
        let url = display_url(url);
        left_out.push(format!("{url}: a WebSocket is no request with an answer"));
        return Ok(None);
    }
    let target = match Target::parse(url) {
        Ok(target) => target,
        Err(why) => {
            left_out.push(format!("a call: {why:#}"));
            return Ok(None);
        }
    };
    let method = request["method"].as_str().unwrap_or("GET");
    if ["CONNECT", "TRACE"].contains(&method) {
        let url = target.origin();
        left_out.push(format!("{method} {url}: of the connection, not of the API"));
        return Ok(None);
    }
    let name = name_of(method, &target.path);
    let headers = request["headers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|field| {
            let (name, value) = (field["name"].as_str()?, field["value"].as_str()?);
            Some((name.to_owned(), value.to_owned()))
        })
        .collect();
    if target.user.is_some() {
        left_out.push(format!("the user in the URL of {name}"));
    }
    let body = body(&request["postData"], &name, left_out);
    // 0 is what browsers write for a call that was cut.
    let status = entry["response"]["status"]
        .as_u64()
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (200..600).contains(status));
    let started = entry["startedDateTime"]
        .as_str()
        .and_then(|text| text.parse::<jiff::Timestamp>().ok())
        .map_or(0, jiff::Timestamp::as_millisecond);
    Ok(Some(Seen {
        call: Call {
            name,
            method: method.to_owned(),
            origin: target.origin(),
            path: target.path,
            headers,
            body,
            // A copy that the browser had, asked for by a header that is not sent here.
            status: status.map(|status| if status == 304 { 200 } else { status }),
            ..Call::default()
        },
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds since 1970 are below 2^52"
        )]
        started: started as f64,
        took: entry["time"]
            .as_f64()
            .filter(|time| *time > 0.0)
            .unwrap_or(0.0),
    }))
}

fn body(post: &Value, name: &str, left_out: &mut Vec<String>) -> Option<String> {
    if let Some(text) = post["text"].as_str().filter(|text| !text.is_empty()) {
        if post["encoding"].as_str() == Some("base64") {
            left_out.push(format!("the body of {name}: it is not text"));
            return None;
        }
        return Some(text.to_owned());
    }
    let fields = post["params"]
        .as_array()
        .filter(|fields| !fields.is_empty())?;
    if post["mimeType"]
        .as_str()
        .is_some_and(|kind| kind.starts_with("multipart/"))
    {
        left_out.push(format!("the body of {name}: a form with files"));
        return None;
    }
    let pairs = fields.iter().filter_map(|field| {
        let (name, value) = (field["name"].as_str()?, field["value"].as_str()?);
        Some(format!(
            "{}={}",
            percent_encoded(name),
            percent_encoded(value)
        ))
    });
    Some(pairs.collect::<Vec<_>>().join("&"))
}

fn is_asset(call: &Call) -> bool {
    let path = call
        .path
        .split('?')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    call.method == "GET" && ASSETS.iter().any(|ending| path.ends_with(ending))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between the two limits above"
)]
fn round_millis(ms: f64) -> u64 {
    ms.round() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    fn entry(at: &str, method: &str, url: &str, status: u16) -> serde_json::Value {
        json!({
            "startedDateTime": format!("2026-01-02T03:04:{at}Z"), "time": 100.0,
            "request": { "method": method, "url": url, "headers": [{ "name": "Accept", "value": "a/b" }] },
            "response": { "status": status },
        })
    }

    #[test]
    fn a_session_is_taken_in_the_order_of_time() {
        let mut post = entry("05.000", "POST", "http://h/login", 200);
        post["request"]["postData"] =
            json!({ "mimeType": "application/json", "text": "{\"a\":1}" });
        let har = json!({ "log": { "entries": [
            entry("09.000", "GET", "http://h/orders", 304),
            post,
            entry("05.200", "GET", "http://h/style.css", 200),
            entry("05.150", "GET", "http://h/me", 0),
            entry("06.000", "GET", "http://elsewhere/x", 200),
        ] } });
        let found = read(&har.to_string()).unwrap();
        let calls: Vec<_> = found
            .calls
            .iter()
            .map(|call| (&*call.path, call.status, call.pause_ms))
            .collect();
        assert_eq!(
            calls,
            [
                ("/login", Some(200), None),
                ("/me", None, None),
                ("/orders", Some(200), Some(3_750)),
            ]
        );
        assert_eq!(found.calls[0].body.as_deref(), Some("{\"a\":1}"));
        assert!(
            found.is_session && found.left_out.len() == 2,
            "{:?}",
            found.left_out
        );
    }

    #[test]
    fn what_is_no_har_is_refused() {
        for text in [
            "",
            "{}",
            "{\"log\": {\"entries\": []}}",
            "{\"log\":{\"entries\":[{}]}}",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}

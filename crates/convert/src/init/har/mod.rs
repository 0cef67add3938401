//! A HAR file (HTTP Archive 1.2, as browsers save it) → the calls of one session, in order of time.
// long: the tests of what each browser writes

mod answer;
mod http_version;

use std::borrow::Cow;

use anyhow::{Context, Result};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use waggle_report::wording::format::plural;

use self::http_version::HttpVersion;
use super::{
    call::{Call, ImportedCalls, header, most_called, name_of},
    form_body::{self, Part},
    names::percent_encoded,
};
use crate::target::{Target, display_url};

/// Minimum pause that counts as think time; shorter ones are the browser's.
const PAUSE_MIN_MS: f64 = 200.0;
/// Maximum length of a pause; longer ones are shortened.
const PAUSE_MAX_MS: f64 = 30_000.0;
/// Maximum sum of the pauses of a session; above it, all are shortened in proportion, so whole sessions fit in a trial.
const PAUSES_MAX_MS: u64 = 60_000;
/// Maximum time of an answer that counts towards the length of a session.
const ANSWER_MAX_MS: f64 = 10_000.0;
/// Types of resources of a page (`_resourceType`), which a study of an API leaves out.
const ASSET_TYPES: [&str; 9] = [
    "stylesheet",
    "script",
    "image",
    "font",
    "media",
    "manifest",
    "texttrack",
    "preflight",
    "ping",
];
/// Types of resources that are calls of a program.
const CALL_TYPES: [&str; 4] = ["xhr", "fetch", "document", "eventsource"];
/// Destinations of requests for resources of a page (`Sec-Fetch-Dest`).
const ASSET_DESTINATIONS: [&str; 11] = [
    "style",
    "script",
    "image",
    "font",
    "audio",
    "video",
    "track",
    "manifest",
    "worker",
    "sharedworker",
    "serviceworker",
];
/// How the media types of resources of a page begin.
const ASSET_MEDIA_TYPES: [&str; 10] = [
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "image/",
    "font/",
    "application/font",
    "application/wasm",
    "application/vnd.ms-fontobject",
];

/// A kind of entry that is no call of a program.
type IsKind = fn(&Value) -> bool;
/// Entries that are no calls, with why.
const NO_CALLS: [(IsKind, &str); 3] = [
    (
        is_local,
        "without a server (data:, blob:, file:, about: or of a browser extension)",
    ),
    (
        is_preflight,
        "for a preflight (OPTIONS by the browser itself)",
    ),
    (
        is_unanswered,
        "without an answer (status 0: aborted, blocked or failed)",
    ),
];

fn is_local(entry: &Value) -> bool {
    let schemes = ["data:", "blob:", "file:", "about:"];
    let url = entry["request"]["url"].as_str().unwrap_or_default();
    let url = url.trim_start().to_ascii_lowercase();
    let scheme = url.split("://").next().unwrap_or_default();
    schemes.iter().any(|scheme| url.starts_with(scheme)) || scheme.ends_with("-extension")
}

fn is_preflight(entry: &Value) -> bool {
    let request = &entry["request"];
    let mut headers = request["headers"].as_array().into_iter().flatten();
    let is_asked = headers.any(|field| {
        let name = field["name"].as_str().unwrap_or_default();
        name.eq_ignore_ascii_case("access-control-request-method")
    });
    let is_options = request["method"]
        .as_str()
        .is_some_and(|method| method.eq_ignore_ascii_case("OPTIONS"));
    is_options && (is_asked || entry["_resourceType"] == "preflight")
}

/// Sockets have their own reason.
fn is_unanswered(entry: &Value) -> bool {
    let url = entry["request"]["url"].as_str().unwrap_or_default();
    entry["response"]["status"] == 0 && !url.starts_with("ws")
}

/// Parses a HAR file; keeps the calls of the origin that has most of them.
pub(crate) fn read(text: &str) -> Result<ImportedCalls> {
    let text = without_lone_surrogates(text);
    let har: Value =
        serde_json::from_str(&text).context("this is not a HAR file: it is not JSON")?;
    let entries = har["log"]["entries"]
        .as_array()
        .context("this is not a HAR file: log.entries is missing")?;
    let mut imported = ImportedCalls {
        is_session: true,
        ..ImportedCalls::default()
    };
    let mut recorded: Vec<RecordedCall> = Vec::new();
    let mut assets = 0_usize;
    let mut counts = NO_CALLS.map(|(_, what)| (what, 0_usize));
    for (index, entry) in entries.iter().enumerate() {
        if let Some(kind) = NO_CALLS.iter().position(|(is_kind, _)| is_kind(entry)) {
            counts[kind].1 += 1;
            continue;
        }
        match call(entry, &mut imported.left_out)
            .with_context(|| format!("log.entries[{index}] of the HAR"))?
        {
            Some(record) if is_asset(entry, &record.call) => {
                assets += 1;
                let body = record.call.answer.map(|answer| answer.body);
                imported.page_texts.extend(body);
            }
            Some(mut record) => {
                record.call.drop_noncharacters();
                recorded.push(record);
            }
            None => {}
        }
    }
    for (what, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        imported
            .left_out
            .push(format!("{} {what}", plural(count, "request")));
    }
    if assets > 0 {
        imported.left_out.push(format!(
            "{} for page resources (styles, scripts, images, fonts)",
            plural(assets, "call")
        ));
    }
    let origin = most_called(recorded.iter().map(|record| &record.call))
        .context("the HAR file has no call that a study can make")?;
    let before = recorded.len();
    recorded.retain(|record| record.call.origin == origin);
    if recorded.len() < before {
        imported.left_out.push(format!(
            "{} to other servers than {origin}",
            plural(before - recorded.len(), "call")
        ));
    }
    // The sort is stable, so calls of the same time keep the order of the file.
    recorded.sort_by(|record, other| record.started.total_cmp(&other.started));
    let took = set_pauses(&mut recorded);
    let versions: Vec<_> = recorded
        .iter()
        .filter_map(|record| record.version)
        .collect();
    http_version::set_protocol(&mut imported, &versions, &origin);
    imported.calls = recorded.into_iter().map(|record| record.call).collect();
    let pauses = shorten_pauses(&mut imported);
    imported.session_ms = Some(pauses + took);
    Ok(imported)
}

/// Sets the pause before each call; returns how long all answers took.
fn set_pauses(recorded: &mut [RecordedCall]) -> u64 {
    let mut ended: Option<f64> = None;
    let mut took = 0;
    for record in recorded {
        took += round_millis(record.took.min(ANSWER_MAX_MS));
        let pause = ended.map(|end| record.started - end);
        record.call.pause_ms = pause
            .filter(|pause| *pause >= PAUSE_MIN_MS)
            .map(|pause| round_millis(pause.min(PAUSE_MAX_MS)));
        let end = record.started + record.took;
        ended = Some(ended.map_or(end, |last| last.max(end)));
    }
    took
}

/// Shortens pauses if their sum is too long; returns the sum.
fn shorten_pauses(imported: &mut ImportedCalls) -> u64 {
    let all = |calls: &[Call]| -> u64 { calls.iter().filter_map(|call| call.pause_ms).sum() };
    let total_ms = all(&imported.calls);
    if total_ms > PAUSES_MAX_MS {
        for call in &mut imported.calls {
            call.pause_ms = call
                .pause_ms
                .map(|pause| (pause * PAUSES_MAX_MS / total_ms).max(1));
        }
        imported.left_out.push(format!(
            "pauses of {} s in total: shortened to {} s in proportion",
            total_ms / 1_000,
            PAUSES_MAX_MS / 1_000
        ));
    }
    all(&imported.calls)
}

struct RecordedCall {
    call: Call,
    /// Milliseconds since 1970.
    started: f64,
    /// Milliseconds.
    took: f64,
    version: Option<HttpVersion>,
}

fn call(entry: &Value, left_out: &mut Vec<String>) -> Result<Option<RecordedCall>> {
    let request = &entry["request"];
    let url = request["url"].as_str().context("request.url is missing")?;
    if url.starts_with("ws:") || url.starts_with("wss:") {
        let url = display_url(url);
        left_out.push(format!("{url}: a WebSocket, not a request"));
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
        left_out.push(format!(
            "{method} {url}: a method of the connection, not of the API"
        ));
        return Ok(None);
    }
    let name = name_of(method, &target.path);
    let mut headers = answer::fields(&request["headers"]);
    if target.user.is_some() {
        left_out.push(format!("the user in the URL of {name}"));
    }
    let body = match multipart_parts(&request["postData"]) {
        Some(Ok(parts)) => {
            let (kind, body) = form_body::body(&parts);
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            headers.push(("Content-Type".to_owned(), kind));
            Some(body)
        }
        Some(Err(why)) => {
            left_out.push(format!("{name}: {why}"));
            return Ok(None);
        }
        None => body(&request["postData"], &name, left_out),
    };
    let started_ms = entry["startedDateTime"]
        .as_str()
        .and_then(|text| text.parse::<jiff::Timestamp>().ok())
        .map(jiff::Timestamp::as_millisecond);
    let took = entry["time"]
        .as_f64()
        .filter(|time| *time > 0.0)
        .unwrap_or(0.0);
    Ok(Some(RecordedCall {
        call: Call {
            name,
            method: method.to_owned(),
            origin: target.origin(),
            path: target.path,
            headers,
            body,
            statuses: expected_statuses(&entry["response"]["status"]),
            started_ms,
            answer: Some(answer::read(&entry["response"], started_ms, took)),
            ..Call::default()
        },
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds since 1970 are below 2^52"
        )]
        started: started_ms.unwrap_or(0) as f64,
        took,
        version: http_version::http_version(entry),
    }))
}

/// 304 is the answer to a conditional request of the browser's cache; the condition is not sent here.
fn expected_statuses(recorded: &Value) -> Vec<u16> {
    // Browsers write status 0 for an aborted call.
    let recorded = recorded
        .as_u64()
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (200..600).contains(status));
    let sent = recorded.map(|status| if status == 304 { 200 } else { status });
    sent.into_iter().collect()
}

fn body(post: &Value, name: &str, left_out: &mut Vec<String>) -> Option<String> {
    if let Some(text) = post["text"].as_str().filter(|text| !text.is_empty()) {
        if post["encoding"].as_str() == Some("base64") {
            let bytes = STANDARD.decode(text.trim()).ok();
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            if text.is_none() {
                left_out.push(format!("the body of {name}: it is not text"));
            }
            return text;
        }
        return Some(text.to_owned());
    }
    let fields = post["params"]
        .as_array()
        .filter(|fields| !fields.is_empty())?;
    let pairs: Vec<String> = fields.iter().filter_map(form_pair).collect();
    Some(pairs.join("&"))
}

fn form_pair(field: &Value) -> Option<String> {
    let name = percent_encoded(field["name"].as_str()?);
    let value = percent_encoded(field["value"].as_str()?);
    Some(format!("{name}={value}"))
}

/// The parts of a multipart form whose text was not recorded; or why it cannot be made of them.
fn multipart_parts(post: &Value) -> Option<Result<Vec<Part>, String>> {
    let kind = post["mimeType"].as_str()?.to_ascii_lowercase();
    let has_text = post["text"].as_str().is_some_and(|text| !text.is_empty());
    let fields = post["params"].as_array()?;
    if !kind.starts_with("multipart/") || has_text || fields.is_empty() {
        return None;
    }
    if !kind.starts_with("multipart/form-data") {
        return Some(Err(format!(
            "its body is {kind}, of which parts are no form"
        )));
    }
    Some(fields.iter().map(multipart_part).collect())
}

fn multipart_part(field: &Value) -> Result<Part, String> {
    let text = |key: &str| field[key].as_str().map(str::to_owned);
    let name = text("name").ok_or("a part of its form has no name")?;
    let content = text("value")
        .ok_or_else(|| format!("the content of the part {name:?} of its form was not recorded"))?;
    Ok(Part {
        name,
        file_name: text("fileName"),
        media_type: text("contentType").filter(|kind| !kind.is_empty()),
        content,
    })
}

/// Whether a call loads a resource of a page, by what the browser says of it, or else by the request and the answer's media type.
fn is_asset(entry: &Value, call: &Call) -> bool {
    let kind = entry["_resourceType"].as_str().unwrap_or_default();
    if ASSET_TYPES.contains(&kind) || CALL_TYPES.contains(&kind) {
        return ASSET_TYPES.contains(&kind);
    }
    let field = |name: &str| header(&call.headers, name).unwrap_or_default();
    let destination = field("sec-fetch-dest");
    if ASSET_DESTINATIONS.contains(&destination) {
        return true;
    }
    let is_script_call = destination == "empty" || !field("x-requested-with").is_empty();
    if is_script_call || call.method != "GET" {
        return false;
    }
    let media_type = entry["response"]["content"]["mimeType"].as_str();
    let media_type = media_type.unwrap_or_default().trim().to_ascii_lowercase();
    ASSET_MEDIA_TYPES
        .iter()
        .any(|beginning| media_type.starts_with(beginning))
}

/// Replaces each escape of half a surrogate pair by that of U+FFFD: JavaScript writes such strings, and no text can hold them.
fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let unit = |offset: usize| {
        let escape = text.get(offset..offset + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(escape, 16).ok()
    };
    let (mut whole, mut done, mut offset) = (String::new(), 0, 0);
    while let Some(distance) = text[offset..].find('\\') {
        offset += distance;
        match (unit(offset), unit(offset + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => offset += 12,
            (Some(0xd800..=0xdfff), _) => {
                whole.push_str(&text[done..offset]);
                whole.push_str("\\ufffd");
                offset += 6;
                done = offset;
            }
            (Some(_), _) => offset += 6,
            // The character behind a backslash begins no escape; JSON has only ASCII there.
            (None, _) => offset += 1 + text[offset + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    whole.push_str(&text[done..]);
    Cow::Owned(whole)
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

    fn entry(seconds: &str, method: &str, url: &str, status: u16) -> serde_json::Value {
        json!({
            "startedDateTime": format!("2026-01-02T03:04:{seconds}Z"), "time": 100.0,
            "request": { "method": method, "url": url, "headers": [{ "name": "Accept", "value": "a/b" }] },
            "response": { "status": status },
        })
    }

    #[test]
    fn calls_of_a_session_are_in_order_of_time() {
        let mut post = entry("05.000", "POST", "http://h/login", 200);
        post["request"]["postData"] =
            json!({ "mimeType": "application/json", "text": "{\"a\":1}" });
        let mut style = entry("05.200", "GET", "http://h/style", 200);
        style["_resourceType"] = json!("stylesheet");
        let har = json!({ "log": { "entries": [
            entry("09.000", "GET", "http://h/orders", 304),
            post,
            style,
            entry("05.150", "GET", "http://h/me", 0),
            entry("06.000", "GET", "http://elsewhere/x", 200),
        ] } });
        let imported = read(&har.to_string()).unwrap();
        let calls: Vec<_> = imported
            .calls
            .iter()
            .map(|call| (&*call.path, call.statuses.first().copied(), call.pause_ms))
            .collect();
        assert_eq!(
            calls,
            [
                ("/login", Some(200), None),
                ("/orders", Some(200), Some(3_900)),
            ]
        );
        assert_eq!(imported.calls[0].body.as_deref(), Some("{\"a\":1}"));
        assert!(
            imported.is_session && imported.left_out.len() == 3,
            "{:?}",
            imported.left_out
        );
    }

    #[test]
    fn resources_of_a_page_are_known_by_type_and_content() {
        let check = |change: &dyn Fn(&mut serde_json::Value), is_kept: bool| {
            let mut resource = entry("05.000", "GET", "http://h/map.js", 200);
            change(&mut resource);
            let other = entry("06.000", "GET", "http://h/other", 200);
            let har = json!({ "log": { "entries": [resource, other] } });
            let imported = read(&har.to_string()).unwrap();
            assert_eq!(imported.calls.len() == 2, is_kept, "{har}");
        };
        let media = |kind: &'static str| {
            move |resource: &mut serde_json::Value| {
                resource["response"]["content"] = json!({ "mimeType": kind });
            }
        };
        let field = |name: &'static str, value: &'static str| {
            move |resource: &mut serde_json::Value| {
                resource["request"]["headers"] = json!([{ "name": name, "value": value }]);
                resource["response"]["content"] = json!({ "mimeType": "text/javascript" });
            }
        };
        check(&|resource| resource["_resourceType"] = json!("xhr"), true);
        check(
            &|resource| resource["_resourceType"] = json!("script"),
            false,
        );
        check(&media("application/json"), true);
        check(&media("text/javascript; charset=utf-8"), false);
        check(&media("image/png"), false);
        check(&field("Sec-Fetch-Dest", "empty"), true);
        check(&field("X-Requested-With", "XMLHttpRequest"), true);
        check(&field("Sec-Fetch-Dest", "script"), false);
    }

    #[test]
    fn half_pairs_do_not_refuse_a_file() {
        let check = |body: &str, expected: &str| {
            let har = format!(
                r#"{{"log":{{"entries":[{{"request":{{"method":"POST","url":"http://h/","postData":{{"text":"{body}"}}}}}}]}}}}"#
            );
            let imported = read(&har).unwrap();
            assert_eq!(imported.calls[0].body.as_deref(), Some(expected));
        };
        check(r"a\ud800b", "a\u{fffd}b");
        check(r"\udc00\ud83d\ude00", "\u{fffd}😀");
        check(r"\\ud800", r"\ud800");
        check(r"\ud800\u0041ä", "\u{fffd}Aä");
    }

    #[test]
    fn entries_that_are_no_calls_are_left_out_with_their_reason() {
        let check = |change: &dyn Fn(&mut serde_json::Value), expected: &str| {
            let mut record = entry("05.000", "GET", "http://h/one", 200);
            change(&mut record);
            let other = entry("06.000", "OPTIONS", "http://h/other", 204);
            let har = json!({ "log": { "entries": [record, other] } });
            let imported = read(&har.to_string()).unwrap();
            assert_eq!(imported.calls.len(), 1, "{har}");
            assert_eq!(imported.left_out, [expected]);
        };
        let local =
            "1 request without a server (data:, blob:, file:, about: or of a browser extension)";
        check(&|record| record["request"]["url"] = json!("data:,x"), local);
        check(
            &|record| record["request"]["url"] = json!("blob:http://h/1"),
            local,
        );
        check(
            &|record| record["request"]["url"] = json!("moz-extension://a/b"),
            local,
        );
        check(
            &|record| record["response"]["status"] = json!(0),
            "1 request without an answer (status 0: aborted, blocked or failed)",
        );
        check(
            &|record| {
                record["request"]["method"] = json!("OPTIONS");
                record["request"]["headers"] =
                    json!([{ "name": "access-control-request-method", "value": "PUT" }]);
            },
            "1 request for a preflight (OPTIONS by the browser itself)",
        );
    }

    #[test]
    fn bodies_in_base64_are_decoded() {
        let check = |text: &str, expected: Option<&str>| {
            let mut post = entry("05.000", "POST", "http://h/", 200);
            post["request"]["postData"] = json!({ "text": text, "encoding": "base64" });
            let har = json!({ "log": { "entries": [post] } });
            let imported = read(&har.to_string()).unwrap();
            assert_eq!(imported.calls[0].body.as_deref(), expected, "{text}");
            assert_eq!(imported.left_out.is_empty(), expected.is_some());
        };
        check("eyJhIjoiw6QifQ==", Some("{\"a\":\"ä\"}"));
        check("//4=", None);
        check("no base64", None);
    }

    #[test]
    fn parts_of_a_form_are_its_body() {
        let check = |params: serde_json::Value, kind: &str, expected: Result<&str, &str>| {
            let mut post = entry("05.000", "POST", "http://h/", 200);
            post["request"]["headers"] =
                json!([{ "name": "content-type", "value": "multipart/form-data; boundary=x" }]);
            post["request"]["postData"] = json!({ "mimeType": kind, "params": params });
            let other = entry("06.000", "GET", "http://h/other", 200);
            let har = json!({ "log": { "entries": [post, other] } });
            let imported = read(&har.to_string()).unwrap();
            let outcome = match imported.calls.len() {
                1 => Err(&*imported.left_out[0]),
                _ => {
                    let [(name, kind)] = &imported.calls[0].headers[..] else {
                        panic!("{:?}", imported.calls[0].headers);
                    };
                    assert!(
                        name == "Content-Type" && kind.ends_with("waggleform000001"),
                        "{kind}"
                    );
                    Ok(imported.calls[0].body.as_deref().unwrap())
                }
            };
            let line = "--------------------------waggleform000001";
            let expected = expected.map(|text| text.replace("LINE", line).replace('\n', "\r\n"));
            assert_eq!(outcome.map(str::to_owned), expected);
        };
        let kind = "multipart/form-data; boundary=x";
        check(
            json!([
                { "name": "a", "value": "1" },
                { "name": "f\"", "value": "x,y", "fileName": "t.csv", "contentType": "text/csv" },
            ]),
            kind,
            Ok(
                "LINE\nContent-Disposition: form-data; name=\"a\"\n\n1\nLINE\nContent-Disposition: form-data; name=\"f%22\"; \
                 filename=\"t.csv\"\nContent-Type: text/csv\n\nx,y\nLINE--\n",
            ),
        );
        check(
            json!([{ "name": "f", "fileName": "photo.png", "contentType": "image/png" }]),
            kind,
            Err("post: the content of the part \"f\" of its form was not recorded"),
        );
        check(
            json!([{ "name": "f", "value": "x" }]),
            "multipart/mixed",
            Err("post: its body is multipart/mixed, of which parts are no form"),
        );
    }

    #[test]
    fn other_files_are_refused() {
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

//! The version of HTTP that a HAR file's calls were recorded over, as `load.protocol` of the study.

use serde_json::Value;
use waggle_report::wording::format::plural;

use super::super::call::ImportedCalls;

/// A version as far as a study tells versions apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpVersion {
    /// 1.0 or 1.1.
    One,
    Two,
    Three,
}

impl HttpVersion {
    const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    fn name(self) -> &'static str {
        match self {
            Self::One => "HTTP/1.1",
            Self::Two => "HTTP/2",
            Self::Three => "HTTP/3",
        }
    }

    /// As programs write it: the version itself, or the name of ALPN. `None`: another word, such as `unknown`.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let is_draft = |prefix: &str| text.starts_with(prefix);
        match &*text {
            "http/1.0" | "http/1.1" => Some(Self::One),
            "h2" | "h2c" | "http/2" | "http/2.0" => Some(Self::Two),
            "h3" | "http/3" | "http/3.0" => Some(Self::Three),
            _ if is_draft("h3-") || is_draft("http/2+quic") => Some(Self::Three),
            _ => None,
        }
    }
}

/// What the answer says, in which browsers write what was spoken; else what the request says.
pub(super) fn http_version(entry: &Value) -> Option<HttpVersion> {
    let mut sides = ["response", "request"].into_iter();
    sides.find_map(|side| HttpVersion::parse(entry[side]["httpVersion"].as_str()?))
}

/// Sets the protocol of the load if all calls whose version is known were made over HTTP/2; says so if the load cannot have what was
/// recorded.
pub(super) fn set_protocol(imported: &mut ImportedCalls, versions: &[HttpVersion], origin: &str) {
    let count = |version| versions.iter().filter(|other| **other == version).count();
    let counts = HttpVersion::ALL.map(|version| (version, count(version)));
    let recorded: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    match &recorded[..] {
        [] | [(HttpVersion::One, _)] => {}
        [(HttpVersion::Two, _)] => {
            // Without TLS there is no ALPN: HTTP/2 was spoken by prior knowledge.
            let is_tls = origin.starts_with("https:");
            imported.protocol = Some(if is_tls { "auto" } else { "http2" });
        }
        recorded => {
            let parts = recorded
                .iter()
                .map(|(version, count)| describe(*version, *count));
            let parts: Vec<String> = parts.collect();
            imported.leave_out(format!(
                "the version of HTTP ({}): load.protocol of the study sets HTTP/1.1 or HTTP/2 for all calls",
                parts.join(", ")
            ));
        }
    }
}

fn describe(version: HttpVersion, count: usize) -> String {
    format!("{} over {}", plural(count, "call"), version.name())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::read;

    /// The protocol of a study of these calls, and whether a note names the versions.
    fn check_versions(scheme: &str, versions: &[Value], protocol: Option<&str>, note: &str) {
        let entries = versions.iter().map(|version| {
            json!({
                "request": { "method": "GET", "url": format!("{scheme}://h/"), "httpVersion": version[0] },
                "response": { "status": 200, "httpVersion": version[1] },
            })
        });
        let har = json!({ "log": { "entries": entries.collect::<Vec<_>>() } });
        let imported = read(&har.to_string()).unwrap();
        assert_eq!(imported.protocol, protocol, "{har}");
        let notes = imported.left_out.join("\n");
        assert_eq!(notes.is_empty(), note.is_empty(), "{har}: {notes}");
        assert!(notes.contains(note), "{har}: {notes}");
        let text = crate::init::write::study(&imported, &[]).text;
        let line = protocol.map(|protocol| format!("  protocol: {protocol}\n"));
        let is_written = line.map_or(!text.contains("protocol:"), |line| text.contains(&line));
        assert!(is_written, "{text}");
    }

    fn check(versions: &[&str], protocol: Option<&str>, note: &str) {
        let both: Vec<Value> = versions
            .iter()
            .map(|version| json!([version, version]))
            .collect();
        check_versions("https", &both, protocol, note);
    }

    #[test]
    fn http2_of_all_calls_is_the_protocol_of_the_load() {
        for version in ["h2", "HTTP/2", "HTTP/2.0", "http/2.0", " H2 "] {
            check(&[version], Some("auto"), "");
        }
        check(&["h2", "HTTP/2", "http/2.0"], Some("auto"), "");
        check_versions("http", &[json!(["h2c", "h2c"])], Some("http2"), "");
    }

    #[test]
    fn http1_and_unknown_versions_are_no_protocol() {
        check(&["HTTP/1.1", "http/1.0"], None, "");
        check(&["unknown", "", "HTTP/9", "spdy/3"], None, "");
        check(&["unknown", "h2", ""], Some("auto"), "");
        check_versions("https", &[json!([null, 2])], None, "");
    }

    #[test]
    fn versions_that_a_load_cannot_have_are_said() {
        let mixed = "(1 call over HTTP/1.1, 2 calls over HTTP/2)";
        check(&["h2", "HTTP/1.1", "http/2.0"], None, mixed);
        for version in ["h3", "HTTP/3", "http/3.0", "h3-29", "http/2+quic/46"] {
            check(&[version, version], None, "(2 calls over HTTP/3)");
        }
        let newer = "(1 call over HTTP/2, 1 call over HTTP/3)";
        check(&["h2", "h3"], None, newer);
    }

    #[test]
    fn the_answer_says_what_was_spoken() {
        check_versions("https", &[json!(["HTTP/1.1", "h2"])], Some("auto"), "");
        check_versions("https", &[json!(["h2", "HTTP/1.1"])], None, "");
        check_versions("https", &[json!(["h2", "unknown"])], Some("auto"), "");
        check_versions("https", &[json!(["h2", null])], Some("auto"), "");
    }
}

//! Tests that secrets do not leak: a marker as the value of every secret name, in every position of every source, is not in the
//! output of `waggle init`.

use serde_json::{Value, json};

use super::{
    Origin, StudyOfCalls, StudyOptions, Summary, curl, har, make_study,
    names::{SECRETS, percent_encoded},
    openapi,
};

const MARKER: &str = "mArKeR77";

/// The parts of a call that contain the marker.
#[derive(Default)]
struct Carrier {
    url: String,
    headers: Vec<(String, String)>,
    body: Option<(&'static str, String)>,
}

/// Every position of a secret in a source.
fn carriers(name: &str) -> Vec<Carrier> {
    let url = |rest: &str| Carrier {
        url: format!("http://h/a{rest}"),
        ..Carrier::default()
    };
    let header = |field: &str, value: String| Carrier {
        headers: vec![(field.to_owned(), value)],
        ..url("")
    };
    let body = |kind: &'static str, body: String| Carrier {
        body: Some((kind, body)),
        ..url("")
    };
    let pair = format!("{name}={MARKER}");
    let inner = json!({ name: MARKER }).to_string();
    let form = "application/x-www-form-urlencoded";
    vec![
        url(&format!("?x=1&{pair}")),
        url(&format!("?{}%5B{}%5D={MARKER}", "user", name)),
        url(&format!(
            "?to={}",
            percent_encoded(&format!("http://o/?{pair}"))
        )),
        url(&format!(";{pair}")),
        header(name, MARKER.to_owned()),
        header(name, format!("Bearer {MARKER}")),
        header(name, format!("{MARKER} {MARKER}")),
        header("Referer", format!("http://app/?{pair}&b=c")),
        header("Origin", format!("http://u:{MARKER}@app")),
        header("X-Note", format!("a; {name}: {MARKER}")),
        body("application/json", inner.clone()),
        body(
            "application/json",
            json!([{ "a": [{ name: [{ "b": MARKER }] }] }]).to_string(),
        ),
        body("application/json", json!({ "text": inner }).to_string()),
        body(
            "application/json",
            json!({ "to": format!("/?{pair}") }).to_string(),
        ),
        body("application/x-ndjson", format!("{{}}\n{inner}\n")),
        body(form, pair.clone()),
        body(form, format!("a=b&user%5B{name}%5D={MARKER}")),
        body(form, format!("a={}", percent_encoded(&inner))),
        body("text/plain", pair.clone()),
        body(
            "application/xml",
            format!("<a><{name}>{MARKER}</{name}></a>"),
        ),
        body(
            "multipart/form-data; boundary=b",
            format!(
                "--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{MARKER}\r\n--b--\r\n"
            ),
        ),
    ]
}

fn options(from: Origin) -> StudyOptions {
    StudyOptions {
        format: None,
        source: "source".to_owned(),
        from: Some(from),
        output: None,
        include_writes: from == Origin::Openapi,
        server: None,
    }
}

/// Checks the text of the study and the summary, or the error.
fn check(imported: anyhow::Result<super::ImportedCalls>, from: Origin, what: &str) {
    let options = options(from);
    let shown = match imported.and_then(|imported| make_study(imported, &options)) {
        Ok(StudyOfCalls {
            imported,
            wanted,
            written,
        }) => {
            // The check is slow, so it runs for one name only.
            if what.contains("apikey") {
                super::check(&written.text).unwrap_or_else(|why| panic!("{what}:\n{why:#}"));
            }
            let summary = Summary::of_calls(&imported, &wanted);
            let summary = summary.text(std::path::Path::new("made.yaml"));
            format!("{}\n{summary}", written.text)
        }
        Err(why) => format!("{why:#}"),
    };
    let (shown, marker) = (shown.to_ascii_lowercase(), MARKER.to_ascii_lowercase());
    assert!(!shown.contains(&marker), "{what}:\n{shown}");
}

#[test]
fn secrets_of_a_curl_command_do_not_leak() {
    let quoted = |text: &str| format!("'{text}'");
    for name in SECRETS {
        for carrier in carriers(name) {
            let mut line = format!("curl {}", quoted(&carrier.url));
            for (field, value) in &carrier.headers {
                line.push_str(&format!(" -H {}", quoted(&format!("{field}: {value}"))));
            }
            if let Some((kind, body)) = &carrier.body {
                let body = quoted(body);
                line.push_str(&format!(" -H 'Content-Type: {kind}' --data-raw {body}"));
            }
            for text in [line.clone(), format!("{line}\ncurl http://h/b")] {
                check(curl::read(&text, &|_| unreachable!()), Origin::Curl, &text);
            }
        }
    }
    for text in [
        "curl http://u:mArKeR77@h/",
        "curl ftp://u:mArKeR77@h/?a=mArKeR77",
        "curl http://h/ -u a:mArKeR77",
        "curl http://h/ --oauth2-bearer mArKeR77",
        "curl http://h/ -b a=mArKeR77",
        "curl http://h/ -b mArKeR77",
        "curl http://h/ -H 'Authorization mArKeR77'",
        "curl http://h/ -H 'X-Api-Key;mArKeR77'",
        "curl http://h/ -H mArKeR77",
        "curl http://h/ -H 'Authorization Bearer: mArKeR77'",
        "curl http://h/ --token=mArKeR77",
        "TOKEN=mArKeR77 curl http://h/",
        "curl http://h/ -e http://u:mArKeR77@r/",
    ] {
        check(curl::read(text, &|_| unreachable!()), Origin::Curl, text);
    }
}

#[test]
fn secrets_of_a_har_file_do_not_leak() {
    let entry = |request: Value| json!({ "log": { "entries": [{ "request": request }] } });
    for name in SECRETS {
        for carrier in carriers(name) {
            let headers: Vec<Value> = carrier
                .headers
                .iter()
                .map(|(name, value)| json!({ "name": name, "value": value }))
                .collect();
            let mut request = json!({ "method": "POST", "url": carrier.url, "headers": headers });
            if let Some((kind, body)) = &carrier.body {
                request["postData"] = json!({ "mimeType": kind, "text": body });
            }
            let text = entry(request).to_string();
            check(har::read(&text), Origin::Har, &text);
        }
        for url in ["ws://h/", "wss://u:mArKeR77@h/", "ftp://h/", "http:///"] {
            let url = format!("{url}?{name}={MARKER}");
            let text = entry(json!({ "method": "GET", "url": url })).to_string();
            check(har::read(&text), Origin::Har, &text);
        }
        let fields = json!([{ "name": name, "value": MARKER }]);
        let post = json!({ "mimeType": "application/x-www-form-urlencoded", "params": fields });
        for method in ["POST", "GET", "CONNECT", "PURGE"] {
            let url = format!("http://h/?{name}={MARKER}");
            let request = json!({ "method": method, "url": url, "postData": post });
            let text = entry(request).to_string();
            check(har::read(&text), Origin::Har, &text);
        }
    }
}

#[test]
fn secrets_of_an_openapi_document_do_not_leak() {
    let wishes = openapi::Options {
        with_writes: true,
        server: None,
        folder: None,
    };
    for name in SECRETS {
        let parameter = |location: &str| json!({ "name": name, "in": location, "required": true, "example": MARKER });
        let media = json!({ "example": { "a": { name: MARKER } } });
        let operation = json!({
            "parameters": [parameter("query"), parameter("header")],
            "requestBody": { "content": { "application/json": media } },
            "responses": {},
        });
        let document = json!({
            "openapi": "3.0.0", "servers": [{ "url": "http://h" }],
            "paths": { "/a": { "post": operation } },
        });
        let text = document.to_string();
        check(openapi::read(&text, wishes), Origin::Openapi, &text);
    }
}

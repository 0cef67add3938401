//! Calls → the text of a study with a small load, closed or with users: safe to run unchanged, and meant to be edited.

use std::{collections::BTreeSet, fmt::Write};

use super::{
    call::{Call, Capture, Extractor, ImportedCalls, host_of, to_name},
    slot, yaml,
};

/// Methods that are keys in a study.
const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
/// Maximum length of a name.
const NAME_MAX: usize = 64;
/// Reserved names: that of the scenario, and the first parts of metric paths.
const RESERVED_NAMES: [&str; 10] = [
    "all",
    "delivery",
    "generator",
    "sessions",
    "components",
    "metrics",
    "faults",
    "prepare",
    "clients",
    "background",
];
/// Minimum length of the measured phase.
const MEASURE_S: u64 = 10;

/// A study's text and its name.
pub struct Written {
    pub name: String,
    pub text: String,
}

pub(crate) fn study(imported: &ImportedCalls, wanted: &[String]) -> Written {
    let names = unique(&imported.calls);
    let title = imported.title.as_deref().and_then(name_of_title);
    let name = match (title, &imported.calls[..]) {
        (Some(title), _) => title,
        (None, [_]) => names[0].clone(),
        (None, calls) => cut(&to_name(host_of(&calls[0].origin)), NAME_MAX),
    };
    let origin = &imported.calls[0].origin;
    let by = "waggle init; check it before you run it.";
    let written = beginning(by, wanted, &imported.left_out);
    let mut text = format!("{EDITOR_SCHEMA}{written}");
    question(&mut text, &name, origin);
    let _ = writeln!(text, "system:\n  url: {}", json_string(origin));
    if imported.is_insecure && origin.starts_with("https:") {
        let _ = writeln!(text, "  tls: {{ insecure_skip_verify: true }}");
    }
    text.push_str("load:\n");
    let first = match &imported.calls[..] {
        [only] => {
            text.push_str("  model: closed # also: open (with rate: 100/s), users (with think_time: 1s)\n  connections: 2\n");
            protocol(&mut text, imported);
            text.push_str("  request:\n");
            call(&mut text, only, &names[0], Nesting::Request);
            &names[0]
        }
        calls => {
            if imported.is_session {
                text.push_str("  model: users # each repeats the session\n  users: 2\n");
            } else {
                text.push_str("  model: closed\n  connections: 2\n");
            }
            protocol(&mut text, imported);
            text.push_str("  scenario:\n    name: all\n    flows:\n");
            flows(&mut text, calls, &names, imported.is_session);
            &names[0]
        }
    };
    let measure = match imported
        .session_ms
        .map(|session| (2 * session).div_ceil(1_000))
    {
        Some(two) if two > MEASURE_S => format!("{two}s # two recorded sessions"),
        _ => format!("{MEASURE_S}s"),
    };
    let _ = writeln!(
        text,
        "schedule:\n  warm_up: 2s\n  measure: {measure}\n  interval: 250ms"
    );
    let _ = writeln!(
        text,
        "# thresholds:\n#   - {first}.response_time.p99 < 100ms\n#   - {first}.failed == 0"
    );
    Written { name, text }
}

fn protocol(text: &mut String, imported: &ImportedCalls) {
    if let Some(protocol) = imported.protocol {
        let _ = writeln!(text, "  protocol: {protocol}");
    }
}

fn flows(text: &mut String, calls: &[Call], names: &[String], is_session: bool) {
    if is_session {
        text.push_str("      - name: session\n        steps:\n");
    }
    for (step, name) in calls.iter().zip(names) {
        if !is_session {
            let _ = writeln!(
                text,
                "      - name: {}\n        weight: 1\n        steps:",
                yaml_name(name)
            );
        }
        if let Some(pause) = step.pause_ms {
            let _ = writeln!(text, "          - think_time: {pause}ms");
        }
        call(text, step, name, Nesting::Step);
    }
}

/// The key to which a call belongs; decides its indentation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Request,
    Step,
}

/// Writes the request of a load: name, method, headers and body.
pub fn call_text(text: &mut String, call: &Call, name: &str) {
    self::call(text, call, name, Nesting::Request);
}

fn call(text: &mut String, call: &Call, name: &str, nesting: Nesting) {
    let (first, indent) = match nesting {
        Nesting::Request => ("    ", "    "),
        Nesting::Step => ("          - ", "            "),
    };
    let value = |value: &str| json_string(&slot::study_text(value));
    let _ = writeln!(text, "{first}name: {}", yaml_name(name));
    let path = value(&call.path);
    let _ = match &*call.method {
        method if METHODS.contains(&method) => {
            writeln!(text, "{indent}{}: {path}", method.to_ascii_lowercase())
        }
        method => writeln!(
            text,
            "{indent}method: {}\n{indent}path: {path}",
            json_string(method)
        ),
    };
    if !call.headers.is_empty() {
        let _ = writeln!(text, "{indent}headers:");
        for (field, content) in &call.headers {
            let _ = writeln!(text, "{indent}  {}: {}", json_string(field), value(content));
        }
    }
    if let Some(body) = &call.body {
        let _ = writeln!(text, "{indent}body: {}", value(body));
    }
    if let [status] = call.statuses[..] {
        let _ = writeln!(text, "{indent}expect: {{ status: {status} }}");
    } else if !call.statuses.is_empty() {
        let statuses = &call.statuses;
        let _ = writeln!(text, "{indent}expect: {{ status: {statuses:?} }}");
    }
    captures(text, &call.captures, indent);
}

fn captures(text: &mut String, captures: &[Capture], indent: &str) {
    if !captures.is_empty() {
        let _ = writeln!(text, "{indent}capture:");
    }
    for Capture { variable, from } in captures {
        let (key, value, regex) = match from {
            Extractor::Json(path) => ("json", path, None),
            Extractor::Header(name) => ("header", name, None),
            Extractor::HeaderMatch { name, regex } => ("header", name, Some(regex)),
            Extractor::Regex(regex) => ("regex", regex, None),
            Extractor::Cookie(name) => ("cookie", name, None),
        };
        let regex = regex.map(|regex| format!(", regex: {}", literal(regex)));
        let _ = writeln!(
            text,
            "{indent}  {}: {{ {key}: {}{} }}",
            yaml_name(variable),
            literal(value),
            regex.unwrap_or_default()
        );
    }
}

/// The words of a title in lower case; `None` if it has no letter that a name may have.
fn name_of_title(title: &str) -> Option<String> {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let name = cut(&words.join("-"), NAME_MAX).to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}

/// Unique names of the calls: repeated and reserved ones get a number.
fn unique(calls: &[Call]) -> Vec<String> {
    let mut taken: BTreeSet<String> = RESERVED_NAMES.map(str::to_owned).into();
    let mut names = Vec::new();
    for call in calls {
        let mut name = cut(&call.name, NAME_MAX);
        let mut count = 1;
        while !taken.insert(name.clone()) {
            count += 1;
            let number = format!("-{count}");
            name = format!("{}{number}", cut(&call.name, NAME_MAX - number.len()));
        }
        names.push(name);
    }
    names
}

/// Truncates a name, which is ASCII.
fn cut(name: &str, most: usize) -> String {
    name.chars().take(most).collect()
}

/// A name, in quotes if YAML would parse it as something else than a string.
fn yaml_name(name: &str) -> String {
    if yaml::plain(name).is_string() {
        name.to_owned()
    } else {
        json_string(name)
    }
}

/// For editors with the YAML language server.
pub(super) const EDITOR_SCHEMA: &str = "# yaml-language-server: $schema=study.schema.json
# The schema for an editor: waggle schema study > study.schema.json
";

/// The comments at the start of a study.
pub fn beginning(by: &str, wanted: &[String], left_out: &[String]) -> String {
    let mut text = format!("# Written by {by}\n");
    let needs = wanted.iter().map(|line| ("Needs in the environment", line));
    let left_out = left_out.iter().map(|line| ("Left out", line));
    for (what, line) in needs.chain(left_out) {
        // A comment must be one line.
        let _ = writeln!(text, "# {what}: {}", line.replace(char::is_control, " "));
    }
    text
}

/// Writes the name and the question of a study.
pub fn question(text: &mut String, name: &str, origin: &str) {
    let question = format!(
        "How many requests per second does {origin} take, and how long do its answers take?"
    );
    let _ = writeln!(
        text,
        "study: {}\nquestion: {}",
        yaml_name(name),
        json_string(&question)
    );
}

/// A string as JSON, which is also YAML.
pub fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A string as JSON, with `${` escaped.
pub fn literal(text: &str) -> String {
    json_string(&text.replace("${", "$${"))
}

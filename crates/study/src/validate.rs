//! Validates a tree by its schema: every mistake of shape at once, each with its position. Invalid nodes are marked, so that the
//! rest can still be read and checked. Understands exactly the keywords that `schema` makes.

use serde_json::Value as Schema;

use waggle_units::{parse_duration, parse_rate, parse_share, parse_size};

use crate::{
    Level,
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    pods::refusal,
    raw::parse_width,
    tree::{Entry, Node, Value, quote},
};

/// Validates the tree and marks its invalid nodes. `name` is the tree's name in messages.
pub(crate) fn validate(schema: &Schema, node: &mut Node, name: &str) -> Vec<Finding> {
    let mut validator = Validator {
        root: schema,
        findings: Vec::new(),
        path: vec![name.to_owned()],
    };
    let position = node.position;
    validator.visit(schema, node, position);
    validator.findings
}

struct Validator<'s> {
    /// The schema whose definitions references name.
    root: &'s Schema,
    findings: Vec<Finding>,
    path: Vec<String>,
}

impl Validator<'_> {
    /// The path of the current node, e.g. `load.request`; the root's own name only at the root.
    fn current_path(&self) -> String {
        if self.path.len() == 1 {
            self.path[0].clone()
        } else {
            self.path[1..].join(".")
        }
    }

    /// `named_at` is the position of the key whose value this is.
    fn visit(&mut self, schema: &Schema, node: &mut Node, named_at: Position) {
        if node.value == Value::Invalid {
            return;
        }
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.trim_start_matches("#/$defs/");
            let definition = &self.root["$defs"][name];
            self.visit(definition, node, named_at);
            return;
        }
        if let Some(branches) = schema["anyOf"].as_array() {
            let of_type = |name: &str| branches.iter().find(|branch| has_type(branch, name));
            let of_text = || of_type("string").filter(|branch| branch["x-waggle"].is_null());
            // A level of a factor is read as text if the schema wants text.
            match of_type(type_of(&node.value)).or_else(|| of_text().filter(|_| node.filled)) {
                Some(branch) => self.visit(branch, node, named_at),
                None => self.report_wrong_type(schema, node),
            }
            return;
        }
        match &mut node.value {
            Value::Map(entries) if has_type(schema, "object") => {
                self.map(schema, entries, named_at)
            }
            Value::List(items) if has_type(schema, "array") => {
                self.list(schema, items, node.position)
            }
            Value::Scalar(_) => self.scalar(schema, node),
            _ => self.report_wrong_type(schema, node),
        }
    }

    fn map(&mut self, schema: &Schema, entries: &mut Vec<Entry>, named_at: Position) {
        let none = serde_json::Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        let mut meant = Vec::new();
        for entry in entries.iter_mut() {
            if let Some(property) = properties.get(&entry.key) {
                self.path.push(entry.key.clone());
                self.visit(property, &mut entry.node, entry.position);
                self.path.pop();
            } else if schema["additionalProperties"].is_object() {
                self.free_key(schema, entry);
            } else {
                meant.extend(self.unknown_key(properties, entry));
                entry.node.value = Value::Invalid;
            }
        }
        entries.retain(|entry| properties.is_empty() || properties.contains_key(&entry.key));
        // A misspelt key counts as given, so that it is reported once.
        for (path, position) in meant {
            insert_invalid(entries, &path, position);
        }
        for key in schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Schema::as_str)
        {
            if !entries.iter().any(|entry| entry.key == key) {
                let what = format!("{} lacks the key {key:?}", self.current_path());
                let expected = format!("{key}: {}", expects(&properties[key]));
                self.findings
                    .push(Finding::new(named_at, what).with_expected(expected));
            }
        }
    }

    /// A key of the user's own choice, such as a factor's name.
    fn free_key(&mut self, schema: &Schema, entry: &mut Entry) {
        if let Some(expected) = expected_key(schema, &entry.key) {
            let what = format!(
                "{} is no name for a key of {}",
                quote(&entry.key),
                self.current_path()
            );
            self.findings
                .push(Finding::new(entry.position, what).with_expected(expected));
            entry.node.value = Value::Invalid;
        }
        self.path.push(entry.key.clone());
        self.visit(
            &schema["additionalProperties"],
            &mut entry.node,
            entry.position,
        );
        self.path.pop();
    }

    /// Reports an unknown key; returns the key that was probably meant, with the position.
    fn unknown_key(
        &mut self,
        properties: &serde_json::Map<String, Schema>,
        entry: &Entry,
    ) -> Option<(String, Position)> {
        if let Some(refusal) = refusal(&self.path, &entry.key) {
            let (key, place) = (quote(&entry.key), self.current_path());
            let what = format!("{key} in {place}: {}", refusal.why);
            let finding = Finding::new(entry.position, what).with_expected(refusal.instead);
            self.findings.push(finding);
            return Some((refusal.meant.to_owned(), entry.position));
        }
        let words = || properties.keys().map(String::as_str);
        let near = nearest_word(&entry.key, words());
        let what = format!(
            "unknown key {} in {}",
            quote(&entry.key),
            self.current_path()
        );
        let allowed = if properties.is_empty() {
            "no key".to_owned()
        } else {
            list(words())
        };
        self.findings.push(
            Finding::new(entry.position, what)
                .with_expected(allowed)
                .with_suggestion(near),
        );
        near.map(|key| (key.to_owned(), entry.position))
    }

    fn list(&mut self, schema: &Schema, items: &mut Vec<Node>, position: Position) {
        let (least, most) = (
            count(&schema["minItems"], 0),
            count(&schema["maxItems"], usize::MAX),
        );
        if items.len() < least || items.len() > most {
            let expected = if least == most {
                format!("{least}")
            } else {
                format!("at least {least}")
            };
            let what = format!("{} has {} entries", self.current_path(), items.len());
            self.findings
                .push(Finding::new(position, what).with_expected(expected));
        }
        for (index, item) in items.iter_mut().enumerate() {
            let position = item.position;
            let last = self.path.len() - 1;
            let name = self.path[last].clone();
            self.path[last] = format!("{name}[{}]", index + 1);
            self.visit(&schema["items"], item, position);
            self.path[last] = name;
        }
        // Serde leaves invalid nodes out; indices must mean the same afterwards.
        items.retain(|item| item.value != Value::Invalid);
    }

    fn scalar(&mut self, schema: &Schema, node: &mut Node) {
        let Value::Scalar(level) = &node.value else {
            return;
        };
        let words = words_of(schema);
        if !words.is_empty() {
            let text = level.to_string();
            if !words.contains(&text.as_str()) {
                let what = format!("{} is {}", self.current_path(), node.kind());
                let finding = Finding::new(node.position, what)
                    .with_expected(join_with_or(&words))
                    .with_suggestion(nearest_word(&text, words.iter().copied()));
                self.findings.push(finding);
                node.value = Value::Invalid;
            }
            return;
        }
        if node.filled && !matches!(level, Level::Text(_)) && schema["type"] == "string" {
            node.value = Value::Scalar(Level::Text(level.to_string()));
        }
        let Value::Scalar(level) = &node.value else {
            return;
        };
        if !fits(schema, level) {
            self.report_wrong_type(schema, node);
        }
    }

    fn report_wrong_type(&mut self, schema: &Schema, node: &mut Node) {
        let is_duration = |schema: &Schema| schema["x-waggle"] == "duration";
        let mut branches = schema["anyOf"].as_array().into_iter().flatten();
        let unit = match is_duration(schema) || branches.any(is_duration) {
            true => "s",
            false => "",
        };
        let meant = match &node.value {
            Value::Scalar(Level::Integer(number)) if !unit.is_empty() && *number >= 0 => {
                Some(format!("{number}{unit}"))
            }
            Value::Scalar(level) if schema["type"] == "string" && unit.is_empty() => {
                Some(format!("'{level}'"))
            }
            Value::Scalar(Level::Text(text)) if schema["type"] == "boolean" => {
                truth(text).map(ToOwned::to_owned)
            }
            _ => None,
        };
        let meant = meant.filter(|_| schema["x-waggle"].is_null() || !unit.is_empty());
        let what = format!("{} is {}", self.current_path(), node.kind());
        self.findings.push(
            Finding::new(node.position, what)
                .with_expected(expects(schema))
                .with_suggestion(meant),
        );
        node.value = Value::Invalid;
    }
}

/// Inserts an invalid node at the path of a missing key, if the mapping for it exists.
fn insert_invalid(entries: &mut Vec<Entry>, path: &str, position: Position) {
    let (key, below) = path
        .split_once('.')
        .map_or((path, None), |(key, below)| (key, Some(below)));
    let known = entries.iter_mut().find(|entry| entry.key == key);
    match (known, below) {
        (Some(entry), Some(below)) => {
            if let Value::Map(inner) = &mut entry.node.value {
                insert_invalid(inner, below, position);
            }
        }
        (None, None) => entries.push(Entry {
            key: key.to_owned(),
            position,
            node: Node::new(Value::Invalid, position),
        }),
        (Some(_), None) | (None, Some(_)) => {}
    }
}

/// YAML 1.1's words for truth.
fn truth(text: &str) -> Option<&'static str> {
    match text.to_lowercase().as_str() {
        "yes" | "on" | "y" => Some("true"),
        "no" | "off" | "n" => Some("false"),
        _ => None,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Invalid | Value::Null => "null",
        Value::Scalar(Level::Boolean(_)) => "boolean",
        Value::Scalar(Level::Integer(_)) => "integer",
        Value::Scalar(Level::Float(_)) => "number",
        Value::Scalar(Level::Text(_)) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    }
}

fn has_type(schema: &Schema, name: &str) -> bool {
    let is = |schema: &Schema| schema == name || (schema == "number" && name == "integer");
    match &schema["type"] {
        Schema::Array(types) => types.iter().any(is),
        value => is(value),
    }
}

/// Whether a scalar has the type, the unit and the bounds asked for.
fn fits(schema: &Schema, level: &Level) -> bool {
    let typed = has_type(schema, type_of(&Value::Scalar(level.clone())));
    let bound = |key: &str, otherwise: f64| schema[key].as_f64().unwrap_or(otherwise);
    let within = match level {
        #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2^53")]
        Level::Integer(number) => {
            (bound("minimum", f64::MIN)..=bound("maximum", f64::MAX)).contains(&(*number as f64))
        }
        Level::Float(number) => {
            (bound("minimum", f64::MIN)..=bound("maximum", f64::MAX)).contains(number)
        }
        Level::Boolean(_) | Level::Text(_) => true,
    };
    let readable = match (schema["x-waggle"].as_str(), level) {
        (Some("duration"), Level::Text(text)) => parse_duration(text).is_some(),
        (Some("size"), Level::Text(text)) => parse_size(text).is_some(),
        (Some("rate" | "load level"), _) => parse_rate(&level.to_string()).is_some(),
        (Some("share"), _) => parse_share(&level.to_string()).is_some(),
        (Some("width"), _) => parse_width(&level.to_string()).is_some(),
        (Some("name"), Level::Text(text)) => is_name(text),
        _ => true,
    };
    typed && within && readable
}

const NAME: &str = "letters, digits, - and _, at most 64, the first a letter or digit";
const LABEL: &str = "a label of Kubernetes, such as disk or kubernetes.io/arch";

/// What a key of the user's own choice should have been, if it is not.
fn expected_key(schema: &Schema, key: &str) -> Option<&'static str> {
    match schema["x-waggle-keys"].as_str()? {
        "label" => (!is_label(key)).then_some(LABEL),
        _ => (!is_name(key)).then_some(NAME),
    }
}

/// Whether a text is the key of a label, as the API server of Kubernetes checks it.
fn is_label(text: &str) -> bool {
    let (domain, name) = match text.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, text),
    };
    let is_domain = |domain: &str| {
        let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        domain.len() <= 253 && domain.split('.').all(|part| is_word(part, is_inner))
    };
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    name.len() <= 63 && is_word(name, is_inner) && domain.is_none_or(is_domain)
}

/// Whether a text has these letters alone, and a letter or digit at both ends.
fn is_word(text: &str, is_inner: impl Fn(u8) -> bool) -> bool {
    let is_end = |end: Option<&u8>| end.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    is_end(bytes.first()) && is_end(bytes.last()) && text.bytes().all(is_inner)
}

/// Whether a text is a name as `Name` wants it.
pub(crate) fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(inner)
}

/// The words of an enum, whether its variants are documented or not.
fn words_of(schema: &Schema) -> Vec<&str> {
    let documented = schema["oneOf"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|variant| &variant["const"]);
    schema["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(documented)
        .filter_map(Schema::as_str)
        .collect()
}

fn join_with_or(words: &[&str]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.join(", "),
    }
}

fn count(schema: &Schema, otherwise: usize) -> usize {
    schema
        .as_u64()
        .and_then(|number| usize::try_from(number).ok())
        .unwrap_or(otherwise)
}

/// What a schema asks for, in words.
fn expects(schema: &Schema) -> String {
    let words = words_of(schema);
    if !words.is_empty() {
        return join_with_or(&words);
    }
    if let Some(branches) = schema["anyOf"].as_array() {
        return branches
            .iter()
            .map(expects)
            .collect::<Vec<_>>()
            .join(" or ");
    }
    match schema["x-waggle"].as_str() {
        Some("duration") => {
            return "a duration such as 250ms, 10s, 2m or 1h, at most 168h".to_owned();
        }
        Some("size") => return "a size such as 10kB or 4MiB".to_owned(),
        Some("rate") => return "a rate such as 1000/s".to_owned(),
        Some("share") => return "a share such as 5% or 0.05".to_owned(),
        Some("width") => return "a share such as 10% or 0.1, from 0.1% to 1000%".to_owned(),
        Some("load level") => {
            return "a rate such as 1000/s, or a number of users or connections".to_owned();
        }
        Some("name") => return NAME.to_owned(),
        _ => {}
    }
    match &schema["type"] {
        Schema::Array(types) if types.len() > 2 => "a number, true, false or text".to_owned(),
        Schema::Array(_) => "a whole number or text".to_owned(),
        kind => expects_type(schema, kind.as_str().unwrap_or_default()),
    }
}

fn expects_type(schema: &Schema, kind: &str) -> String {
    let bounds = match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        _ => String::new(),
    };
    match kind {
        "integer" => format!("a whole number{bounds}"),
        "number" => format!("a number{bounds}"),
        "boolean" => "true or false".to_owned(),
        "string" => "text".to_owned(),
        "array" => "a list".to_owned(),
        _ => match schema["properties"].as_object() {
            Some(keys) if !keys.is_empty() => {
                format!("a mapping with {}", list(keys.keys().map(String::as_str)))
            }
            _ => "a mapping".to_owned(),
        },
    }
}

//! A JSON Schema as Markdown: a section with a table for each object. Objects with the same keys have one section.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{Map, Value};
use waggle_flags::table_cell;

use super::{Page, values};

pub(super) fn page(page: &Page, schema: &Value) -> String {
    let Page {
        schema: name,
        title,
        about,
        ..
    } = page;
    let about = wrap_text(about);
    let mut text = format!(
        "# {title}\n\n{about}\n\n`waggle schema {name}` prints the JSON Schema for editors ([schema](../schema/{name}.schema.json)); this page is \
         written\nfrom it by `cargo xtask reference`.\n"
    );
    if page.is_written {
        let _ = write!(text, "\n{}\n", wrap_text(HEAD_OF_FILES));
    }
    let mut sections = Sections {
        text,
        schema,
        is_written: page.is_written,
        seen: BTreeMap::new(),
    };
    sections.add("", schema);
    sections.text
}

const HEAD_OF_FILES: &str = "A *duration* is `250ms`, `1.5s`, `2m` or `1h`; a *rate* `1000/s`, `60/m` or a number per second; a *size* \
    `512B`, `4KiB` or `10MB`; a *share* `5%` or `0.05`; a *name* has letters, digits, `-` and `_`. Where the column *value* has `${…}`, \
    the value may also be that of a factor. An unknown key is refused with the nearest valid one.";

/// Title of the section of the outermost object.
const OUTERMOST: &str = "Outermost keys";

struct Sections<'a> {
    text: String,
    schema: &'a Value,
    is_written: bool,
    /// Path of the first object with these keys.
    seen: BTreeMap<String, String>,
}

impl<'a> Sections<'a> {
    /// Adds the section of an object, then those of the objects in it.
    fn add(&mut self, path: &str, object: &'a Value) {
        let title = match path {
            "" => OUTERMOST.to_owned(),
            _ => format!("`{path}`"),
        };
        let _ = write!(self.text, "\n## {title}\n\n");
        let about = object["description"].as_str().filter(|_| !path.is_empty());
        if let Some(about) = about {
            let _ = write!(self.text, "{}\n\n", wrap_text(&table_cell(about)));
        }
        self.text += "| key | value | meaning |\n|---|---|---|\n";
        let mut inner = Vec::new();
        for (key, value) in sorted_entries(&object["properties"]) {
            let path = match path {
                "" => key.clone(),
                _ => format!("{path}.{key}"),
            };
            self.add_row(object, key, value, &path, &mut inner);
        }
        for (path, object) in inner {
            self.add(&path, object);
        }
    }

    /// Adds a row; objects without a section are appended to `inner`.
    fn add_row(
        &mut self,
        object: &Value,
        key: &str,
        value: &'a Value,
        path: &str,
        inner: &mut Vec<(String, &'a Value)>,
    ) {
        let mut links = Vec::new();
        for (suffix, nested) in values::objects(self.schema, value) {
            let keys = identity(nested);
            let nested_path = format!("{path}{suffix}");
            let shown = self.seen.entry(keys).or_insert_with(|| {
                inner.push((nested_path.clone(), nested));
                nested_path
            });
            links.push(format!("[`{shown}`](#{})", anchor(shown)));
        }
        let required = object["required"].as_array().into_iter().flatten();
        let is_required = required.into_iter().any(|name| name == key);
        let mut meaning = table_cell(&values::meaning(self.schema, value));
        if is_required && self.is_written {
            meaning = format!("**Required.** {meaning}");
        }
        if !is_required && !self.is_written {
            meaning += " May be absent.";
        }
        if !links.is_empty() {
            let _ = write!(meaning, " Keys: {}.", links.join(", "));
        }
        let kind = table_cell(&values::kind(self.schema, value));
        let _ = writeln!(self.text, "| `{key}` | {kind} | {} |", meaning.trim());
    }
}

/// What makes two objects the same section: their keys, without what their descriptions as a whole say.
fn identity(object: &Value) -> String {
    let keys: Map<String, Value> = ["properties", "required"]
        .iter()
        .map(|part| ((*part).to_owned(), object[*part].clone()))
        .collect();
    values::canonical(&Value::Object(keys))
}

fn sorted_entries(object: &Value) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = object.as_object().into_iter().flatten().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

/// Longest line of prose.
const COLUMNS: usize = 130;

/// A text in lines of at most [`COLUMNS`] characters, if its words are not longer.
fn wrap_text(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        let is_full = line.chars().count() + 1 + word.chars().count() > COLUMNS;
        if line.is_empty() {
            line.push_str(word);
        } else if is_full {
            lines.push(word.to_owned());
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n")
}

/// The anchor of a heading: `[]`, dots and backticks are left out.
fn anchor(path: &str) -> String {
    let is_kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    path.to_lowercase().chars().filter(is_kept).collect()
}

//! `${name}` in a tree: finds the names and replaces them by levels.

use waggle_template::placeholder::{Part, parts};

use crate::{
    Level,
    mistake::Position,
    origin::{escape, is_from_outside},
    request_texts::Place,
    tree::{Entry, Node, Value},
};

/// A `${name}` in a tree; `name` is `None` if the `}` is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    pub name: Option<String>,
    pub position: Position,
    /// Keys from the root.
    pub path: Vec<String>,
}

/// Every `${name}` under a node.
pub(crate) fn uses(node: &Node) -> Vec<Use> {
    let mut entries = Vec::new();
    visit_texts(node, &mut Vec::new(), &mut |text, position, path| {
        entries.extend(uses_in(text, position, path));
    });
    entries
}

fn uses_in(text: &str, position: Position, path: &[String]) -> Vec<Use> {
    let entry = |name: Option<&str>| Use {
        name: name.map(str::to_owned),
        position,
        path: path.to_vec(),
    };
    if !text.contains("${") {
        return Vec::new();
    }
    let Some(parts) = parts(text) else {
        return vec![entry(None)];
    };
    let mut entries = Vec::new();
    for part in parts {
        if let Part::Name(name) = part {
            entries.push(entry(Some(name)));
        }
    }
    entries
}

/// Calls `visit` with every text under a node, its position, and the keys that lead to it.
pub(crate) fn visit_texts(
    node: &Node,
    path: &mut Vec<String>,
    visit: &mut impl FnMut(&str, Position, &[String]),
) {
    match &node.value {
        Value::Scalar(Level::Text(text)) => visit(text, node.position, path),
        Value::List(items) => {
            for item in items {
                visit_texts(item, path, visit);
            }
        }
        Value::Map(entries) => {
            for entry in entries {
                path.push(entry.key.clone());
                visit_texts(&entry.node, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The tree with every `${name}` replaced. `level` returns a name's level with its position, or `None` for a name that was
/// reported. A scalar that is exactly one `${name}` takes the level's type and position.
pub(crate) fn fill<'a>(
    node: &Node,
    level: &impl Fn(&str) -> Option<(&'a Level, Position)>,
) -> Node {
    fill_node(node, level, Place::Other)
}

/// In texts of requests the names of values from outside stay, and text that only looks like one stays escaped.
fn escape_at(place: Place, text: &str) -> String {
    match place {
        Place::Header | Place::Text => escape(text),
        Place::Headers | Place::Request | Place::Other => text.to_owned(),
    }
}

fn fill_node<'a>(
    node: &Node,
    level: &impl Fn(&str) -> Option<(&'a Level, Position)>,
    place: Place,
) -> Node {
    let value = match &node.value {
        Value::Scalar(Level::Text(text)) if text.contains("${") => {
            return fill_text(text, node.position, level, place);
        }
        Value::List(items) => Value::List(
            items
                .iter()
                .map(|item| fill_node(item, level, place))
                .collect(),
        ),
        Value::Map(entries) => Value::Map(
            entries
                .iter()
                .map(
                    |Entry {
                         key,
                         position,
                         node,
                     }| Entry {
                        key: key.clone(),
                        position: *position,
                        node: fill_node(node, level, place.child(key)),
                    },
                )
                .collect(),
        ),
        other => other.clone(),
    };
    Node { value, ..*node }
}

fn fill_text<'a>(
    text: &str,
    position: Position,
    level: &impl Fn(&str) -> Option<(&'a Level, Position)>,
    place: Place,
) -> Node {
    let invalid = Node::new(Value::Invalid, position);
    let Some(parts) = parts(text) else {
        return invalid;
    };
    if let [Part::Name(name)] = parts[..]
        && !is_from_outside(name)
    {
        return level(name).map_or(invalid, |(level, position)| Node {
            value: Value::Scalar(level.clone()),
            position,
            filled: true,
        });
    }
    let (mut filled, mut plain) = (String::new(), String::new());
    for part in parts {
        match part {
            Part::Literal(literal) => plain.push_str(literal),
            // Stays as it is: its value is no part of the study.
            Part::Name(name) if is_from_outside(name) => {
                filled.push_str(&escape_at(place, &std::mem::take(&mut plain)));
                filled.push_str(&format!("${{{name}}}"));
            }
            Part::Name(name) => match level(name) {
                Some((level, _)) => plain.push_str(&level.to_string()),
                None => return invalid,
            },
        }
    }
    filled.push_str(&escape_at(place, &plain));
    Node {
        value: Value::Scalar(Level::Text(filled)),
        position,
        filled: true,
    }
}

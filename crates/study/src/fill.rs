//! `${name}` in a tree: finding the names, putting levels in their place.

use waggle_template::placeholder::{Part, parts};

use crate::{
    Level,
    mistake::Place,
    origin::{escape, is_from_outside},
    tree::{Entry, Node, Value},
};

/// A `${name}` in a tree; `name` is `None` where the `}` is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    pub name: Option<String>,
    pub place: Place,
    /// Keys from the root.
    pub path: Vec<String>,
}

/// Every `${name}` under a node.
pub(crate) fn uses(node: &Node) -> Vec<Use> {
    let mut found = Vec::new();
    collect(node, &mut Vec::new(), &mut found);
    found
}

fn collect(node: &Node, path: &mut Vec<String>, found: &mut Vec<Use>) {
    match &node.value {
        Value::Scalar(Level::Text(text)) if text.contains("${") => match parts(text) {
            None => found.push(Use {
                name: None,
                place: node.place,
                path: path.clone(),
            }),
            Some(parts) => found.extend(parts.into_iter().filter_map(|part| match part {
                Part::Name(name) => Some(Use {
                    name: Some(name.to_owned()),
                    place: node.place,
                    path: path.clone(),
                }),
                Part::Literal(_) => None,
            })),
        },
        Value::List(items) => items.iter().for_each(|item| collect(item, path, found)),
        Value::Map(entries) => {
            for entry in entries {
                path.push(entry.key.clone());
                collect(&entry.node, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The tree with every `${name}` replaced. `level` gives a name's level with the place where it is written, `None` for
/// a name that was reported already. A scalar that is nothing but one `${name}` takes the level's type and place.
pub(crate) fn fill<'a>(node: &Node, level: &impl Fn(&str) -> Option<(&'a Level, Place)>) -> Node {
    fill_below(node, level, Below::Other)
}

/// What a node stands below. In values of headers names of values from outside stay; what only looks like one stays
/// escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Headers,
    Other,
}

impl Below {
    fn key(self, key: &str) -> Self {
        if key == "headers" {
            Self::Headers
        } else {
            self
        }
    }

    fn escape(self, text: &str) -> String {
        match self {
            Self::Headers => escape(text),
            Self::Other => text.to_owned(),
        }
    }
}

fn fill_below<'a>(
    node: &Node,
    level: &impl Fn(&str) -> Option<(&'a Level, Place)>,
    below: Below,
) -> Node {
    let value = match &node.value {
        Value::Scalar(Level::Text(text)) if text.contains("${") => {
            return fill_text(text, node.place, level, below);
        }
        Value::List(items) => Value::List(
            items
                .iter()
                .map(|item| fill_below(item, level, below))
                .collect(),
        ),
        Value::Map(entries) => Value::Map(
            entries
                .iter()
                .map(|Entry { key, place, node }| Entry {
                    key: key.clone(),
                    place: *place,
                    node: fill_below(node, level, below.key(key)),
                })
                .collect(),
        ),
        other => other.clone(),
    };
    Node { value, ..*node }
}

fn fill_text<'a>(
    text: &str,
    place: Place,
    level: &impl Fn(&str) -> Option<(&'a Level, Place)>,
    below: Below,
) -> Node {
    let wild = Node::new(Value::Wild, place);
    let Some(parts) = parts(text) else {
        return wild;
    };
    if let [Part::Name(name)] = parts[..]
        && !is_from_outside(name)
    {
        return level(name).map_or(wild, |(level, place)| Node {
            value: Value::Scalar(level.clone()),
            place,
            filled: true,
        });
    }
    let (mut filled, mut plain) = (String::new(), String::new());
    for part in parts {
        match part {
            Part::Literal(literal) => plain.push_str(literal),
            // Stays as it is: its value is no part of the study.
            Part::Name(name) if is_from_outside(name) => {
                filled.push_str(&below.escape(&std::mem::take(&mut plain)));
                filled.push_str(&format!("${{{name}}}"));
            }
            Part::Name(name) => match level(name) {
                Some((level, _)) => plain.push_str(&level.to_string()),
                None => return wild,
            },
        }
    }
    filled.push_str(&below.escape(&plain));
    Node {
        value: Value::Scalar(Level::Text(filled)),
        place,
        filled: true,
    }
}

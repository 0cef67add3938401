//! YAML text → a tree in which every key and value has its position. Knows nothing of what the keys mean.
//!
//! Read is YAML 1.2's core schema in one document; refused are keys given twice, anchors and aliases (so a small
//! text cannot grow), tags, and keys that are not text.

use saphyr_parser::{Event, Marker, ScalarStyle, Span};

use crate::{
    Level,
    mistake::{Finding, Position},
    yaml::{YamlError, YamlText},
};

/// Longest text that is read.
pub(crate) const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Deepest nesting that is read.
pub(crate) const MAX_DEPTH: usize = 32;

/// Most keys of one map.
pub(crate) const MAX_KEYS: usize = 1000;

/// A value with its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub value: Value,
    pub position: Position,
    /// The file has `${factor}` here: the level may be read as text, even if it has another type.
    pub filled: bool,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Invalid, which was reported, or not known. No further message is about it.
    Invalid,
    Null,
    Scalar(Level),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub position: Position,
    pub node: Node,
}

impl Node {
    pub(crate) fn new(value: Value, position: Position) -> Self {
        Self {
            value,
            position,
            filled: false,
        }
    }

    /// The entries of a map; none of anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        if let Value::Map(entries) = &self.value {
            entries
        } else {
            &[]
        }
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// One step down: a key of a map, or an index (from 0, in digits) of a list.
    pub(crate) fn child(&self, step: &str) -> Option<&Self> {
        match &self.value {
            Value::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => self.entry(step).map(|entry| &entry.node),
        }
    }

    /// The same for a key of a map, to change it.
    pub(crate) fn child_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Value::Map(entries) = &mut self.value else {
            return None;
        };
        let entry = entries.iter_mut().find(|entry| entry.key == key)?;
        Some(&mut entry.node)
    }

    /// What it is, for a message.
    pub(crate) fn kind(&self) -> String {
        match &self.value {
            Value::Invalid => "something unknown".to_owned(),
            Value::Null => "nothing".to_owned(),
            Value::Scalar(Level::Integer(number)) => format!("the number {number}"),
            Value::Scalar(Level::Float(number)) => format!("the number {number}"),
            Value::Scalar(Level::Boolean(truth)) => format!("{truth}"),
            Value::Scalar(Level::Text(text)) => quote(text),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// Text in quotes for a message, cut if it is long.
pub(crate) fn quote(text: &str) -> String {
    const MAX_QUOTED: usize = 60;
    let mut shown: String = text.chars().take(MAX_QUOTED).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// Reads the text. Mistakes in single keys go into `findings`; a mistake that ends the reading is the error.
pub(crate) fn parse(text: &str, findings: &mut Vec<Finding>) -> Result<Node, Finding> {
    if text.len() > MAX_TEXT_BYTES {
        let what = format!("the file has {} bytes", text.len());
        return Err(
            Finding::new(Position::START, what).with_expected(format!("at most {MAX_TEXT_BYTES}"))
        );
    }
    let mut reader = Reader {
        findings,
        open: Vec::new(),
        root: None,
    };
    let text = YamlText::new(text);
    let mut documents = 0;
    for event in text.events() {
        let (event, span) = event.map_err(syntax_error)?;
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
        }
        if documents > 1 {
            return Err(
                Finding::new(start_of(span), "a second document begins here")
                    .with_expected("one document in a file"),
            );
        }
        reader.handle_event(event, span)?;
    }
    reader
        .root
        .ok_or_else(|| Finding::new(Position::START, "the file is empty"))
}

fn syntax_error(error: YamlError) -> Finding {
    let position = Position {
        file: 0,
        line: fit(error.line),
        column: fit(error.column),
        width: fit(error.width),
    };
    Finding {
        expected: error.expected,
        ..Finding::new(position, error.what)
    }
}

/// A map or list that is being read.
struct Open {
    node: Node,
    /// In a map: the key whose value comes next.
    key: Option<(String, Position)>,
}

struct Reader<'a> {
    findings: &'a mut Vec<Finding>,
    open: Vec<Open>,
    root: Option<Node>,
}

impl Reader<'_> {
    fn handle_event(&mut self, event: Event<'_>, span: Span) -> Result<(), Finding> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_anchor_and_tag(anchor, tag.is_some(), span);
                self.scalar(&text, style, span)
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_anchor_and_tag(anchor, tag.is_some(), span);
                self.begin(Value::List(Vec::new()), span)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_anchor_and_tag(anchor, tag.is_some(), span);
                self.begin(Value::Map(Vec::new()), span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let done = self
                    .open
                    .pop()
                    .expect("the parser closes only what it opened");
                self.insert_node(done.node);
                Ok(())
            }
            Event::Alias(_) => {
                self.findings.push(
                    Finding::new(start_of(span), "aliases are not read")
                        .with_expected("the value written out"),
                );
                if self.expects_key() {
                    self.set_key(String::new(), start_of(span));
                } else {
                    self.insert_node(Node::new(Value::Invalid, start_of(span)));
                }
                Ok(())
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Result<(), Finding> {
        let position = position_between(span.start, span.end);
        if self.expects_key() {
            let in_map = &self.open.last().expect("a key is in a map").node;
            if in_map.entries().len() == MAX_KEYS {
                return Err(Finding::new(position, "too many keys in one mapping")
                    .with_expected(format!("at most {MAX_KEYS}")));
            }
            if in_map.entry(text).is_some() {
                self.findings.push(
                    Finding::new(position, format!("key {} is given twice", quote(text)))
                        .with_expected("each key once"),
                );
            }
            self.set_key(text.to_owned(), position);
            return Ok(());
        }
        let value = if style == ScalarStyle::Plain {
            plain_scalar(text)
        } else {
            Value::Scalar(Level::Text(text.to_owned()))
        };
        self.insert_node(Node::new(value, position));
        Ok(())
    }

    fn begin(&mut self, value: Value, span: Span) -> Result<(), Finding> {
        let position = start_of(span);
        if self.expects_key() {
            return Err(Finding::new(position, "a key that is a mapping or a list")
                .with_expected("keys that are text"));
        }
        if self.open.len() == MAX_DEPTH {
            return Err(Finding::new(position, "nested too deep")
                .with_expected(format!("at most {MAX_DEPTH} levels")));
        }
        self.open.push(Open {
            node: Node::new(value, position),
            key: None,
        });
        Ok(())
    }

    fn expects_key(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| matches!(open.node.value, Value::Map(_)) && open.key.is_none())
    }

    fn set_key(&mut self, key: String, position: Position) {
        if let Some(open) = self.open.last_mut() {
            open.key = Some((key, position));
        }
    }

    /// Inserts a finished value into the map or list around it. Of a key given twice the first value counts.
    fn insert_node(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        let key = open.key.take();
        match (&mut open.node.value, key) {
            (Value::Map(entries), Some((key, position))) => {
                if !entries.iter().any(|entry| entry.key == key) {
                    entries.push(Entry {
                        key,
                        position,
                        node,
                    });
                }
            }
            (Value::List(items), _) => items.push(node),
            _ => unreachable!(
                "only maps and lists are opened, and a map's value comes after its key"
            ),
        }
    }

    fn refuse_anchor_and_tag(&mut self, anchor: usize, tagged: bool, span: Span) {
        if anchor != 0 {
            self.findings.push(
                Finding::new(start_of(span), "anchors are not read")
                    .with_expected("the value written out where it is used"),
            );
        }
        if tagged {
            self.findings.push(
                Finding::new(start_of(span), "tags are not read").with_expected("a plain value"),
            );
        }
    }
}

/// A plain scalar by YAML's core schema.
fn plain_scalar(text: &str) -> Value {
    let level = match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => Level::Boolean(true),
        "false" | "False" | "FALSE" => Level::Boolean(false),
        _ => number(text).unwrap_or_else(|| Level::Text(text.to_owned())),
    };
    Value::Scalar(level)
}

/// Decimal whole numbers and decimal fractions; what does not fit 64 bits stays text.
fn number(text: &str) -> Option<Level> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !digits.contains(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Level::Integer);
    }
    let numeric = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+'));
    let float = numeric.then(|| text.parse::<f64>().ok()).flatten()?;
    float.is_finite().then_some(Level::Float(float))
}

fn start_of(span: Span) -> Position {
    position_between(span.start, span.start)
}

fn position_between(start: Marker, end: Marker) -> Position {
    let width = if start.line() == end.line() {
        end.col().saturating_sub(start.col())
    } else {
        1
    };
    Position {
        file: 0,
        line: fit(start.line().max(1)),
        column: fit(start.col()) + 1,
        width: fit(width.max(1)),
    }
}

fn fit(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX - 1)
}

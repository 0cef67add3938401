//! Tree → raw types: serde reads a [`Node`] as it would any other format. Invalid nodes are left out, but where a type asks for the
//! places of its values ([`crate::at::Key`]).

use std::rc::Rc;

use serde::{
    de::{
        DeserializeSeed, Deserializer, IntoDeserializer, SeqAccess, Visitor,
        value::{Error, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

use crate::{
    Level,
    at::{PART, WITH_PLACE},
    mistake::Position,
    tree::{Entry, Node, Value},
};

/// The keys and indices that lead to a node.
#[derive(Debug)]
struct Path<'a> {
    around: Option<Rc<Self>>,
    step: Step<'a>,
}

#[derive(Debug)]
enum Step<'a> {
    Key(&'a str),
    /// Counted from 0.
    Index(usize),
}

impl Path<'_> {
    /// As messages show it: entries of lists are counted from 1.
    fn write(&self, out: &mut String) {
        if let Some(around) = &self.around {
            around.write(out);
        }
        match self.step {
            Step::Key(key) if out.is_empty() => out.push_str(key),
            Step::Key(key) => out.extend([".", key]),
            Step::Index(index) => out.push_str(&format!("[{}]", index + 1)),
        }
    }
}

/// Reads a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeReader<'a> {
    node: &'a Node,
    /// The position of its key; of an entry of a list its own.
    key: Position,
    /// `None`: the root.
    path: Option<Rc<Path<'a>>>,
}

impl<'a> NodeReader<'a> {
    pub(crate) fn new(root: &'a Node) -> Self {
        Self {
            node: root,
            key: root.position,
            path: None,
        }
    }

    fn child(&self, node: &'a Node, key: Position, step: Step<'a>) -> Self {
        let around = self.path.clone();
        Self {
            node,
            key,
            path: Some(Rc::new(Path { around, step })),
        }
    }

    fn entry(&self, entry: &'a Entry) -> (&'a str, Self) {
        let reader = self.child(&entry.node, entry.position, Step::Key(&entry.key));
        (&entry.key, reader)
    }

    fn path_text(&self) -> String {
        let mut out = String::new();
        if let Some(path) = &self.path {
            path.write(&mut out);
        }
        out
    }
}

impl<'de> IntoDeserializer<'de, Error> for NodeReader<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn is_known(node: &Node) -> bool {
    !matches!(node.value, Value::Invalid | Value::Null)
}

impl<'de> Deserializer<'de> for NodeReader<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Invalid | Value::Null => visitor.visit_unit(),
            Value::Scalar(Level::Boolean(truth)) => visitor.visit_bool(*truth),
            Value::Scalar(Level::Integer(number)) => visitor.visit_i64(*number),
            Value::Scalar(Level::Float(number)) => visitor.visit_f64(*number),
            Value::Scalar(Level::Text(text)) => visitor.visit_str(text),
            Value::List(items) => {
                let known = items.iter().enumerate().filter(|(_, item)| is_known(item));
                let readers =
                    known.map(|(index, item)| self.child(item, item.position, Step::Index(index)));
                visitor.visit_seq(SeqDeserializer::new(readers))
            }
            Value::Map(entries) => {
                let known = entries.iter().filter(|entry| is_known(&entry.node));
                visitor.visit_map(MapDeserializer::new(known.map(|entry| self.entry(entry))))
            }
        }
    }

    /// Every key, also one whose value is invalid. The keys of a [`PART`] are left to it.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Value::Map(entries) = &self.node.value else {
            return self.deserialize_any(visitor);
        };
        let has_part = fields.contains(&PART);
        let readers = entries.iter().map(|entry| self.entry(entry));
        let readers = readers.filter(|(key, _)| !has_part || fields.contains(key));
        let part = has_part.then(|| (PART, self.clone()));
        visitor.visit_map(MapDeserializer::new(readers.chain(part)))
    }

    /// A key of the mapping that is read for the sake of others.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if is_known(self.node) {
            visitor.visit_some(self)
        } else {
            visitor.visit_unit()
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Scalar(level) => level
                .to_string()
                .as_str()
                .into_deserializer()
                .deserialize_enum(name, variants, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    /// With the place: path, the positions of key and value, and the value.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name != WITH_PLACE {
            return visitor.visit_newtype_struct(self);
        }
        visitor.visit_seq(PlaceReader {
            reader: self,
            parts_read: 0,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier
    }
}

/// The parts of a value with its place, one after the other.
struct PlaceReader<'a> {
    reader: NodeReader<'a>,
    parts_read: usize,
}

impl<'de> SeqAccess<'de> for PlaceReader<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.parts_read += 1;
        let numbers = |position: Position| SeqDeserializer::new(position.numbers().into_iter());
        match self.parts_read {
            1 => seed
                .deserialize(self.reader.path_text().into_deserializer())
                .map(Some),
            2 => seed.deserialize(numbers(self.reader.key)).map(Some),
            3 => seed
                .deserialize(numbers(self.reader.node.position))
                .map(Some),
            4 => seed.deserialize(self.reader.clone()).map(Some),
            _ => Ok(None),
        }
    }
}

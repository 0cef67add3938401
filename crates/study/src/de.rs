//! Tree → raw types: serde reads a [`Node`] as it would any other format. Invalid nodes are left out.

use serde::{
    de::{
        Deserializer, IntoDeserializer, Visitor,
        value::{Error, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

use crate::{
    Level,
    tree::{Node, Value},
};

#[derive(Clone, Copy)]
pub(crate) struct NodeReader<'a>(pub &'a Node);

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
        match &self.0.value {
            Value::Invalid | Value::Null => visitor.visit_unit(),
            Value::Scalar(Level::Boolean(truth)) => visitor.visit_bool(*truth),
            Value::Scalar(Level::Integer(number)) => visitor.visit_i64(*number),
            Value::Scalar(Level::Float(number)) => visitor.visit_f64(*number),
            Value::Scalar(Level::Text(text)) => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(SeqDeserializer::new(
                items.iter().filter(|item| is_known(item)).map(NodeReader),
            )),
            Value::Map(entries) => visitor.visit_map(MapDeserializer::new(
                entries
                    .iter()
                    .filter(|entry| is_known(&entry.node))
                    .map(|entry| (entry.key.as_str(), NodeReader(&entry.node))),
            )),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if is_known(self.0) {
            visitor.visit_some(self)
        } else {
            visitor.visit_none()
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.0.value {
            Value::Scalar(level) => level
                .to_string()
                .as_str()
                .into_deserializer()
                .deserialize_enum(name, variants, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

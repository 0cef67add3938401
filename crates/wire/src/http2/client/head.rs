//! Heads of answers: what a header block means. The last one is kept with its meaning.

use super::Options;
use crate::{
    decimal::decimal,
    http2::{
        error::{ConnectionError, ErrorCode, broken},
        fields::{is_of_connection, is_valid_name, is_valid_value},
        hpack::{Decoder, HpackError},
        last_block::LastBlock,
    },
};

/// What a field counts above its two texts (RFC 9113, section 6.5.2).
const FIELD_BYTES: usize = 32;

/// The meaning of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
    /// Why it is not the head of an answer.
    pub(super) problem: Option<&'static str>,
}

#[derive(Debug)]
pub(super) struct AnswerHeads {
    decoder: Decoder,
    list_max_bytes: usize,
    fields_max: usize,
    last_block: LastBlock,
    /// What the last block means.
    last: Meaning,
    keeps_fields: bool,
    text: Vec<u8>,
}

impl AnswerHeads {
    pub(super) fn new(options: &Options, table_bytes: usize) -> Self {
        Self {
            decoder: Decoder::new(table_bytes),
            list_max_bytes: options.list_max_bytes,
            fields_max: options.fields_max,
            last_block: LastBlock::default(),
            last: Meaning {
                status: 0,
                content_length: None,
                problem: None,
            },
            keeps_fields: options.keeps_fields,
            text: Vec::new(),
        }
    }

    /// The fields of the last head, if they are kept.
    #[inline]
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The meaning of a block that is the head of an answer.
    #[inline]
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Meaning, ConnectionError> {
        match self.last_block.is_repeated(block, &self.decoder) {
            true => Ok(self.last),
            false => self.decode(block),
        }
    }

    /// The meaning of a block that is the last one again, and the head of an answer that is final.
    #[inline]
    pub(super) fn repeated_meaning(&self, block: &[u8]) -> Option<&Meaning> {
        let is_final = self.last.problem.is_none() && self.last.status >= 200;
        (is_final && self.last_block.is_repeated(block, &self.decoder)).then_some(&self.last)
    }

    fn decode(&mut self, block: &[u8]) -> Result<Meaning, ConnectionError> {
        let changes = self.decoder.changes();
        let mut head = Collected::default();
        self.text.clear();
        let mut text = self.keeps_fields.then_some(&mut self.text);
        head.list_left = self.list_max_bytes;
        let take = |name: &[u8], value: &[u8]| head.take(name, value, text.as_deref_mut());
        let decoded = self.decoder.decode(block, take).map_err(compression)?;
        if decoded.list_bytes > self.list_max_bytes || decoded.fields > self.fields_max {
            head.problem = Some("the head is above the limit");
        }
        self.text.extend_from_slice(b"\r\n");
        let meaning = head.into_meaning();
        self.last = meaning;
        self.last_block.keep(block, changes, &self.decoder);
        Ok(meaning)
    }

    /// Reads trailers; returns what is wrong with them. The kept fields stay those of the head.
    pub(super) fn read_trailers(
        &mut self,
        block: &[u8],
    ) -> Result<Option<&'static str>, ConnectionError> {
        let mut problem = None;
        let take = |name: &[u8], value: &[u8]| {
            problem = problem.or(trailer_problem(name, value));
        };
        let decoded = self.decoder.decode(block, take).map_err(compression)?;
        if decoded.list_bytes > self.list_max_bytes || decoded.fields > self.fields_max {
            problem = Some("the trailers are above the limit");
        }
        Ok(problem)
    }

    /// Reads a block that nobody waits for.
    pub(super) fn skip(&mut self, block: &[u8]) -> Result<(), ConnectionError> {
        self.decoder.decode(block, |_, _| {}).map_err(compression)?;
        Ok(())
    }
}

/// What is wrong with a field of trailers.
fn trailer_problem(name: &[u8], value: &[u8]) -> Option<&'static str> {
    let is_valid = is_valid_name(name) && is_valid_value(value) && !is_of_connection(name);
    (!is_valid).then_some("a field of the trailers is invalid")
}

fn compression(error: HpackError) -> ConnectionError {
    let problem = match error {
        HpackError::Truncated => "a header block ends in the middle",
        HpackError::Integer => "a header block has an integer above 2^28",
        HpackError::Index => "a header block refers to an entry that no table has",
        HpackError::Huffman => "a header block has a string that is not in its Huffman code",
        HpackError::TableSize => "a header block resizes its table wrongly",
    };
    broken(ErrorCode::COMPRESSION_ERROR, problem)
}

/// The fields of a head so far.
#[derive(Default)]
struct Collected {
    status: Option<u16>,
    content_length: Option<u64>,
    has_regular: bool,
    problem: Option<&'static str>,
    /// What is left of the limit on the list.
    list_left: usize,
}

impl Collected {
    /// Takes a field, unless the list is too long.
    fn take(&mut self, name: &[u8], value: &[u8], text: Option<&mut Vec<u8>>) {
        let size = name.len() + value.len() + FIELD_BYTES;
        let Some(left) = self.list_left.checked_sub(size) else {
            self.list_left = 0;
            return;
        };
        self.list_left = left;
        let result = if name.starts_with(b":") {
            self.take_pseudo(name, value)
        } else {
            self.take_regular(name, value)
        };
        if let Err(problem) = result {
            self.problem.get_or_insert(problem);
            return;
        }
        let Some(text) = text else {
            return;
        };
        if name == b":status" {
            text.extend_from_slice(b"HTTP/2 ");
            text.extend_from_slice(value);
        } else {
            text.extend_from_slice(name);
            text.extend_from_slice(b": ");
            text.extend_from_slice(value);
        }
        text.extend_from_slice(b"\r\n");
    }

    fn take_pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if name != b":status" {
            return Err("the answer has an unknown pseudo field");
        }
        if self.has_regular || self.status.is_some() {
            return Err("the answer has its status twice, or behind other fields");
        }
        let status = match value {
            [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => {
                let digit = |byte: u8| u16::from(byte - b'0');
                digit(value[0]) * 100 + digit(value[1]) * 10 + digit(value[2])
            }
            _ => return Err("the status has not three digits"),
        };
        self.status = Some(status);
        Ok(())
    }

    fn take_regular(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        self.has_regular = true;
        if !is_valid_name(name) {
            return Err("the name of a field is not in lower case, or has an invalid character");
        }
        if !is_valid_value(value) {
            return Err("the value of a field has an invalid character");
        }
        if is_of_connection(name) {
            return Err("a field of HTTP/1.1 connections is in an answer of HTTP/2");
        }
        if name == b"content-length" {
            let length = decimal(value).ok_or("the content-length is not a number")?;
            if self.content_length.is_some_and(|other| other != length) {
                return Err("the answer has two different content-lengths");
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    fn into_meaning(self) -> Meaning {
        let problem = match self.status {
            None => self.problem.or(Some("the answer has no status")),
            Some(_) => self.problem,
        };
        Meaning {
            status: self.status.unwrap_or(0),
            content_length: self.content_length,
            problem,
        }
    }
}

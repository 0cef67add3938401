//! The head of a request: its fields, decoded and checked (RFC 9113, section 8).

use super::rules::{self, Malformed};

/// The place of a text in the head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Span {
    start: usize,
    length: usize,
}

impl Span {
    fn cut(self, text: &[u8]) -> &[u8] {
        &text[self.start..self.start + self.length]
    }
}

/// The head of a request. All texts lie in one buffer, which can be used again.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RequestHead {
    text: Vec<u8>,
    fields: Vec<(Span, Span)>,
    method: Option<Span>,
    scheme: Option<Span>,
    authority: Option<Span>,
    path: Option<Span>,
    content_length: Option<u64>,
    /// There is an `expect`.
    has_expectation: bool,
}

impl Clone for RequestHead {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Copies it into buffers that are there already.
    fn clone_from(&mut self, other: &Self) {
        self.text.clone_from(&other.text);
        self.fields.clone_from(&other.fields);
        self.method = other.method;
        self.scheme = other.scheme;
        self.authority = other.authority;
        self.path = other.path;
        self.content_length = other.content_length;
        self.has_expectation = other.has_expectation;
    }
}

impl RequestHead {
    /// The method, a token.
    #[must_use]
    pub fn method(&self) -> &[u8] {
        self.text(self.method).unwrap_or_default()
    }

    /// The target: path and query, `*`, or the authority of a CONNECT. Without spaces and control characters.
    #[must_use]
    pub fn target(&self) -> &[u8] {
        let target = self.path.or(self.authority);
        self.text(target).unwrap_or_default()
    }

    /// Host and port for which the request is meant.
    #[must_use]
    pub fn authority(&self) -> Option<&[u8]> {
        self.text(self.authority)
    }

    /// The fields without pseudo fields, name and value, in order. Names are tokens in lower case.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        let text = &self.text;
        let fields = self.fields.iter();
        fields.map(|(name, value)| (name.cut(text), value.cut(text)))
    }

    /// What `content-length` says of the body.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// Whether there is a field `expect`.
    #[must_use]
    pub fn has_expectation(&self) -> bool {
        self.has_expectation
    }

    fn text(&self, span: Option<Span>) -> Option<&[u8]> {
        span.map(|span| span.cut(&self.text))
    }

    fn clear(&mut self) {
        let (mut text, mut fields) = (
            std::mem::take(&mut self.text),
            std::mem::take(&mut self.fields),
        );
        text.clear();
        fields.clear();
        *self = Self {
            text,
            fields,
            ..Self::default()
        };
    }

    fn push(&mut self, text: &[u8]) -> Span {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        Span {
            start,
            length: text.len(),
        }
    }
}

/// Takes the fields of a header block.
pub(super) struct Builder<'a> {
    head: &'a mut RequestHead,
    /// Bytes and fields that may still be kept.
    bytes_left: usize,
    fields_left: usize,
    is_too_large: bool,
    malformed: Option<Malformed>,
}

/// What a header block of a request amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Built {
    Whole,
    TooLarge,
    Malformed(Malformed),
}

/// What an entry counts above its two texts (RFC 9113, section 6.5.2).
const ENTRY_BYTES: usize = 32;

impl<'a> Builder<'a> {
    pub(super) fn new(head: &'a mut RequestHead, bytes_max: usize, fields_max: usize) -> Self {
        head.clear();
        Self {
            head,
            bytes_left: bytes_max,
            fields_left: fields_max,
            is_too_large: false,
            malformed: None,
        }
    }

    /// Takes the next field. After the first mistake nothing more is kept.
    pub(super) fn take(&mut self, name: &[u8], value: &[u8]) {
        if self.malformed.is_some() || self.is_too_large {
            return;
        }
        let bytes = name.len() + value.len() + ENTRY_BYTES;
        let Some(bytes_left) = self.bytes_left.checked_sub(bytes) else {
            self.is_too_large = true;
            return;
        };
        self.bytes_left = bytes_left;
        let taken = match name.first() {
            Some(b':') => self.take_pseudo(name, value),
            _ => self.take_field(name, value),
        };
        self.malformed = taken.err();
    }

    fn take_pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        if !self.head.fields.is_empty() {
            return Err(Malformed::LatePseudoField);
        }
        if !rules::is_value(value) {
            return Err(Malformed::Value);
        }
        let span = self.head.push(value);
        let place = match name {
            b":method" => &mut self.head.method,
            b":scheme" => &mut self.head.scheme,
            b":authority" => &mut self.head.authority,
            b":path" => &mut self.head.path,
            _ => return Err(Malformed::UnknownPseudoField),
        };
        match place.replace(span) {
            None => Ok(()),
            Some(_) => Err(Malformed::RepeatedPseudoField),
        }
    }

    fn take_field(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        rules::check_field(name, value)?;
        match name {
            b"content-length" => self.take_content_length(value)?,
            b"expect" => self.head.has_expectation = true,
            _ => {}
        }
        let Some(fields_left) = self.fields_left.checked_sub(1) else {
            self.is_too_large = true;
            return Ok(());
        };
        self.fields_left = fields_left;
        let spans = (self.head.push(name), self.head.push(value));
        self.head.fields.push(spans);
        Ok(())
    }

    fn take_content_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let length = rules::read_length(value).ok_or(Malformed::ContentLength)?;
        match self.head.content_length.replace(length) {
            Some(other) if other != length => Err(Malformed::ContentLength),
            _ => Ok(()),
        }
    }

    /// All fields are taken; `is_end`: the request has no body.
    pub(super) fn finish(self, is_end: bool) -> Built {
        if let Some(malformed) = self.malformed {
            return Built::Malformed(malformed);
        }
        if self.is_too_large {
            return Built::TooLarge;
        }
        match check(self.head, is_end) {
            Ok(()) => Built::Whole,
            Err(malformed) => Built::Malformed(malformed),
        }
    }
}

/// Checks what the fields must be together.
fn check(head: &RequestHead, is_end: bool) -> Result<(), Malformed> {
    let method = head
        .text(head.method)
        .ok_or(Malformed::MissingPseudoField)?;
    if !rules::is_method(method) {
        return Err(Malformed::Method);
    }
    if method == b"CONNECT" {
        // RFC 9113, section 8.5.
        let is_right = head.scheme.is_none() && head.path.is_none() && head.authority.is_some();
        if !is_right {
            return Err(Malformed::Connect);
        }
    } else {
        if head.scheme.is_none() {
            return Err(Malformed::MissingPseudoField);
        }
        let path = head.text(head.path).ok_or(Malformed::MissingPseudoField)?;
        if !rules::is_path(path, method) {
            return Err(Malformed::Path);
        }
    }
    if !rules::is_target(head.target()) {
        return Err(Malformed::Path);
    }
    if is_end && head.content_length.is_some_and(|length| length > 0) {
        return Err(Malformed::ContentLength);
    }
    check_host(head)
}

/// A `host` beside `:authority` must agree with it (RFC 9113, section 8.3.1).
fn check_host(head: &RequestHead) -> Result<(), Malformed> {
    let Some(authority) = head.authority() else {
        return Ok(());
    };
    for (name, value) in head.fields() {
        if name == b"host" && !value.eq_ignore_ascii_case(authority) {
            return Err(Malformed::Host);
        }
    }
    Ok(())
}

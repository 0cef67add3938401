//! Heads of answers: where one ends, and how its body is framed.
//!
//! Parsing is `httparse`'s. A server mostly repeats the same head, so the last one is cached with its meaning and compared before
//! anything is parsed.

pub(super) mod diagnosis;

use std::mem::MaybeUninit;

use super::ReadError;
use crate::decimal::decimal;
use diagnosis::{diagnose, line_of, quote};

/// Header lines for which there is room on the stack; a head with more takes an allocation.
const HEADERS_ON_STACK: usize = 128;

/// Limits on the size of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    pub head_max_bytes: usize,
    /// Most header lines.
    pub head_max_fields: usize,
    pub body_max_bytes: u64,
}

/// Reads heads for any number of connections.
#[derive(Debug)]
pub struct Heads {
    limits: ReadLimits,
    last_bytes: Vec<u8>,
    last: Head,
}

/// The meaning of a head, independent of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) keep_alive: bool,
    pub(crate) framing: Framing,
    /// Whether it has folded lines.
    is_folded: bool,
}

/// How the end of the body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

impl Heads {
    /// Nothing read yet.
    #[must_use]
    pub fn new(limits: ReadLimits) -> Self {
        let last = Head {
            status: 0,
            keep_alive: false,
            framing: Framing::UntilClose,
            is_folded: false,
        };
        Self {
            limits,
            last_bytes: Vec::with_capacity(limits.head_max_bytes),
            last,
        }
    }

    /// Copies the head that was read last to `kept`, each header on one line.
    #[inline]
    pub(crate) fn copy_last(&self, kept: &mut Vec<u8>) {
        kept.clear();
        kept.extend_from_slice(&self.last_bytes);
        if self.last.is_folded {
            unfold(kept);
        }
    }

    #[inline]
    pub(crate) fn limits(&self) -> ReadLimits {
        self.limits
    }

    /// Takes the next head that is not interim (1xx) from `partial` and `input`; `None` if it is incomplete; its beginning is
    /// then in `partial`.
    #[inline]
    pub(crate) fn read(
        &mut self,
        partial: &mut Vec<u8>,
        input: &mut &[u8],
    ) -> Result<Option<Head>, ReadError> {
        if partial.is_empty() && !self.last_bytes.is_empty() && input.starts_with(&self.last_bytes)
        {
            *input = &input[self.last_bytes.len()..];
            return Ok(Some(self.last));
        }
        self.parse_next(partial, input)
    }

    fn parse_next(
        &mut self,
        partial: &mut Vec<u8>,
        input: &mut &[u8],
    ) -> Result<Option<Head>, ReadError> {
        loop {
            if input.is_empty() {
                return Ok(None);
            }
            let held = partial.len();
            let room = self.limits.head_max_bytes - held;
            let fresh = &input[..room.min(input.len())];
            let bytes = if held == 0 {
                fresh
            } else {
                partial.extend_from_slice(fresh);
                partial.as_slice()
            };
            let Some((head, length)) = parse(bytes, self.limits.head_max_fields)? else {
                if bytes.len() == self.limits.head_max_bytes {
                    return Err(ReadError::HeadTooLong(self.limits.head_max_bytes));
                }
                if held == 0 {
                    partial.extend_from_slice(fresh);
                }
                *input = &[];
                return Ok(None);
            };
            let is_interim = (100..200).contains(&head.status) && head.status != 101;
            if !is_interim {
                self.last_bytes.clear();
                self.last_bytes.extend_from_slice(&bytes[..length]);
                self.last = head;
            }
            *input = &input[length - held..];
            partial.clear();
            if !is_interim {
                return Ok(Some(head));
            }
        }
    }
}

/// The head at the beginning of `bytes` and its length; `None` if it is incomplete.
fn parse(bytes: &[u8], max_fields: usize) -> Result<Option<(Head, usize)>, ReadError> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_ON_STACK];
    let room = max_fields.min(HEADERS_ON_STACK);
    match parse_with(bytes, &mut headers[..room]) {
        Err(Refusal::Parser(httparse::Error::TooManyHeaders)) if max_fields > room => {
            let mut headers = vec![MaybeUninit::uninit(); max_fields];
            parse_with(bytes, &mut headers)
        }
        // RFC 9110, section 2.5: a later minor version is read as the latest one that is known.
        Err(Refusal::Parser(httparse::Error::Version)) if is_later_minor_version(bytes) => {
            let mut known = bytes.to_vec();
            known[MINOR_VERSION] = b'1';
            return parse(&known, max_fields);
        }
        result => result,
    }
    .map_err(|refusal| match refusal {
        Refusal::Parser(httparse::Error::TooManyHeaders) => ReadError::TooManyFields(max_fields),
        Refusal::Parser(_) => ReadError::Head(Box::new(diagnose(bytes))),
        Refusal::Other(error) => error,
    })
}

/// Where a status line has its minor version.
const MINOR_VERSION: usize = b"HTTP/1.".len();

fn is_later_minor_version(bytes: &[u8]) -> bool {
    let digit = bytes.get(MINOR_VERSION);
    bytes.starts_with(b"HTTP/1.") && digit.is_some_and(|digit| (b'2'..=b'9').contains(digit))
}

/// Why bytes are no head.
enum Refusal {
    Parser(httparse::Error),
    Other(ReadError),
}

fn parse_with<'b>(
    bytes: &'b [u8],
    headers: &mut [MaybeUninit<httparse::Header<'b>>],
) -> Result<Option<(Head, usize)>, Refusal> {
    let mut response = httparse::Response::new(&mut []);
    let mut config = httparse::ParserConfig::default();
    // RFC 9112, section 5.2: a user agent reads folded lines.
    config.allow_obsolete_multiline_headers_in_responses(true);
    let result = config.parse_response_with_uninit_headers(&mut response, bytes, headers);
    let length = match result.map_err(Refusal::Parser)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let status = response.code.unwrap_or_default();
    let mut said = HeaderFields::default();
    for header in &*response.headers {
        said.take(header).map_err(|problem| {
            let line = line_of(bytes, header.name.as_bytes());
            Refusal::Other(ReadError::Head(Box::new((line, problem))))
        })?;
    }
    let keep_alive = !said.close && (response.version == Some(1) || said.keep_alive);
    Ok(Some((
        Head {
            status,
            keep_alive,
            framing: said.framing(),
            is_folded: has_fold(&bytes[..length]),
        },
        length,
    )))
}

/// Whether a line of a head goes on in the next one, also if the whole value is there.
fn has_fold(head: &[u8]) -> bool {
    let mut ends = memchr::memchr_iter(b'\n', head);
    ends.any(|end| matches!(head.get(end + 1), Some(b' ' | b'\t')))
}

/// Replaces the line ends before folded lines by spaces (RFC 9112, section 5.2).
#[cold]
fn unfold(head: &mut [u8]) {
    for index in 1..head.len().saturating_sub(1) {
        if head[index] == b'\n' && matches!(head[index + 1], b' ' | b'\t') {
            head[index] = b' ';
            if head[index - 1] == b'\r' {
                head[index - 1] = b' ';
            }
        }
    }
}

/// The meaning of the header lines so far.
#[derive(Default)]
struct HeaderFields {
    close: bool,
    keep_alive: bool,
    length: Option<u64>,
    /// The last transfer coding; only `chunked` shows where a body ends.
    coding: Option<Coding>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Chunked,
    Other,
}

impl HeaderFields {
    /// Takes one header; an error says what is wrong with it.
    fn take(&mut self, header: &httparse::Header<'_>) -> Result<(), String> {
        if header.name.eq_ignore_ascii_case("content-length") {
            for part in parts(header.value) {
                let length = decimal(part)
                    .ok_or_else(|| format!("Content-Length {} is not a number", quote(part)))?;
                if let Some(other) = self.length.filter(|other| *other != length) {
                    return Err(format!("a second Content-Length, {length} after {other}"));
                }
                self.length = Some(length);
            }
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if let Some(last) = parts(header.value).last() {
                let chunked = last.eq_ignore_ascii_case(b"chunked");
                self.coding = Some(if chunked {
                    Coding::Chunked
                } else {
                    Coding::Other
                });
            }
        } else if header.name.eq_ignore_ascii_case("connection") {
            for part in parts(header.value) {
                self.close |= part.eq_ignore_ascii_case(b"close");
                self.keep_alive |= part.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        Ok(())
    }

    /// RFC 9112, section 6.3: a transfer coding overrides a length; without either, the body ends with the connection.
    fn framing(&self) -> Framing {
        match (self.coding, self.length) {
            (Some(Coding::Chunked), _) => Framing::Chunked,
            (Some(Coding::Other), _) | (None, None) => Framing::UntilClose,
            (None, Some(length)) => Framing::Length(length),
        }
    }
}

fn parts(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

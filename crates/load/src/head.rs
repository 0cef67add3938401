//! Heads of answers: where one ends, and how its body is framed.
//!
//! Parsing is `httparse`'s. A server mostly repeats the same head, so the last one is cached with its meaning and compared before
//! anything is parsed.

use std::mem::MaybeUninit;

use crate::reader::ReadError;

/// Most header lines of one answer.
const HEADERS_MAX: usize = 128;

/// Limits on the size of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    pub head_max_bytes: usize,
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
        };
        Self {
            limits,
            last_bytes: Vec::with_capacity(limits.head_max_bytes),
            last,
        }
    }

    /// The bytes of the head that was read last.
    #[inline]
    pub(crate) fn last_bytes(&self) -> &[u8] {
        &self.last_bytes
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
            let Some((head, length)) = parse(bytes)? else {
                if bytes.len() == self.limits.head_max_bytes {
                    return Err(ReadError::HeadTooLong);
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
fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, ReadError> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let length = match httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut headers,
    ) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(ReadError::HeadTooLong),
        Err(_) => return Err(ReadError::NotHttp),
    };
    let status = response.code.ok_or(ReadError::NotHttp)?;
    let mut said = HeaderFields::default();
    for header in &*response.headers {
        said.take(header)?;
    }
    let keep_alive = !said.close && (response.version == Some(1) || said.keep_alive);
    Ok(Some((
        Head {
            status,
            keep_alive,
            framing: said.framing(),
        },
        length,
    )))
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
    fn take(&mut self, header: &httparse::Header<'_>) -> Result<(), ReadError> {
        if header.name.eq_ignore_ascii_case("content-length") {
            for part in parts(header.value) {
                let length = decimal(part).ok_or(ReadError::BadLength)?;
                if self.length.is_some_and(|other| other != length) {
                    return Err(ReadError::BadLength);
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

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

//! The head of a request: its end, its fields, the framing of its body.

use std::mem::MaybeUninit;

use super::{
    authority::is_authority,
    reader::{Refusal, refuse},
};

/// Most header fields of a request.
pub const SLOTS: usize = 64;

/// Room for the header fields; `[const { MaybeUninit::uninit() }; SLOTS]`.
pub type Slots<'a> = [MaybeUninit<httparse::Header<'a>>; SLOTS];

/// Empty lines before a request that are skipped (RFC 9112, section 2.2).
const EMPTY_LINES_MAX: usize = 2;

/// The parts of a head that the gateway needs.
#[derive(Debug)]
pub struct Head<'a, 'slots> {
    pub method: &'a str,
    /// As sent: path and query.
    pub target: &'a str,
    pub headers: &'slots [httparse::Header<'a>],
    pub content_type: Option<&'a [u8]>,
    pub content_encoding: Option<&'a [u8]>,
    /// What says who sends the request, and from where.
    pub sender: Sender<'a>,
    /// Whether the connection may serve another request after this one.
    pub persistence: Persistence,
    pub expects_continue: bool,
}

/// The fields that say who sends a request, and from where.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sender<'a> {
    pub host: Option<&'a [u8]>,
    pub authorization: Option<&'a [u8]>,
    /// The origin of the web page whose script sends it.
    pub origin: Option<&'a [u8]>,
    /// How far the page and the target of a browser's request belong together (W3C, Fetch Metadata).
    pub fetch_site: Option<&'a [u8]>,
}

/// Whether a connection stays open after a request and its answer (RFC 9112, section 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// It stays, which a client of HTTP/1.1 expects.
    Implied,
    /// It stays, which a client of HTTP/1.0 asked for and learns from the answer alone.
    Announced,
    /// It is closed.
    Closed,
}

/// Framing of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(usize),
    Chunked,
}

/// Progress of the search for the end of the head.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Start of the request line.
    pub(super) start: usize,
    line_start: usize,
    scanned: usize,
    empty_lines: usize,
}

impl Scan {
    /// Start of the body, once the empty line has arrived. Scans every byte once, however slowly they arrive.
    pub(super) fn head_end(&mut self, input: &[u8], max: usize) -> Result<Option<usize>, Refusal> {
        loop {
            // The limit counts from the request line, after the empty lines.
            let window = &input[..input.len().min(self.start + max)];
            let Some(distance) = memchr::memchr(b'\n', &window[self.scanned..]) else {
                self.scanned = window.len();
                break;
            };
            let position = self.scanned + distance;
            if position == self.line_start || window[position - 1] != b'\r' {
                return Err(refuse(400, "a line of the head ends without CR"));
            }
            let empty = position - self.line_start == 1;
            self.scanned = position + 1;
            self.line_start = position + 1;
            if !empty {
                continue;
            }
            if position > self.start + 1 {
                return Ok(Some(position + 1));
            }
            self.start = position + 1;
            self.empty_lines += 1;
            if self.empty_lines > EMPTY_LINES_MAX {
                return Err(refuse(400, "empty lines where a request should start"));
            }
        }
        if input.len() >= self.start + max {
            return Err(refuse(431, "the head is larger than this gateway allows"));
        }
        Ok(None)
    }
}

/// Parses a complete head.
#[inline(always)]
pub(super) fn read<'a, 'slots>(
    bytes: &'a [u8],
    slots: &'slots mut Slots<'a>,
) -> Result<(Head<'a, 'slots>, Framing), Refusal> {
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, slots) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return Err(refuse(400, "the head ends in the middle")),
        Err(httparse::Error::TooManyHeaders) => return Err(refuse(431, "too many header fields")),
        Err(httparse::Error::Version) => {
            return Err(refuse(505, "only HTTP/1.1 and HTTP/1.0 are served"));
        }
        Err(_) => return Err(refuse(400, "the head is not that of an HTTP/1.1 request")),
    }
    let (Some(method), Some(target), Some(version)) =
        (request.method, request.path, request.version)
    else {
        return Err(refuse(400, "the head has no request line"));
    };
    if !target.starts_with('/') {
        check_absolute_form(target)?;
    }
    let mut facts = Facts::default();
    let headers: &'slots [httparse::Header<'a>] = request.headers;
    for header in headers {
        facts.note(header)?;
    }
    let framing = facts.framing(version)?;
    facts.check(method, version)?;
    let head = Head {
        method,
        target,
        headers,
        content_type: facts.content_type,
        content_encoding: facts.content_encoding,
        sender: facts.sender,
        persistence: facts.persistence(version),
        expects_continue: facts.expects_continue && version == 1,
    };
    Ok((head, framing))
}

/// What a request of HTTP/2 has in place of a request line.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    pub authority: Option<&'a [u8]>,
}

impl<'a, 'slots> Head<'a, 'slots> {
    /// The head of a request of HTTP/2, whose framing and syntax were checked (RFC 9113, section 8), by the rules of all others.
    ///
    /// # Errors
    /// If HTTP/1.1 would refuse these fields.
    pub fn from_fields(
        line: Line<'a>,
        headers: &'slots [httparse::Header<'a>],
    ) -> Result<Self, Refusal> {
        let mut facts = Facts::default();
        if let Some(authority) = line.authority {
            facts.host(authority)?;
        }
        for header in headers {
            // One beside the authority agrees with it.
            if line.authority.is_none() || header.name != "host" {
                facts.note(header)?;
            }
        }
        facts.check(line.method, 2)?;
        Ok(Self {
            method: line.method,
            target: line.target,
            headers,
            content_type: facts.content_type,
            content_encoding: facts.content_encoding,
            sender: facts.sender,
            persistence: Persistence::Implied,
            expects_continue: facts.expects_continue,
        })
    }
}

/// Refuses a target in absolute form that does not name a host (RFC 9110, section 4.2.1).
fn check_absolute_form(target: &str) -> Result<(), Refusal> {
    let Some((_, rest)) = target.split_once("://") else {
        return Ok(());
    };
    let rest = rest.as_bytes();
    let end = memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len());
    if !is_authority(&rest[..end]) {
        return Err(refuse(
            400,
            "the target is not a path and does not name a host with an optional port",
        ));
    }
    Ok(())
}

/// The header fields, collected in one pass.
#[derive(Default)]
struct Facts<'a> {
    sender: Sender<'a>,
    length: Option<usize>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
    has_range: bool,
    content_type: Option<&'a [u8]>,
    content_encoding: Option<&'a [u8]>,
}

impl<'a> Facts<'a> {
    /// The length of the name distinguishes most fields, so few names are compared.
    fn note(&mut self, header: &httparse::Header<'a>) -> Result<(), Refusal> {
        let (name, value) = (header.name, header.value);
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => self.host(value)?,
            6 if name.eq_ignore_ascii_case("expect") => self.expect(value)?,
            10 if name.eq_ignore_ascii_case("connection") => self.connection(value),
            12 if name.eq_ignore_ascii_case("content-type") => self.content_type(value)?,
            6 if name.eq_ignore_ascii_case("origin") => self.sender.origin = Some(value),
            13 if name.eq_ignore_ascii_case("content-range") => self.has_range = true,
            13 if name.eq_ignore_ascii_case("authorization") => self.authorization(value)?,
            14 if name.eq_ignore_ascii_case("sec-fetch-site") => {
                self.sender.fetch_site = Some(value);
            }
            14 if name.eq_ignore_ascii_case("content-length") => self.content_length(value)?,
            16 if name.eq_ignore_ascii_case("content-encoding") => self.content_encoding(value)?,
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                self.transfer_encoding(value)?
            }
            _ => {}
        }
        Ok(())
    }

    /// An empty one says that the target's URI has no host (RFC 9112, section 3.2).
    fn host(&mut self, value: &'a [u8]) -> Result<(), Refusal> {
        if self.sender.host.is_some() {
            return Err(refuse(400, "more than one Host"));
        }
        if !value.is_empty() && !is_authority(value) {
            return Err(refuse(400, "the Host is not a host with an optional port"));
        }
        self.sender.host = Some(value);
        Ok(())
    }

    fn authorization(&mut self, value: &'a [u8]) -> Result<(), Refusal> {
        if self.sender.authorization.replace(value).is_some() {
            return Err(refuse(400, "more than one Authorization"));
        }
        Ok(())
    }

    fn content_type(&mut self, value: &'a [u8]) -> Result<(), Refusal> {
        if self.content_type.replace(value).is_some() {
            return Err(refuse(400, "more than one Content-Type"));
        }
        Ok(())
    }

    fn content_encoding(&mut self, value: &'a [u8]) -> Result<(), Refusal> {
        if self.content_encoding.replace(value).is_some() {
            return Err(refuse(415, "more than one Content-Encoding"));
        }
        Ok(())
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.length.is_some() {
            return Err(refuse(400, "more than one Content-Length"));
        }
        if value.is_empty() || value.len() > 15 || !value.iter().all(u8::is_ascii_digit) {
            return Err(refuse(400, "the Content-Length is not a number"));
        }
        let length = value
            .iter()
            .fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
        self.length = Some(length);
        Ok(())
    }

    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.chunked {
            return Err(refuse(400, "more than one Transfer-Encoding"));
        }
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(refuse(501, "the only transfer coding served is chunked"));
        }
        self.chunked = true;
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|byte| *byte == b',') {
            let option = option.trim_ascii();
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn expect(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(refuse(417, "the only expectation served is 100-continue"));
        }
        self.expects_continue = true;
        Ok(())
    }

    /// Checks what the fields must be together; `version` is the minor one of HTTP/1, or 2.
    fn check(&self, method: &str, version: u8) -> Result<(), Refusal> {
        // It would be part of a resource, taken for all of it (RFC 9110, section 14.5).
        if self.has_range && method == "PUT" {
            return Err(refuse(400, "a PUT with Content-Range is not served"));
        }
        if version >= 1 && self.sender.host.is_none() {
            return Err(refuse(400, "the request has no Host"));
        }
        Ok(())
    }

    fn persistence(&self, version: u8) -> Persistence {
        match version {
            _ if self.close => Persistence::Closed,
            1 => Persistence::Implied,
            _ if self.keep_alive => Persistence::Announced,
            _ => Persistence::Closed,
        }
    }

    fn framing(&self, version: u8) -> Result<Framing, Refusal> {
        match (self.chunked, self.length) {
            (true, Some(_)) => Err(refuse(400, "both Content-Length and Transfer-Encoding")),
            (true, None) if version == 0 => Err(refuse(400, "HTTP/1.0 has no Transfer-Encoding")),
            (true, None) => Ok(Framing::Chunked),
            (false, length) => Ok(Framing::Length(length.unwrap_or(0))),
        }
    }
}

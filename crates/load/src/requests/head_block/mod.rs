//! Heads of requests as header blocks of HTTP/2. Pure.
//!
//! Requests are made in the form of HTTP/1.1 for every protocol, so that stamps, scenarios and bodies need one form only.

use waggle_wire::http2::{
    fields::{is_of_connection, is_valid_name},
    hpack::{Encoder, Indexing, put_plain_indexed},
};

/// Lines whose code is kept, by their hash: a power of two.
const KEPT_LINES: usize = 32;
/// Entries of the static table (RFC 7541, appendix A).
const METHOD_INDEX: usize = 2;
const PATH_INDEX: usize = 4;
/// Values of one name that go into the server's table; a field with more has another one in each request.
const VALUES_OF_NAME_MAX: u32 = 4;

/// Why a request cannot be sent over HTTP/2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("its head is not HTTP/1.1: {0}")]
    NotHttp(httparse::Error),
    #[error("its head does not end")]
    NoEnd,
    #[error("it has no Host")]
    NoHost,
    #[error("its {0} is not valid in HTTP")]
    BadPart(&'static str),
    #[error("its body is chunked, which HTTP/2 does not support; give it a Content-Length")]
    Chunked,
}

/// Most header lines of one request that is checked.
const HEADERS_MAX: usize = 128;

/// Checks that a request can be sent over HTTP/2.
pub(crate) fn check(bytes: &[u8]) -> Result<(), RequestError> {
    let mut lines = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut lines);
    match head.parse(bytes).map_err(RequestError::NotHttp)? {
        httparse::Status::Complete(_) => {}
        httparse::Status::Partial => return Err(RequestError::NoEnd),
    }
    let mut lines = head.headers.iter();
    let host = lines.find(|line| line.name.eq_ignore_ascii_case("host"));
    let host = host.ok_or(RequestError::NoHost)?.value;
    let is_authority = |byte: &u8| byte.is_ascii_graphic() && !b"/?#@\\".contains(byte);
    if host.is_empty() || !host.iter().all(is_authority) {
        return Err(RequestError::BadPart("host"));
    }
    let path = head.path.unwrap_or_default();
    if !(path.starts_with('/') || path == "*") {
        return Err(RequestError::BadPart("path"));
    }
    let is_coding =
        |line: &httparse::Header<'_>| line.name.eq_ignore_ascii_case("transfer-encoding");
    match head.headers.iter().any(is_coding) {
        true => Err(RequestError::Chunked),
        false => Ok(()),
    }
}

/// The parts of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestParts<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
    /// The header lines, each with its end.
    lines: &'a [u8],
    pub(crate) body: &'a [u8],
}

/// The lengths by which the parts of a request are found without a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    pub(crate) method: usize,
    pub(crate) target: usize,
    /// Of the whole head.
    pub(crate) head: usize,
}

/// Ends a request line.
pub(crate) const VERSION: &[u8] = b" HTTP/1.1\r\n";

impl<'a> RequestParts<'a> {
    /// The parts of a request of these lengths, whose first line ends with [`VERSION`].
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], lengths: Lengths) -> Self {
        let target_at = lengths.method + 1;
        let target_end = target_at + lengths.target;
        let (head, body) = bytes.split_at(lengths.head);
        Self {
            method: &head[..lengths.method],
            target: &head[target_at..target_end],
            lines: &head[target_end + VERSION.len()..lengths.head - EMPTY_LINE.len()],
            body,
        }
    }

    /// The parts of a request that was checked.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, RequestError> {
        let first = memchr::memchr(b'\n', bytes).ok_or(RequestError::NoEnd)?;
        let end = end_of_lines(bytes, first + 1).ok_or(RequestError::NoEnd)?;
        let method_end = memchr::memchr(b' ', bytes).filter(|&place| place < first);
        let method_end = method_end.ok_or(RequestError::BadPart("method"))?;
        let target_end = memchr::memrchr(b' ', &bytes[..first]);
        let target_end = target_end.filter(|&place| place > method_end);
        let target_end = target_end.ok_or(RequestError::BadPart("path"))?;
        Ok(Self {
            method: &bytes[..method_end],
            target: &bytes[method_end + 1..target_end],
            lines: &bytes[first + 1..end],
            body: &bytes[end + EMPTY_LINE.len()..],
        })
    }

    /// The header lines, each with its end.
    #[inline]
    pub(crate) fn each_line(self) -> impl Iterator<Item = &'a [u8]> {
        Lines(self.lines)
    }

    /// The line that names the host.
    #[inline]
    pub(crate) fn host_line(self) -> Result<&'a [u8], RequestError> {
        let mut lines = self.each_line();
        lines.find(|line| is_host(line)).ok_or(RequestError::NoHost)
    }
}

/// Ends a head.
const EMPTY_LINE: &[u8] = b"\r\n";

/// Where the lines of a head end that begin at `start`: at the empty line. Most heads have few, so a search for the end alone, which has to be
/// prepared, costs more than the ends of all lines.
#[inline]
fn end_of_lines(bytes: &[u8], start: usize) -> Option<usize> {
    let mut end = start;
    while !(bytes[end..].starts_with(EMPTY_LINE) && bytes[..end].ends_with(EMPTY_LINE)) {
        end += memchr::memchr(b'\n', &bytes[end..])? + 1;
    }
    Some(end)
}

/// Lines, each with its end.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(b'\n', self.0)?;
        let (line, rest) = self.0.split_at(end + 1);
        self.0 = rest;
        Some(line)
    }
}

#[inline]
fn is_host(line: &[u8]) -> bool {
    line.len() > 5 && line[4] == b':' && line[..4].eq_ignore_ascii_case(b"host")
}

/// The name and the value of a header line.
pub(crate) fn name_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    Some((&line[..colon], line[colon + 1..].trim_ascii()))
}

/// The name of a field in HTTP/2; `None` if the line has none there: what concerns the connection of HTTP/1.1 alone (RFC 9113, section
/// 8.2.2), and the host, which is a pseudo field.
pub(crate) fn field_name(name: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let name = name.trim_ascii().to_ascii_lowercase();
    let is_left_out = is_of_connection(&name)
        || matches!(&name[..], b"host" | b"http2-settings")
        || name == b"te" && !value.eq_ignore_ascii_case(b"trailers")
        || !is_valid_name(&name);
    (!is_left_out).then_some(name)
}

/// Appends the method, the scheme and the target.
#[inline]
pub(crate) fn put_request_line(parts: RequestParts<'_>, is_tls: bool, block: &mut Vec<u8>) {
    match parts.method {
        b"GET" => block.push(0x82),
        b"POST" => block.push(0x83),
        method => put_plain_indexed(block, METHOD_INDEX, method),
    }
    block.push(if is_tls { 0x87 } else { 0x86 });
    match parts.target {
        b"/" => block.push(0x84),
        target => put_plain_indexed(block, PATH_INDEX, target),
    }
}

/// Which lines go into the table of the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Indexed<'a> {
    /// These.
    Lines(&'a [Vec<u8>]),
    /// Those whose name has few values.
    Few,
}

/// The code of lines that repeat, for one connection.
#[derive(Debug)]
pub(crate) struct HeadTranslator {
    is_tls: bool,
    kept: Vec<KeptLine>,
    /// The state of the encoder in which their code is right.
    changes: u64,
    /// How many values of a name were added to the table.
    values: Vec<(Vec<u8>, u32)>,
}

#[derive(Debug, Default, Clone)]
struct KeptLine {
    line: Vec<u8>,
    code: Vec<u8>,
}

impl HeadTranslator {
    pub(crate) fn new(is_tls: bool) -> Self {
        Self {
            is_tls,
            kept: Vec::new(),
            changes: 0,
            values: Vec::new(),
        }
    }

    /// Appends the header block of a request.
    ///
    /// # Errors
    /// If it has no host; then nothing is appended.
    pub(crate) fn translate(
        &mut self,
        encoder: &mut Encoder,
        parts: RequestParts<'_>,
        indexed: Indexed<'_>,
        block: &mut Vec<u8>,
    ) -> Result<(), RequestError> {
        let host = parts.host_line()?;
        encoder.begin(block);
        put_request_line(parts, self.is_tls, block);
        self.line(encoder, host, indexed, block);
        for line in parts.each_line() {
            // It is compared by its place: a second host is left out as such.
            if !std::ptr::eq(line, host) {
                self.line(encoder, line, indexed, block);
            }
        }
        Ok(())
    }

    /// Appends the code of a line.
    #[inline]
    fn line(
        &mut self,
        encoder: &mut Encoder,
        line: &[u8],
        indexed: Indexed<'_>,
        block: &mut Vec<u8>,
    ) {
        if self.changes == encoder.changes()
            && let Some(kept) = self.kept.get(place(line))
            && kept.line == line
        {
            return block.extend_from_slice(&kept.code);
        }
        self.encode(encoder, line, indexed, block);
    }

    fn encode(
        &mut self,
        encoder: &mut Encoder,
        line: &[u8],
        indexed: Indexed<'_>,
        block: &mut Vec<u8>,
    ) {
        if self.kept.is_empty() {
            self.kept.resize(KEPT_LINES, KeptLine::default());
        }
        let start = block.len();
        if let Some((name, value)) = name_and_value(line) {
            if is_host(line) {
                let indexing = self.indexing(b":authority", line, indexed);
                encoder.put(block, b":authority", value, indexing);
            } else if let Some(name) = field_name(name, value) {
                let indexing = self.indexing(&name, line, indexed);
                match indexing {
                    Indexing::Added => encoder.put(block, &name, value, indexing),
                    // Its value is not coded: that would cost more than the bytes that it saves.
                    Indexing::Without => {
                        encoder.put_plain(block, &name, value);
                    }
                }
            }
        }
        if self.changes != encoder.changes() {
            // What was added has another code the next time, and moved all others.
            self.changes = encoder.changes();
            for kept in &mut self.kept {
                kept.line.clear();
            }
            return;
        }
        let kept = &mut self.kept[place(line)];
        kept.line.clear();
        kept.line.extend_from_slice(line);
        kept.code.clear();
        kept.code.extend_from_slice(&block[start..]);
    }

    fn indexing(&mut self, name: &[u8], line: &[u8], indexed: Indexed<'_>) -> Indexing {
        match indexed {
            Indexed::Lines(lines) if lines.iter().any(|other| other == line) => Indexing::Added,
            Indexed::Lines(_) => Indexing::Without,
            Indexed::Few if name == b"content-length" => Indexing::Without,
            Indexed::Few => {
                let known = self.values.iter_mut().find(|(other, _)| other == name);
                let count = match known {
                    Some((_, count)) => count,
                    None => {
                        self.values.push((name.to_vec(), 0));
                        let last = self.values.len() - 1;
                        &mut self.values[last].1
                    }
                };
                *count += u32::from(*count < VALUES_OF_NAME_MAX + 1);
                match *count > VALUES_OF_NAME_MAX {
                    true => Indexing::Without,
                    false => Indexing::Added,
                }
            }
        }
    }
}

/// Where the code of a line is kept: by its length, and its first and last bytes, in which the lines of a load differ.
#[inline]
fn place(line: &[u8]) -> usize {
    let first = line.first_chunk().copied().map_or(0, u64::from_le_bytes);
    let last = line.last_chunk().copied().map_or(0, u64::from_le_bytes);
    let mixed = first ^ last.rotate_left(29) ^ line.len() as u64;
    // Fibonacci hashing: the highest bits depend on all others.
    let hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (u64::BITS - KEPT_LINES.ilog2())) as usize
}

#[cfg(test)]
mod tests;

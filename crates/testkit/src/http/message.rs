//! Requests and answers as bytes. Heads are read by `httparse`.

/// No head in a test has more fields.
const FIELDS_MAX: usize = 64;

/// A request as the server saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Counted from 0, over all connections.
    pub number: u64,
    /// Connections are counted from 0.
    pub connection: u64,
    /// Counted from 0, on its connection.
    pub on_connection: u64,
    pub method: String,
    /// With its query.
    pub path: String,
    /// All lines before the body, the empty one included.
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header field, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body in UTF-8")
    }
}

/// A complete answer: a status, lines of header fields that each end in `\r `, a body.
pub fn answer(status: u16, fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// An answer with status 200.
pub fn ok(body: &str) -> Vec<u8> {
    answer(200, "", body)
}

/// The text between `start` and the first of `ends`; empty if `start` does not occur.
pub fn text_between<'a>(text: &'a str, start: &str, ends: &[char]) -> &'a str {
    text.split_once(start)
        .and_then(|(_, rest)| rest.split(ends).next())
        .unwrap_or_default()
}

/// The value of a field of a head, by its name in any case.
pub fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Removes the request at the beginning of `bytes`, if it is complete. Its numbers are 0.
pub(super) fn take_request(bytes: &mut Vec<u8>) -> Result<Option<Request>, httparse::Error> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut parsed = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(head) = parsed.parse(bytes)? else {
        return Ok(None);
    };
    let mut request = Request {
        method: parsed.method.expect("a method").to_owned(),
        path: parsed.path.expect("a path").to_owned(),
        head: String::from_utf8(bytes[..head].to_vec()).expect("a head in UTF-8"),
        ..Request::default()
    };
    let length = request
        .header("content-length")
        .map_or(0, |length| length.parse().expect("a length"));
    let Some(body) = bytes.get(head..head + length) else {
        return Ok(None);
    };
    request.body = body.to_vec();
    bytes.drain(..head + length);
    Ok(Some(request))
}

//! A client that keeps its connection and sends exactly the bytes it is given.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use super::message::field;

/// No answer on loopback takes this long.
const ANSWER_WITHIN: Duration = Duration::from_secs(180);
/// No head in a test has more fields.
const FIELDS_MAX: usize = 64;

/// A connection over a socket, or over what encrypts it.
#[derive(Debug)]
pub struct Connection<S = TcpStream> {
    stream: S,
    received: Vec<u8>,
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The value of a header field, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }
}

/// The request that puts a body into a topic of the gateway.
pub fn put(topic: &str, body: &str) -> String {
    format!(
        "PUT /api/v1/topics/{topic}/records HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The answer to a GET on its own connection.
///
/// # Errors
/// If the connection is refused, or the answer does not arrive completely.
pub fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    Connection::ask(address, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"))
}

impl Connection<TcpStream> {
    /// # Errors
    /// If the connection is refused.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_write_timeout(Some(ANSWER_WITHIN))?;
        stream.set_nodelay(true)?;
        Ok(Self::with_stream(stream))
    }

    /// The answer to one request, on its own connection.
    ///
    /// # Errors
    /// If the connection is refused, or the answer does not arrive completely.
    pub fn ask(address: SocketAddr, request: &str) -> io::Result<Answer> {
        let mut connection = Self::open(address)?;
        connection.send(request)?;
        connection.answer()
    }

    /// The socket itself, for tests of how connections end.
    pub fn socket(&mut self) -> &mut TcpStream {
        &mut self.stream
    }
}

impl<S: Read + Write> Connection<S> {
    /// A connection over an open stream.
    pub fn with_stream(stream: S) -> Self {
        Self {
            stream,
            received: Vec::new(),
        }
    }

    /// The stream itself.
    pub fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// # Errors
    /// If the connection has ended.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// The next answer.
    ///
    /// # Errors
    /// If the connection ends before it is complete, or on timeout.
    pub fn answer(&mut self) -> io::Result<Answer> {
        self.answer_or_end()?
            .ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    /// The next answer; `None` if the connection is closed or reset before it is complete.
    ///
    /// # Errors
    /// On timeout.
    pub fn answer_or_end(&mut self) -> io::Result<Option<Answer>> {
        let mut block = [0; 64 * 1024];
        loop {
            if let Some(answer) = self.take(More::MayCome) {
                return Ok(Some(answer));
            }
            match self.stream.read(&mut block) {
                Ok(0) => return Ok(self.take(More::Never)),
                Ok(count) => self.received.extend_from_slice(&block[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
                // A socket with a timeout reports a signal; others restart the call (signal(7)).
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, more: More) -> Option<Answer> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut parsed = httparse::Response::new(&mut fields);
        let httparse::Status::Complete(end) = parsed.parse(&self.received).expect("an answer")
        else {
            return None;
        };
        let status = parsed.code.expect("a status");
        let is_http_1_0 = parsed.version == Some(0);
        let head = String::from_utf8_lossy(&self.received[..end]).into_owned();
        let whole = match field(&head, "content-length") {
            Some(length) => end + length.parse::<usize>().expect("a length"),
            None if is_http_1_0 && more == More::MayCome => return None,
            None if is_http_1_0 => self.received.len(),
            None => end,
        };
        let body = String::from_utf8_lossy(self.received.get(end..whole)?).into_owned();
        self.received.drain(..whole);
        Some(Answer { status, head, body })
    }
}

/// Whether the connection is still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    MayCome,
    Never,
}

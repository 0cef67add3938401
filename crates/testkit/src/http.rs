//! A client that keeps its connection and says exactly the bytes it is told: no more than tests need.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// No answer on loopback takes this long.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// An answer that came whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// The request that puts a body into a topic.
pub fn put(topic: &str, body: &str) -> String {
    format!(
        "PUT /api/v1/topics/{topic}/records HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

impl Connection {
    /// # Errors
    /// Where nobody listens.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_write_timeout(Some(ANSWER_WITHIN))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: Vec::new(),
        })
    }

    /// The answer to one request, on a connection of its own.
    ///
    /// # Errors
    /// Where nobody listens, or the answer does not come whole.
    pub fn ask(address: SocketAddr, request: &str) -> io::Result<Answer> {
        let mut connection = Self::open(address)?;
        connection.send(request)?;
        connection.answer()
    }

    /// # Errors
    /// Where the connection has ended.
    pub fn send(&mut self, requests: &str) -> io::Result<()> {
        self.stream.write_all(requests.as_bytes())
    }

    /// The next answer.
    ///
    /// # Errors
    /// Where the connection ends before it is whole, or it does not come in time.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let mut block = [0; 64 * 1024];
        loop {
            if let Some(answer) = self.take() {
                return Ok(answer);
            }
            match self.stream.read(&mut block) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend_from_slice(&block[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self) -> Option<Answer> {
        let end = self
            .received
            .windows(4)
            .position(|window| window == b"\r\n\r\n")?
            + 4;
        let head = String::from_utf8_lossy(&self.received[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_it = name.eq_ignore_ascii_case("content-length");
            is_it.then(|| value.trim().parse().expect("a length"))
        });
        let whole = end + length.unwrap_or(0);
        let body = self.received.get(end..whole)?;
        let body = String::from_utf8_lossy(body).into_owned();
        self.received.drain(..whole);
        Some(Answer {
            status: status.expect("a status"),
            head,
            body,
        })
    }
}

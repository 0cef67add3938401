//! A server that does next to nothing: the same answer to every request, as fast as one thread can.
//!
//! The engine is calibrated against it, and `bench/engine` measures load generators with it. It understands just enough of HTTP
//! to count requests in a pipeline: heads end with an empty line, bodies have a Content-Length.
//!
//! It can also stall at intervals, as servers do: the reported latencies show whether a load generator measures stalls correctly.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, EventData, EventFlags},
    fd::OwnedFd,
    io::Errno,
    net::{RecvFlags, SendFlags},
};

use crate::machine::clock::timespec;

const EVENTS_MAX: usize = 1_024;
const INPUT_BYTES: usize = 64 * 1024;
/// How often it checks whether it should stop.
const TICK_NS: u64 = 10_000_000;
const LISTENER: u64 = u64::MAX;
/// Longest request head; a connection that sends a longer one is closed.
const HEAD_MAX_BYTES: usize = 16 * 1024;
/// Most answer bytes that a client has not read; a connection with more is closed.
const UNSENT_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Backlog of the listener while the server stalls; the kernel has its own limit (`net.core.somaxconn`).
const WAITING_MAX: i32 = 16_384;

/// The server answers and accepts nothing for a while: first `after` its first request, then once per `every`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    pub after: Duration,
    pub length: Duration,
    pub every: Duration,
}

/// A null server that runs until it is dropped.
#[derive(Debug)]
pub struct NullServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl NullServer {
    /// Starts one on `address` (port 0: any free one) that answers each request with `answer`, a complete HTTP/1.1 answer.
    ///
    /// # Errors
    /// If the address cannot be bound, or the thread cannot be started.
    pub fn start(address: SocketAddr, answer: &[u8]) -> std::io::Result<Self> {
        Self::launch(address, answer, None)
    }

    /// The same with stalls.
    ///
    /// # Errors
    /// As [`NullServer::start`].
    pub fn with_stalls(address: SocketAddr, answer: &[u8], stall: Stall) -> std::io::Result<Self> {
        Self::launch(address, answer, Some(stall))
    }

    fn launch(address: SocketAddr, answer: &[u8], stall: Option<Stall>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        // A load generator that opens connections while the server stalls must wait for the stall, not for a lost SYN.
        rustix::net::listen(&listener, WAITING_MAX)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut server = Server::new(listener, answer.to_vec(), Arc::clone(&stop))?;
        server.stall = stall;
        let thread = std::thread::Builder::new()
            .name("null-server".to_owned())
            .spawn(move || server.run())?;
        Ok(Self {
            address,
            stop,
            thread: Some(thread),
        })
    }

    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it; returns the number of answered requests.
    #[must_use]
    pub fn stop(mut self) -> u64 {
        self.end()
    }

    /// Runs until the process ends.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // It ends only by a panic, which is printed already.
            let _ = thread.join();
        }
    }

    fn end(&mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .take()
            .map_or(0, |thread| thread.join().unwrap_or(0))
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.end();
    }
}

struct Server {
    listener: TcpListener,
    epoll: OwnedFd,
    answer: Vec<u8>,
    /// Many copies of the answer, so that a pipeline is answered in one call.
    answers: Vec<u8>,
    clients: Vec<Option<Client>>,
    input: Box<[u8]>,
    answered: u64,
    stop: Arc<AtomicBool>,
    stall: Option<Stall>,
    next_stall: Option<Instant>,
}

struct Client {
    socket: OwnedFd,
    requests: Requests,
    unsent: Vec<u8>,
}

/// Counts requests in a stream of bytes.
#[derive(Debug, Default)]
struct Requests {
    /// The beginning of an incomplete head.
    partial: Vec<u8>,
    /// Bytes of a body that are still to come.
    body_left: u64,
}

impl Server {
    fn new(listener: TcpListener, answer: Vec<u8>, stop: Arc<AtomicBool>) -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &listener,
            EventData::new_u64(LISTENER),
            EventFlags::IN,
        )?;
        Ok(Self {
            listener,
            epoll,
            answers: answer.clone(),
            answer,
            clients: Vec::new(),
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            answered: 0,
            stop,
            stall: None,
            next_stall: None,
        })
    }

    fn run(&mut self) -> u64 {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        while !self.stop.load(Ordering::Relaxed) {
            events.clear();
            let _ = epoll::wait(
                &self.epoll,
                spare_capacity(&mut events),
                Some(&timespec(TICK_NS)),
            );
            if let Some(stall) = self.stall {
                self.stall(stall);
            }
            for event in &events {
                match usize::try_from(event.data.u64()) {
                    Ok(number) if event.data.u64() != LISTENER => self.serve(number),
                    _ => self.accept(),
                }
            }
        }
        self.answered
    }

    /// Sleeps if a stall is due: the server has only this thread.
    fn stall(&mut self, stall: Stall) {
        match self.next_stall {
            None if self.answered > 0 => self.next_stall = Some(Instant::now() + stall.after),
            Some(instant) if Instant::now() >= instant => {
                std::thread::sleep(stall.length.saturating_sub(instant.elapsed()));
                self.next_stall = Some(instant + stall.every);
            }
            None | Some(_) => {}
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let number = self
                .clients
                .iter()
                .position(Option::is_none)
                .unwrap_or_else(|| {
                    self.clients.push(None);
                    self.clients.len() - 1
                });
            let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            let ready = stream.set_nonblocking(true).is_ok()
                && stream.set_nodelay(true).is_ok()
                && epoll::add(
                    &self.epoll,
                    &stream,
                    EventData::new_u64(number as u64),
                    interest,
                )
                .is_ok();
            if ready {
                let socket = OwnedFd::from(stream);
                self.clients[number] = Some(Client {
                    socket,
                    requests: Requests::default(),
                    unsent: Vec::new(),
                });
            }
        }
    }

    fn serve(&mut self, number: usize) {
        if !self.is_served(number) {
            self.clients[number] = None;
        }
    }

    /// Answers received requests; false if the connection must be closed.
    fn is_served(&mut self, number: usize) -> bool {
        let Some(client) = &mut self.clients[number] else {
            return true;
        };
        if !client.is_flushed() {
            return false;
        }
        loop {
            match rustix::net::recv(&client.socket, &mut *self.input, RecvFlags::empty()) {
                Ok((0, _)) => return false,
                Ok((length, _)) => {
                    let Some(requests) = client.requests.count(&self.input[..length]) else {
                        return false;
                    };
                    self.answered += requests as u64;
                    let bytes = requests * self.answer.len();
                    while self.answers.len() < bytes {
                        self.answers.extend_from_slice(&self.answer);
                    }
                    if !client.is_sent(&self.answers[..bytes]) {
                        return false;
                    }
                    if length < self.input.len() {
                        return true;
                    }
                }
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

impl Client {
    fn is_sent(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let sent = if self.unsent.is_empty() {
            match rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(length) => length,
                Err(Errno::AGAIN | Errno::INTR) => 0,
                Err(_) => return false,
            }
        } else {
            0
        };
        self.unsent.extend_from_slice(&bytes[sent..]);
        self.unsent.len() <= UNSENT_MAX_BYTES
    }

    fn is_flushed(&mut self) -> bool {
        let rest = std::mem::take(&mut self.unsent);
        self.is_sent(&rest)
    }
}

impl Requests {
    /// How many requests these bytes complete; `None` if this is not HTTP.
    fn count(&mut self, mut bytes: &[u8]) -> Option<usize> {
        let mut whole = 0;
        loop {
            let body = usize::try_from(self.body_left)
                .unwrap_or(usize::MAX)
                .min(bytes.len());
            self.body_left -= body as u64;
            bytes = &bytes[body..];
            if bytes.is_empty() {
                return Some(whole);
            }
            let held = self.partial.len();
            let head = if held == 0 {
                bytes
            } else {
                self.partial.extend_from_slice(bytes);
                &self.partial
            };
            let Some((length, body_bytes)) = request_head(head)? else {
                if head.len() > HEAD_MAX_BYTES {
                    return None;
                }
                if held == 0 {
                    self.partial.extend_from_slice(bytes);
                }
                return Some(whole);
            };
            bytes = &bytes[length - held..];
            self.partial.clear();
            self.body_left = body_bytes;
            // The answer is sent once the head is complete; the body is skipped.
            whole += 1;
        }
    }
}

/// Length of the head at the beginning and of its body; inner `None`: incomplete; outer `None`: not HTTP.
fn request_head(bytes: &[u8]) -> Option<Option<(usize, u64)>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes).ok()? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Some(None),
    };
    let body = request
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"));
    match body {
        None => Some(Some((length, 0))),
        Some(header) => Some(Some((
            length,
            std::str::from_utf8(header.value)
                .ok()?
                .trim()
                .parse()
                .ok()?,
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_stall_holds_a_request_for_its_length() {
        let stall = Stall {
            after: Duration::ZERO,
            length: Duration::from_millis(300),
            every: Duration::from_secs(1),
        };
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let server =
            NullServer::with_stalls("127.0.0.1:0".parse().unwrap(), answer, stall).unwrap();
        let mut client = std::net::TcpStream::connect(server.address()).unwrap();
        let mut slowest = Duration::ZERO;
        let start = Instant::now();
        while slowest < stall.length / 2 && start.elapsed() < Duration::from_secs(180) {
            let sent = Instant::now();
            client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            client.read_exact(&mut [0; 38]).unwrap();
            slowest = slowest.max(sent.elapsed());
        }
        assert!(slowest >= stall.length / 2, "{slowest:?}");
    }

    #[test]
    fn requests_are_counted_however_they_are_split() {
        let check = |bytes: &str, expected: Option<usize>| {
            for step in [1, 2, 7, bytes.len()] {
                let mut requests = Requests::default();
                let counts: Option<Vec<usize>> = bytes
                    .as_bytes()
                    .chunks(step)
                    .map(|piece| requests.count(piece))
                    .collect();
                assert_eq!(
                    counts.map(|counts| counts.iter().sum()),
                    expected,
                    "{bytes:?} by {step}"
                );
            }
        };
        check("GET / HTTP/1.1\r\n\r\n", Some(1));
        check(
            "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\nGET /",
            Some(2),
        );
        check(
            "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloPUT / HTTP/1.1\r\ncontent-length: 2\r\n\r\nab",
            Some(2),
        );
        check("\u{1}\u{2}\r\n\r\n", None);
        check("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", None);
    }
}

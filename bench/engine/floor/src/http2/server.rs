//! The null server: one fixed answer to every request, whatever its fields are.
//!
//! It keeps no state of streams or fields: its own blocks use no dynamic table, and the ones it receives are not read. It does not look
//! at the windows of its client either, which must be larger than the answers in flight; a client that updates them is never overrun.
//! Without TLS, by prior knowledge (RFC 9113, section 3.3).

use std::{
    error::Error,
    io::{self, Write},
    net::SocketAddr,
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, Event, EventData, EventFlags},
    fd::OwnedFd,
    io::Errno,
    net::{AddressFamily, SocketAddrAny, SocketFlags, SocketType},
};

use super::{
    DATA, END_HEADERS, END_STREAM, Frame, HEADERS, INITIAL_WINDOW_SIZE, INPUT_BYTES,
    MAX_CONCURRENT_STREAMS, PREFACE, Received, WINDOW_BYTES_AT_START, WINDOW_MAX_BYTES, receive,
    send, write_frame, write_settings, write_window_update,
};
use crate::EVENTS_MAX;

/// The same for every request.
const BODY: &[u8] = br#"{"token": "0123456789abcdef01"}"#;
/// `:status` 200 of the static table; content-type and content-length as literals without indexing, their names by the static table
/// (31 and 28; RFC 7541, section 6.2.2).
const BLOCK: &[u8] = b"\x88\x0F\x10\x10application/json\x0F\x0D\x0231";
const STREAMS_MAX: u32 = 1_000;
const UPDATE_AFTER_BYTES: u32 = 1 << 20;
const BACKLOG: i32 = 4_096;
/// The number under which the listener's events come; connections are numbered from 0.
const LISTENER: u64 = u64::MAX;

struct Server {
    epoll: OwnedFd,
    listener: OwnedFd,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// With which a connection begins.
    beginning: Vec<u8>,
    input: Vec<u8>,
    output: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// Bytes of the preface that have come.
    preface: usize,
    received: Received,
    /// What the socket did not take; nothing is read before it has.
    unsent: Vec<u8>,
}

/// Prints the address and serves until the process is ended. Port 0: a free one.
pub(crate) fn serve(port: u16) -> Result<(), Box<dyn Error>> {
    let listener = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    rustix::net::sockopt::set_socket_reuseaddr(&listener, true)?;
    rustix::net::bind(&listener, &SocketAddr::from(([127, 0, 0, 1], port)))?;
    rustix::net::listen(&listener, BACKLOG)?;
    println!("{}", address(&listener)?);
    io::stdout().flush()?;
    let mut beginning = Vec::new();
    let settings = [
        (MAX_CONCURRENT_STREAMS, STREAMS_MAX),
        (INITIAL_WINDOW_SIZE, WINDOW_MAX_BYTES),
    ];
    write_settings(&settings, &mut beginning);
    write_window_update(WINDOW_MAX_BYTES - WINDOW_BYTES_AT_START, &mut beginning);
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(
        &epoll,
        &listener,
        EventData::new_u64(LISTENER),
        EventFlags::IN,
    )?;
    let mut server = Server {
        epoll,
        listener,
        connections: Vec::new(),
        free: Vec::new(),
        beginning,
        input: vec![0; INPUT_BYTES],
        output: Vec::new(),
    };
    let mut events = Vec::with_capacity(EVENTS_MAX);
    loop {
        epoll::wait(&server.epoll, spare_capacity(&mut events), None)?;
        for event in events.drain(..) {
            match event.data.u64() {
                LISTENER => server.accept()?,
                _ => server.answer(event),
            }
        }
    }
}

fn address(listener: &OwnedFd) -> Result<SocketAddr, Box<dyn Error>> {
    let address: SocketAddrAny = rustix::net::getsockname(listener)?;
    Ok(SocketAddr::try_from(address)?)
}

impl Server {
    fn accept(&mut self) -> Result<(), Box<dyn Error>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let socket = match rustix::net::accept_with(&self.listener, flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
            rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
            let number = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            epoll::add(
                &self.epoll,
                &socket,
                EventData::new_u64(number as u64),
                EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET,
            )?;
            self.connections[number] = Some(Connection {
                socket,
                preface: 0,
                received: Received::default(),
                unsent: self.beginning.clone(),
            });
        }
    }

    /// A connection that is closed or broken is dropped.
    fn answer(&mut self, event: Event) {
        let number = event.data.u64() as usize;
        let Some(connection) = &mut self.connections[number] else {
            return;
        };
        let closing = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        let flags = event.flags;
        let until_end = flags.intersects(closing);
        let answered = connection.answer(until_end, &mut self.input, &mut self.output);
        self.output.clear();
        if answered.is_err() {
            self.connections[number] = None;
            self.free.push(number);
        }
    }
}

impl Connection {
    /// Reads what there is, answers the requests in it. A short read is the last one, if the client is not about to close.
    fn answer(
        &mut self,
        until_end: bool,
        input: &mut [u8],
        output: &mut Vec<u8>,
    ) -> Result<(), Box<dyn Error>> {
        loop {
            if !self.unsent.is_empty() {
                let sent = send(&self.socket, &self.unsent)?;
                self.unsent.drain(..sent);
                if !self.unsent.is_empty() {
                    return Ok(());
                }
            }
            let Some(received) = receive(&self.socket, input)? else {
                return Ok(());
            };
            if received == 0 {
                return Err("closed".into());
            }
            let bytes = self.skip_preface(&input[..received])?;
            self.received
                .cut(bytes, UPDATE_AFTER_BYTES, output, write_answer)?;
            let sent = if output.is_empty() {
                0
            } else {
                send(&self.socket, output)?
            };
            self.unsent.extend_from_slice(&output[sent..]);
            output.clear();
            if self.unsent.is_empty() && received < input.len() && !until_end {
                return Ok(());
            }
        }
    }

    fn skip_preface<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Box<dyn Error>> {
        let missing = &PREFACE[self.preface..];
        let length = missing.len().min(bytes.len());
        if bytes[..length] != missing[..length] {
            return Err("not HTTP/2".into());
        }
        self.preface += length;
        Ok(&bytes[length..])
    }
}

/// Answers the request that the frame ends, if it ends one.
fn write_answer(frame: &Frame, output: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
    if frame.ends_stream() {
        write_frame(HEADERS, END_HEADERS, frame.stream, BLOCK, output);
        write_frame(DATA, END_STREAM, frame.stream, BODY, output);
    }
    Ok(())
}

const _: () = assert!(BODY.len() == 31, "BLOCK says so");

//! The bare client: a fixed number of requests in flight on each connection; answers are counted by the heads of their frames.
//!
//! A request is one prepared frame into which its stream's number is written. Unlike a real client it ignores the server's settings
//! (so it must not be told to have more requests in flight than the server allows), knows no fields of an answer, no time and no request
//! by itself.

use std::{
    error::Error,
    net::SocketAddr,
    time::{Duration, Instant},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, Event, EventData, EventFlags},
    fd::OwnedFd,
};

use super::{
    ENABLE_PUSH, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, INPUT_BYTES,
    PREFACE, RST_STREAM, Received, WINDOW_BYTES_AT_START, WINDOW_MAX_BYTES, receive, send,
    write_frame, write_settings, write_window_update,
};
use crate::EVENTS_MAX;

/// The clock is looked at once in so many rounds; with thousands of connections a round is long.
const ROUNDS_PER_LOOK: u64 = 16;
/// Half of the window: the server never waits for an update.
const UPDATE_AFTER_BYTES: u32 = WINDOW_MAX_BYTES / 2;
/// GET, http, / of the static table, then :authority, in the first request of a connection with its text, which the server's table keeps,
/// and in each further one by its place there (RFC 7541, section 6 and appendix A).
const FIXED_FIELDS: [u8; 3] = [0x82, 0x86, 0x84];
const AUTHORITY_TO_KEEP: u8 = 0x41;
const AUTHORITY_KEPT: u8 = 0xBE;
/// Longer ones have a length of more than one byte.
const AUTHORITY_MAX_BYTES: usize = 126;
/// Where a frame's head has the stream's number.
const STREAM: std::ops::Range<usize> = 5..9;

pub(crate) struct Client {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    streams: usize,
    /// With which a connection begins: preface, settings and the first request.
    beginning: Vec<u8>,
    request: Vec<u8>,
    input: Vec<u8>,
    output: Vec<u8>,
    answers: u64,
}

struct Connection {
    socket: OwnedFd,
    received: Received,
    next_stream: u32,
}

impl Client {
    pub(crate) fn connect(
        address: SocketAddr,
        connections: usize,
        streams: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let authority = address.to_string();
        assert!(
            authority.len() <= AUTHORITY_MAX_BYTES,
            "an address with its port is shorter"
        );
        let mut client = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            connections: Vec::new(),
            streams,
            beginning: beginning(&authority),
            request: Vec::new(),
            input: vec![0; INPUT_BYTES],
            output: Vec::new(),
            answers: 0,
        };
        let block = [&FIXED_FIELDS[..], &[AUTHORITY_KEPT]].concat();
        write_frame(
            HEADERS,
            END_STREAM | END_HEADERS,
            0,
            &block,
            &mut client.request,
        );
        for number in 0..connections {
            let socket = crate::connect(address)?;
            let data = EventData::new_u64(number as u64);
            epoll::add(
                &client.epoll,
                &socket,
                data,
                EventFlags::IN | EventFlags::ET,
            )?;
            client.connections.push(Connection {
                socket,
                received: Received::default(),
                next_stream: 3,
            });
        }
        Ok(client)
    }

    /// Gives the number of answers.
    pub(crate) fn run(mut self, length: Duration) -> Result<u64, Box<dyn Error>> {
        for number in 0..self.connections.len() {
            self.output.extend_from_slice(&self.beginning);
            self.request(number, self.streams - 1)?;
        }
        let start = Instant::now();
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let mut rounds = 0_u64;
        while !rounds.is_multiple_of(ROUNDS_PER_LOOK) || start.elapsed() < length {
            rounds += 1;
            epoll::wait(&self.epoll, spare_capacity(&mut events), None)?;
            for event in events.drain(..) {
                self.answer(event)?;
            }
        }
        Ok(self.answers)
    }

    /// Takes what has come on one connection and sends a request for each answer.
    fn answer(&mut self, event: Event) -> Result<(), Box<dyn Error>> {
        let number = event.data.u64() as usize;
        loop {
            let connection = &mut self.connections[number];
            let Some(received) = receive(&connection.socket, &mut self.input)? else {
                return Ok(());
            };
            if received == 0 {
                return Err("the server closed a connection".into());
            }
            let mut answers = 0;
            connection.received.cut(
                &self.input[..received],
                UPDATE_AFTER_BYTES,
                &mut self.output,
                |frame, _| match frame.kind {
                    RST_STREAM => Err(format!("the server reset stream {}", frame.stream).into()),
                    GOAWAY => Err("the server sent GOAWAY".into()),
                    _ => {
                        answers += usize::from(frame.ends_stream());
                        Ok(())
                    }
                },
            )?;
            self.answers += answers as u64;
            self.request(number, answers)?;
            if received < self.input.len() {
                return Ok(());
            }
        }
    }

    /// Sends so many requests, after what is in the output.
    fn request(&mut self, number: usize, requests: usize) -> Result<(), Box<dyn Error>> {
        let connection = &mut self.connections[number];
        for _ in 0..requests {
            if connection.next_stream > WINDOW_MAX_BYTES {
                return Err("no stream is left on a connection".into());
            }
            let begin = self.output.len();
            self.output.extend_from_slice(&self.request);
            self.output[begin..][STREAM].copy_from_slice(&connection.next_stream.to_be_bytes());
            connection.next_stream += 2;
        }
        if !self.output.is_empty() {
            let sent = send(&connection.socket, &self.output)?;
            if sent < self.output.len() {
                return Err("the socket did not take all requests in flight".into());
            }
            self.output.clear();
        }
        Ok(())
    }
}

fn beginning(authority: &str) -> Vec<u8> {
    let mut output = PREFACE.to_vec();
    let settings = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, WINDOW_MAX_BYTES)];
    write_settings(&settings, &mut output);
    write_window_update(WINDOW_MAX_BYTES - WINDOW_BYTES_AT_START, &mut output);
    let mut block = FIXED_FIELDS.to_vec();
    block.extend_from_slice(&[AUTHORITY_TO_KEEP, authority.len() as u8]);
    block.extend_from_slice(authority.as_bytes());
    write_frame(HEADERS, END_STREAM | END_HEADERS, 1, &block, &mut output);
    output
}

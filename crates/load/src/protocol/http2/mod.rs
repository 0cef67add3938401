//! HTTP/2 on one connection: bytes in, ended requests out, and back. No socket, no clock, no task.
//!
//! `h2` does frames, streams and flow control. Its socket is a pair of buffers (`pipe`); it is polled when bytes arrived or
//! requests were sent; `ready` notes which streams can be polled.

mod pipe;
mod ready;
pub(crate) mod request;
mod stream;

use std::{
    fmt,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use h2::{
    Reason,
    client::{Builder, Connection, SendRequest},
};

use super::{answer_matcher::AnswerMatcher, flight::Flight, http1::head::ReadLimits};
use crate::{
    failure::Failure,
    inspection::{Inspected, Inspector},
    recording::examples::Examples,
};
use pipe::Pipe;
use ready::Ready;
use request::Requests;
use stream::Stream;

/// Receive windows of one stream and of a connection. All bytes are taken at once, so this much is in flight on the network,
/// never in memory.
const STREAM_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024 * 1024;
/// Until the server's settings arrive, which limit the number of streams.
const STREAMS_BEFORE_SETTINGS: usize = 0;

/// HTTP/2 of one connection.
pub(crate) struct Session {
    pipe: Pipe,
    connection: Connection<Pipe, Bytes>,
    requests: SendRequest<Bytes>,
    streams: Vec<Option<Stream>>,
    free: Vec<usize>,
    ready: Arc<Ready>,
    wakers: Vec<Waker>,
    waker: Waker,
    most: usize,
    body_max_bytes: u64,
    /// The index at which the next search begins.
    from: usize,
    gate: Gate,
    /// Whether the server reported a protocol error of this side.
    is_blamed_by_peer: bool,
    end: Option<End>,
}

/// Whether requests may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// Only after another stream has ended.
    Waiting,
    /// Never again on this connection.
    Closed,
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// In order, after all requests in flight.
    Agreed,
    /// Without GOAWAY.
    Cut,
    /// One of the two sides reported a protocol error.
    Broken,
}

/// A request that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) flight: Flight,
    /// With what was measured of its answer, if that was inspected.
    pub(crate) judged: Result<Option<Inspected>, Failure>,
}

/// What answers are judged by, and when their bytes arrived.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    pub(crate) matcher: &'a AnswerMatcher,
    /// `None`: they are not inspected.
    pub(crate) inspector: Option<&'a mut Inspector>,
    pub(crate) now: u64,
    pub(crate) examples: &'a mut Examples,
}

impl Session {
    /// Begins: the preface and the settings of this side are in the output. `most`: limit on concurrent streams.
    pub(crate) fn new(most: usize, limits: ReadLimits) -> Option<Self> {
        let pipe = Pipe::default();
        // RFC 9113, section 6.5.2: each field counts 32 bytes more.
        let head_max = limits.head_max_bytes + 32 * limits.head_max_fields;
        let head_max = u32::try_from(head_max).unwrap_or(u32::MAX);
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_header_list_size(head_max)
            .initial_max_send_streams(STREAMS_BEFORE_SETTINGS)
            // Otherwise invalid answers would end the connection for the valid ones, too.
            .max_local_error_reset_streams(None);
        let beginning = pin!(builder.handshake(pipe.clone()));
        let mut context = Context::from_waker(Waker::noop());
        // It writes a few bytes, for which the pipe has room, without waiting for the server.
        let Poll::Ready(Ok((requests, connection))) = beginning.poll(&mut context) else {
            return None;
        };
        let ready = Ready::new(most);
        Some(Self {
            pipe,
            connection,
            requests,
            streams: Vec::new(),
            free: Vec::new(),
            waker: ready::of_connection(&ready),
            ready,
            wakers: Vec::new(),
            most,
            body_max_bytes: limits.body_max_bytes,
            from: 0,
            gate: Gate::Waiting,
            is_blamed_by_peer: false,
            end: None,
        })
    }

    /// Whether the server's settings have arrived.
    pub(crate) fn has_begun(&self) -> bool {
        self.requests.current_max_send_streams() > STREAMS_BEFORE_SETTINGS
    }

    /// How many requests may be started now.
    pub(crate) fn room(&self) -> usize {
        if self.gate == Gate::Open {
            let most = self.most.min(self.requests.current_max_send_streams());
            most.saturating_sub(self.in_flight())
        } else {
            0
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.streams.len() - self.free.len()
    }

    /// Starts a request. There must be room.
    pub(crate) fn start(
        &mut self,
        requests: &mut Requests,
        bytes: &[u8],
        flight: Flight,
    ) -> Result<(), Ended> {
        let refused = Ended {
            flight,
            judged: Err(Failure::Protocol),
        };
        let (request, body) = requests.convert(bytes).map_err(|_| refused)?;
        let (answer, stream) = self
            .requests
            .send_request(request, body.is_empty())
            .map_err(|_| refused)?;
        let index = self.free.pop().unwrap_or(self.streams.len());
        if index == self.streams.len() {
            self.streams.push(None);
            self.wakers.push(ready::of_stream(&self.ready, index));
        }
        self.streams[index] = Some(Stream::new(flight, answer, stream, body));
        // Polled once, so that it registers its waker.
        self.ready.set_stream(index);
        self.poll_gate();
        Ok(())
    }

    /// Takes received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.pipe.push(bytes);
    }

    /// Whether no more bytes may be pushed before some of the pending ones are taken.
    pub(crate) fn is_stuffed(&self) -> bool {
        self.pipe.is_stuffed()
    }

    /// No more bytes will come.
    pub(crate) fn end_input(&mut self) {
        self.pipe.end();
    }

    /// Processes all received and sent bytes; then [`Self::next`] returns what has ended.
    pub(crate) fn resume(&mut self) {
        if self.end.is_some() {
            return;
        }
        let mut context = Context::from_waker(&self.waker);
        self.end = match Pin::new(&mut self.connection).poll(&mut context) {
            Poll::Pending => None,
            Poll::Ready(Ok(())) => Some(End::Agreed),
            Poll::Ready(Err(error)) if error.is_io() => Some(End::Cut),
            Poll::Ready(Err(_)) => Some(End::Broken),
        };
        self.poll_gate();
    }

    /// The next request that has ended.
    pub(crate) fn next(&mut self, judge: &mut Judge<'_>) -> Option<Ended> {
        while let Some(index) = self.next_ready() {
            self.from = index;
            let Some(stream) = &mut self.streams[index] else {
                continue;
            };
            let mut context = Context::from_waker(&self.wakers[index]);
            if let Some(judged) = stream.resume(judge, self.body_max_bytes, &mut context) {
                let flight = stream.flight;
                self.forget(index);
                let judged = match judged {
                    // The connection was cut after GOAWAY with an error.
                    Err(Failure::Reset) if self.is_blamed_by_peer => Err(Failure::Protocol),
                    judged => judged,
                };
                return Some(Ended { flight, judged });
            }
        }
        None
    }

    /// Whether polling again would change something.
    pub(crate) fn wants_to_go_on(&self) -> bool {
        self.ready.take_connection() && self.end.is_none()
    }

    /// Why the connection ended; also if it takes no more requests and has none in flight.
    pub(crate) fn end(&self) -> Option<End> {
        let is_idle = self.gate == Gate::Closed && self.in_flight() == 0;
        self.end.or(is_idle.then_some(End::Agreed))
    }

    /// Aborts requests that were sent before `instant`; the others continue.
    pub(crate) fn give_up_sent_before(&mut self, instant: u64) -> Vec<Flight> {
        self.give_up(|flight| flight.sent <= instant)
    }

    /// Aborts all requests.
    pub(crate) fn give_up_all(&mut self) -> Vec<Flight> {
        self.give_up(|_| true)
    }

    /// Appends pending output to `out`; returns its length.
    pub(crate) fn take_outbound(&mut self, out: &mut Vec<u8>) -> usize {
        if self.pipe.is_full() {
            // There is room again, which it may have waited for.
            self.ready.set_connection();
        }
        self.pipe.take(out)
    }

    /// Closes the connection; appends the last frames to `out`.
    pub(crate) fn close(self, out: &mut Vec<u8>) {
        let Self {
            pipe,
            mut connection,
            requests,
            streams,
            ..
        } = self;
        drop((requests, streams));
        // Without requests and handles it writes its last frame; the result does not matter.
        let _ = Pin::new(&mut connection).poll(&mut Context::from_waker(Waker::noop()));
        pipe.take(out);
    }

    fn give_up(&mut self, which: impl Fn(&Flight) -> bool) -> Vec<Flight> {
        let mut given_up = Vec::new();
        for index in 0..self.streams.len() {
            if let Some(stream) = &self.streams[index]
                && which(&stream.flight)
            {
                given_up.push(stream.flight);
                // Dropping it resets the stream.
                self.forget(index);
            }
        }
        given_up
    }

    fn forget(&mut self, index: usize) {
        self.streams[index] = None;
        self.free.push(index);
    }

    /// Round-robin: the first index follows the last.
    fn next_ready(&mut self) -> Option<usize> {
        self.ready.next_stream(self.from).or_else(|| {
            self.from = 0;
            self.ready.next_stream(0)
        })
    }

    fn poll_gate(&mut self) {
        let mut context = Context::from_waker(&self.waker);
        self.gate = match self.requests.poll_ready(&mut context) {
            Poll::Ready(Ok(())) => Gate::Open,
            Poll::Pending => Gate::Waiting,
            Poll::Ready(Err(error)) => {
                self.is_blamed_by_peer = error.is_go_away()
                    && error.is_remote()
                    && error.reason() != Some(Reason::NO_ERROR);
                Gate::Closed
            }
        };
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Session")
            .field("in_flight", &self.in_flight())
            .field("gate", &self.gate)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

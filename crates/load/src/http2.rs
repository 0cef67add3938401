//! HTTP/2 on one connection: bytes in, ended requests out, and back. No socket, no clock, no task.
//!
//! Frames, streams and flow control are `h2`'s. It is given two buffers for a socket (`pipe`) and polled when bytes have
//! come or requests have gone; `ready` keeps which streams can go on.

mod pipe;
mod ready;
mod request;
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

pub use request::RequestError;
pub(crate) use request::Requests;

use crate::{Failure, flight::Flight, head::ReadLimits, judge::Judge};
use pipe::Pipe;
use ready::Ready;
use stream::Stream;

/// What the server may send ahead on one stream, and on all of a connection. All that comes is taken at once, so this much
/// is under way on the network, never in memory.
const STREAM_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024 * 1024;
/// Until the server's settings have come, which say how many there may be.
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
    /// The next place that is looked at.
    from: usize,
    gate: Gate,
    /// Whether the server has said that this side does not keep to the protocol.
    is_blamed: bool,
    end: Option<End>,
}

/// Whether requests may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// Not before another stream has ended.
    Waiting,
    /// Never again on this connection.
    Closed,
}

/// How a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// In order, after all that was under way.
    Agreed,
    /// Without a word.
    Cut,
    /// One of the two sides says that the other does not keep to the protocol.
    Broken,
}

/// A request that has come to its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) flight: Flight,
    pub(crate) judged: Result<(), Failure>,
}

impl Session {
    /// Begins: the preface and the settings of this side stand ready to be taken. `most`: streams at once.
    pub(crate) fn new(most: usize, limits: ReadLimits) -> Option<Self> {
        let pipe = Pipe::default();
        let head_max = u32::try_from(limits.head_max_bytes).unwrap_or(u32::MAX);
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_header_list_size(head_max)
            .initial_max_send_streams(STREAMS_BEFORE_SETTINGS)
            // Otherwise answers that are wrong would end the connection for all those that are right.
            .max_local_error_reset_streams(None);
        let beginning = pin!(builder.handshake(pipe.clone()));
        let mut context = Context::from_waker(Waker::noop());
        // It writes a few bytes, for which the pipe has room, and does not wait for the server.
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
            is_blamed: false,
            end: None,
        })
    }

    /// Whether the server's settings have come.
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

    /// Starts a request; only where there is room.
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
        let (request, body) = requests.turn(bytes).map_err(|_| refused)?;
        let (answer, stream) = self
            .requests
            .send_request(request, body.is_empty())
            .map_err(|_| refused)?;
        let place = self.free.pop().unwrap_or(self.streams.len());
        if place == self.streams.len() {
            self.streams.push(None);
            self.wakers.push(ready::of_stream(&self.ready, place));
        }
        self.streams[place] = Some(Stream::new(flight, answer, stream, body));
        // Looked at once, so that it asks to be woken.
        self.ready.set_stream(place);
        self.look_at_gate();
        Ok(())
    }

    /// Takes bytes that have come.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.pipe.push(bytes);
    }

    /// Whether no more bytes may be pushed before some of those that wait have been taken.
    pub(crate) fn is_stuffed(&self) -> bool {
        self.pipe.is_stuffed()
    }

    /// No more bytes will come.
    pub(crate) fn end_input(&mut self) {
        self.pipe.end();
    }

    /// Goes on with all that has come and gone; then [`Self::next`] tells what has ended.
    pub(crate) fn go_on(&mut self) {
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
        self.look_at_gate();
    }

    /// The next request that has come to its end.
    pub(crate) fn next(&mut self, judge: &Judge) -> Option<Ended> {
        while let Some(place) = self.next_ready() {
            self.from = place;
            let Some(stream) = &mut self.streams[place] else {
                continue;
            };
            let mut context = Context::from_waker(&self.wakers[place]);
            if let Some(judged) = stream.go_on(judge, self.body_max_bytes, &mut context) {
                let flight = stream.flight;
                self.forget(place);
                let judged = match judged {
                    // The connection was cut after a reason had been given.
                    Err(Failure::Reset) if self.is_blamed => Err(Failure::Protocol),
                    judged => judged,
                };
                return Some(Ended { flight, judged });
            }
        }
        None
    }

    /// Whether going on once more would change something.
    pub(crate) fn wants_to_go_on(&self) -> bool {
        self.ready.take_connection() && self.end.is_none()
    }

    /// How the connection has ended; also where it will take no more requests and has none under way.
    pub(crate) fn end(&self) -> Option<End> {
        let is_idle = self.gate == Gate::Closed && self.in_flight() == 0;
        self.end.or(is_idle.then_some(End::Agreed))
    }

    /// Gives up requests that were sent before `instant`; the others go on.
    pub(crate) fn give_up_sent_before(&mut self, instant: u64) -> Vec<Flight> {
        self.give_up(|flight| flight.sent <= instant)
    }

    /// Gives up all requests.
    pub(crate) fn give_up_all(&mut self) -> Vec<Flight> {
        self.give_up(|_| true)
    }

    /// Moves what is to be sent to the end of `out`; gives how much it was.
    pub(crate) fn take_outbound(&mut self, out: &mut Vec<u8>) -> usize {
        if self.pipe.is_full() {
            // There is room again, for which it may have waited.
            self.ready.set_connection();
        }
        self.pipe.take(out)
    }

    /// Says good-bye to the other side, into `out`.
    pub(crate) fn close(self, out: &mut Vec<u8>) {
        let Self {
            pipe,
            mut connection,
            requests,
            streams,
            ..
        } = self;
        drop((requests, streams));
        // Without requests and without a way to make any it writes its last frame; what comes of it does not matter.
        let _ = Pin::new(&mut connection).poll(&mut Context::from_waker(Waker::noop()));
        pipe.take(out);
    }

    fn give_up(&mut self, which: impl Fn(&Flight) -> bool) -> Vec<Flight> {
        let mut given_up = Vec::new();
        for place in 0..self.streams.len() {
            if let Some(stream) = &self.streams[place]
                && which(&stream.flight)
            {
                given_up.push(stream.flight);
                // Letting go of it tells the server.
                self.forget(place);
            }
        }
        given_up
    }

    fn forget(&mut self, place: usize) {
        self.streams[place] = None;
        self.free.push(place);
    }

    /// Streams take turns: after the last place comes the first.
    fn next_ready(&mut self) -> Option<usize> {
        self.ready.next_stream(self.from).or_else(|| {
            self.from = 0;
            self.ready.next_stream(0)
        })
    }

    fn look_at_gate(&mut self) {
        let mut context = Context::from_waker(&self.waker);
        self.gate = match self.requests.poll_ready(&mut context) {
            Poll::Ready(Ok(())) => Gate::Open,
            Poll::Pending => Gate::Waiting,
            Poll::Ready(Err(error)) => {
                self.is_blamed = error.is_go_away()
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

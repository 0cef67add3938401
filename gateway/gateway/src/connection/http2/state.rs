//! A connection over HTTP/2: its state and its course.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinSet,
    time::Sleep,
};
use waggle_wire::http2::{
    error::ConnectionError,
    server::{Limits, Server},
};

use super::{
    bodies::{Body, WithoutTopic},
    heads::Heads,
    parts::{Beside, Sending, Work},
};
use crate::{
    calls::AnswerMemory,
    clients::identity::caller::CallerOfConnection,
    connection::{
        due::Due,
        ending::{OUT_PAUSE_BYTES, linger},
    },
    http1::SLOTS,
    log::cycle::Cycle,
    settings::Settings,
    worker::Worker,
};

/// Windows of bodies, of a stream and of the connection: enough for a long way at full speed. What may be kept is limited in bytes.
const WINDOW_BYTES: u32 = 1024 * 1024;
/// Streams that a client may reset beyond those that were answered, and beyond those that may be open: it may give up all of them at once.
const RESETS_MAX: u32 = 100;
/// Frames in a row that lead nowhere.
const IDLE_FRAMES_MAX: u32 = 1000;

/// What belongs to the connection whatever is spoken on it.
pub(in crate::connection) struct Parts<'a, S> {
    pub(in crate::connection) worker: &'a Rc<Worker>,
    pub(in crate::connection) caller: &'a mut CallerOfConnection,
    pub(in crate::connection) socket: &'a mut S,
    /// The connection's number, once the worker knows it.
    pub(in crate::connection) entered: &'a mut Option<u64>,
}

/// Whether anything more is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intake {
    Open,
    /// Streams that are open are answered, and no others.
    Draining,
    /// The client sends no more, or nothing more of it is read; what arrived is answered.
    Ended,
    /// What is written is sent, then the connection ends.
    Closing,
}

/// A connection over HTTP/2.
pub(in crate::connection) struct Http2<'a, S> {
    pub(super) parts: Parts<'a, S>,
    pub(super) server: Server,
    pub(super) heads: Heads,
    pub(super) input: Vec<u8>,
    pub(super) out: Vec<u8>,
    pub(super) sent: usize,
    pub(super) intake: Intake,
    /// Requests whose bodies are incomplete.
    pub(super) bodies: Vec<Body>,
    /// Buffers of earlier ones.
    pub(super) spare: Vec<Body>,
    /// Requests whose records are handed to the log, with their streams.
    pub(super) due: Vec<(u32, Due)>,
    /// Cycles of those that do not wake this task yet.
    pub(super) new_cycles: Vec<Rc<Cycle>>,
    pub(super) without_topic: Vec<WithoutTopic>,
    /// Calls of the router, and parts of answers that are read.
    pub(super) work: JoinSet<Work>,
    pub(super) workers: Vec<Beside>,
    pub(super) sending: VecDeque<Sending>,
    /// Counts bytes of large answers in `out`.
    pub(super) held: Vec<Arc<AnswerMemory>>,
    /// When the client last read some bytes, if there are some.
    pub(super) stuck_since: Option<Instant>,
    /// When input was last taken.
    pub(super) now: Instant,
    /// When something last happened on a stream.
    pub(super) quiet_since: Instant,
    /// The client's mistake, of which it is told when what was complete before is answered.
    pub(super) failure: Option<ConnectionError>,
    /// When the connection began.
    pub(super) began: Instant,
    /// When the client has closed its side, or made its mistake.
    pub(super) ended_since: Option<Instant>,
    /// When a frame was last complete.
    pub(super) frame_since: Instant,
    pub(super) timer: Pin<Box<Sleep>>,
    pub(super) timer_at: Instant,
    /// Frames may be left in the input.
    pub(super) stopped_short: bool,
}

impl<S> Drop for Http2<'_, S> {
    fn drop(&mut self) {
        let of_due: usize = self.due.iter().map(|(_, due)| due.body_bytes).sum();
        let bodies = self.bodies.iter_mut();
        let of_bodies: usize = bodies.map(Body::take_received).sum();
        let waiting = self.without_topic.iter();
        let of_waiting: usize = waiting.map(|request| request.body.len()).sum();
        self.count_abandoned(self.workers.iter().filter(|worker| worker.is_read).count());
        let shared = &self.parts.worker.shared;
        shared.release(of_due + of_bodies + of_waiting);
    }
}

impl<S> Http2<'_, S> {
    /// Counts reads whose client has left.
    pub(super) fn count_abandoned(&self, reads: usize) {
        let abandoned = &self.parts.worker.shared.gauges.requests_abandoned;
        abandoned.fetch_add(reads as u64, Ordering::Relaxed);
    }
}

/// Limits of the protocol.
fn limits(settings: &Settings) -> Limits {
    // The flag has at most 2^16.
    let streams = u32::try_from(settings.pipelining_max).unwrap_or(1 << 16);
    Limits {
        streams,
        head_bytes: settings.head_max_bytes,
        fields: SLOTS,
        stream_window: WINDOW_BYTES,
        connection_window: WINDOW_BYTES,
        resets: RESETS_MAX + streams,
        idle_frames: IDLE_FRAMES_MAX,
    }
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Http2<'a, S> {
    /// `input` is what was received already.
    pub(in crate::connection) fn new(parts: Parts<'a, S>, input: Vec<u8>) -> Self {
        let settings = &parts.worker.shared.settings;
        let now = Instant::now();
        let timer_at = now + settings.head_timeout;
        let mut out = Vec::new();
        let server = Server::new(limits(settings), &mut out);
        Self {
            server,
            heads: Heads::default(),
            input,
            out,
            sent: 0,
            intake: Intake::Open,
            bodies: Vec::new(),
            spare: Vec::new(),
            due: Vec::new(),
            new_cycles: Vec::new(),
            without_topic: Vec::new(),
            work: JoinSet::new(),
            workers: Vec::new(),
            sending: VecDeque::new(),
            held: Vec::new(),
            stuck_since: None,
            now,
            quiet_since: now,
            failure: None,
            began: now,
            ended_since: None,
            frame_since: now,
            timer: Box::pin(tokio::time::sleep_until(timer_at.into())),
            timer_at,
            stopped_short: false,
            parts,
        }
    }

    pub(in crate::connection) async fn run(mut self) {
        loop {
            if self.is_to_drain() {
                self.server.drain(&mut self.out);
                self.intake = Intake::Draining;
            }
            self.take_frames();
            self.settle();
            self.send_bodies();
            if self.is_over() && !self.tell_failure() {
                break;
            }
            if poll_fn(|context| self.wait(context)).await.is_err() {
                return;
            }
        }
        linger(self.parts.socket).await;
    }

    /// Reads nothing more, because of the client's mistake. What was complete before it is answered: GOAWAY names the last stream
    /// that was served, and after it the connection is closed (RFC 9113, section 5.4.1).
    pub(super) fn fail(&mut self, error: ConnectionError) {
        for body in std::mem::take(&mut self.bodies) {
            self.drop_body(body);
        }
        self.failure = Some(error);
        self.intake = Intake::Ended;
        self.ended_since = Some(self.now);
    }

    /// Tells the client its mistake, if it does not know it; whether there was one.
    fn tell_failure(&mut self) -> bool {
        let Some(error) = self.failure.take() else {
            return false;
        };
        self.server.fail(error, &mut self.out);
        self.intake = Intake::Closing;
        true
    }

    /// Whether draining has begun since the last look.
    pub(super) fn is_to_drain(&self) -> bool {
        self.intake == Intake::Open && self.parts.worker.draining.get()
    }

    /// Bytes that wait for the client.
    pub(super) fn unsent(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Whether nothing is left to be answered and sent.
    fn is_over(&self) -> bool {
        if self.unsent() > 0 {
            return false;
        }
        match self.intake {
            Intake::Open => false,
            Intake::Closing => true,
            Intake::Draining => self.server.open_streams() == 0 && !self.has_answers_to_give(),
            Intake::Ended => !self.has_answers_to_give(),
        }
    }

    /// Whether a complete request is not answered.
    pub(super) fn has_answers_to_give(&self) -> bool {
        let waiting = self.due.len() + self.without_topic.len();
        waiting > 0 || !self.work.is_empty() || !self.sending.is_empty()
    }

    /// Whether another request may be read. A request goes on to cost something if its stream is reset, so the limits on streams are
    /// not enough.
    pub(super) fn has_room(&self) -> bool {
        let requests = self.due.len() + self.without_topic.len() + self.work.len();
        requests < 2 * self.parts.worker.shared.settings.pipelining_max
            && self.unsent() < OUT_PAUSE_BYTES
    }
}

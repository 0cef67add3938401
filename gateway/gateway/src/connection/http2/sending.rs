//! Calls of the router, and bodies of answers as the client's windows let them go.

use std::time::Instant;

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinError,
};
use waggle_wire::http2::{error::ErrorCode, server::Then};

use super::{
    heads::AnswerHead,
    parts::{Beside, Part, Rest, Sending, Work},
    state::Http2,
};
use crate::{
    call::{self, Answered},
    calls::RestOfPage,
    connection::ending::OUT_PAUSE_BYTES,
    metrics::HttpVersion,
};

/// What came of an attempt to send.
enum Progress {
    Sent,
    Stalled,
    /// It waits for us.
    Waits,
    Ended,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http2<'_, S> {
    /// Has the router answer a call.
    pub(super) fn start_call(&mut self, stream: u32, owned: call::Owned) {
        let router = self.parts.worker.router.clone();
        let is_read = owned.is_read();
        self.start_work(stream, is_read, async move {
            Work::Answered(stream, Box::new(call::answer(&router, owned).await))
        });
    }

    fn start_work(
        &mut self,
        stream: u32,
        is_read: bool,
        work: impl Future<Output = Work> + 'static,
    ) {
        let handle = self.work.spawn_local(work);
        self.workers.push(Beside {
            stream,
            handle,
            is_read,
        });
    }

    /// Stops the reads of a stream, or of all: their client has left. What changes something goes on.
    pub(super) fn stop_reads(&mut self, stream: Option<u32>) {
        let mut stopped = 0;
        for worker in &mut self.workers {
            if worker.is_read && stream.is_none_or(|stream| stream == worker.stream) {
                worker.handle.abort();
                worker.is_read = false;
                stopped += 1;
            }
        }
        self.count_abandoned(stopped);
    }

    /// Takes the result of work that has ended.
    pub(super) fn take_work(&mut self, ended: Result<(tokio::task::Id, Work), JoinError>) {
        self.quiet_since = Instant::now();
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let place = self
            .workers
            .iter()
            .position(|worker| worker.handle.id() == id);
        let worker = place.map(|place| self.workers.swap_remove(place));
        match ended {
            Ok((_, Work::Answered(stream, answered))) => self.answer_call(stream, *answered),
            Ok((_, Work::Part(stream, part))) => self.take_part(stream, part),
            // It was stopped, and its stream is over; or it panicked.
            Err(_) => {
                let stream = worker.map_or(0, |worker| worker.stream);
                self.give_up(stream, ErrorCode::INTERNAL_ERROR);
            }
        }
    }

    fn answer_call(&mut self, stream: u32, answered: Answered) {
        let metrics = &self.parts.worker.metrics;
        metrics.count_answer(HttpVersion::Two, answered.call, answered.status);
        let head = AnswerHead {
            status: answered.status,
            fields: &answered.fields(),
            length: answered.length,
        };
        if answered.body.is_empty() && answered.rest.is_none() {
            return self.put_head(stream, &head, Then::End);
        }
        self.put_head(stream, &head, Then::More);
        self.sending.push_back(Sending {
            stream,
            body: answered.body,
            held: answered.held,
            rest: answered.rest.map_or(Rest::Nothing, Rest::Unread),
            stalled_since: None,
        });
    }

    fn take_part(&mut self, stream: u32, part: Option<Part>) {
        let sending = self
            .sending
            .iter_mut()
            .find(|sending| sending.stream == stream);
        let Some(sending) = sending else {
            return;
        };
        // Without it the stream is reset, so that the client sees that a part is missing.
        let Some(part) = part else {
            return self.give_up(stream, ErrorCode::INTERNAL_ERROR);
        };
        sending.body = part.body.into();
        sending.held = Some(part.memory);
        sending.rest = match part.rest.length() {
            0 => Rest::Nothing,
            _ => Rest::Unread(part.rest),
        };
    }

    /// Resets a stream whose answer cannot be completed.
    fn give_up(&mut self, stream: u32, code: ErrorCode) {
        self.server.reset(stream, code, &mut self.out);
        self.sending.retain(|sending| sending.stream != stream);
    }

    /// Sends the body of an answer, or keeps what the windows do not let go.
    pub(super) fn send_whole(&mut self, stream: u32, body: &[u8]) {
        let mut rest = body;
        loop {
            let sent = self
                .server
                .send_body(stream, rest, Then::End, &mut self.out);
            rest = &rest[sent..];
            if rest.is_empty() || !self.server.is_open(stream) {
                return;
            }
            if sent == 0 {
                break;
            }
        }
        self.sending.push_back(Sending {
            stream,
            body: Bytes::copy_from_slice(rest),
            held: None,
            rest: Rest::Nothing,
            stalled_since: None,
        });
    }

    /// Sends what the windows allow, a frame of each answer in turn.
    pub(super) fn send_bodies(&mut self) {
        let mut in_vain = 0;
        while in_vain < self.sending.len() && self.unsent() < OUT_PAUSE_BYTES {
            let Some(mut sending) = self.sending.pop_front() else {
                return;
            };
            in_vain = match self.send_frame(&mut sending) {
                Progress::Ended => {
                    self.held.extend(sending.held);
                    continue;
                }
                Progress::Sent => 0,
                Progress::Stalled | Progress::Waits => in_vain + 1,
            };
            self.sending.push_back(sending);
        }
        if self.failure.is_some() {
            self.drop_stalled();
        }
    }

    /// Resets the streams whose windows let nothing go: the client's updates are not read any more.
    fn drop_stalled(&mut self) {
        let is_stalled = |sending: &&Sending| sending.stalled_since.is_some();
        while let Some(stream) = self.sending.iter().find(is_stalled).map(|late| late.stream) {
            self.give_up(stream, ErrorCode::CANCEL);
        }
    }

    fn send_frame(&mut self, sending: &mut Sending) -> Progress {
        let stream = sending.stream;
        if !self.server.is_open(stream) {
            return Progress::Ended;
        }
        let then = match sending.rest {
            Rest::Nothing => Then::End,
            Rest::Unread(_) | Rest::Reading => Then::More,
        };
        if sending.body.is_empty() && then == Then::More {
            let rest = std::mem::replace(&mut sending.rest, Rest::Reading);
            self.held.extend(sending.held.take());
            if let Rest::Unread(rest) = rest {
                self.start_work(stream, true, read_part(stream, rest));
            }
            return Progress::Waits;
        }
        let out = &mut self.out;
        let sent = self.server.send_body(stream, &sending.body, then, out);
        sending.body.advance(sent);
        if sending.body.is_empty() && then == Then::End {
            return Progress::Ended;
        }
        if sent == 0 {
            sending.stalled_since.get_or_insert_with(Instant::now);
            return Progress::Stalled;
        }
        sending.stalled_since = None;
        Progress::Sent
    }

    /// Resets the streams whose windows have let nothing go for too long.
    pub(super) fn judge_windows(&mut self, now: Instant) {
        let timeout = self.parts.worker.shared.settings.write_timeout;
        let is_over = |sending: &&Sending| {
            let since = sending.stalled_since;
            since.is_some_and(|since| now >= since + timeout)
        };
        while let Some(stream) = self.sending.iter().find(is_over).map(|late| late.stream) {
            self.give_up(stream, ErrorCode::CANCEL);
        }
    }
}

async fn read_part(stream: u32, mut rest: Box<RestOfPage>) -> Work {
    let part = rest.next_part().await;
    let part = part.map(|(body, memory)| Part { body, memory, rest });
    Work::Part(stream, part)
}

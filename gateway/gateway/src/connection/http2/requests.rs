//! Requests as they arrive: heads, bodies, and the dispatch of those that are complete.

use std::{rc::Rc, time::Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use waggle_wire::http2::{
    error::{ConnectionError, ErrorCode},
    hpack::put_static,
    server::{Event, RequestHead},
};

use super::{
    bodies::{Body, WithoutTopic, with_head},
    state::{Http2, Intake},
};
use crate::{
    answers::problem::Problem,
    clients::identity::caller::Caller,
    connection::{
        due::{Answer, Due},
        ending::INPUT_BYTES,
        take::{Arrived, Out, Taken, judge_before_body, take},
    },
    http1::{self, Head},
};

/// Buffers of requests that are kept for the next ones, and the largest of them.
const SPARE_MAX: usize = 8;
const SPARE_MAX_BYTES: usize = 64 * 1024;

/// A complete request.
struct Complete<'a> {
    stream: u32,
    head: &'a RequestHead,
    body: &'a [u8],
    /// Who sends it, if that is judged.
    caller: Option<Caller>,
    is_judged: bool,
    /// Bytes of the body that are counted as in flight.
    received: usize,
}

impl Complete<'_> {
    fn with_head<'a, 'slots>(&'a self, head: Head<'a, 'slots>) -> Arrived<'a, 'slots> {
        let body = self.body;
        Arrived {
            request: http1::Request { head, body },
            received: self.received,
            is_judged: self.is_judged,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http2<'_, S> {
    /// Reads all frames that have arrived, if there is room for what comes of them.
    pub(super) fn take_frames(&mut self) {
        self.take_known_topics();
        if self.input.is_empty() || !matches!(self.intake, Intake::Open | Intake::Draining) {
            self.input.clear();
            return;
        }
        self.now = Instant::now();
        let input = std::mem::take(&mut self.input);
        let mut rest = &input[..];
        let mut has_events = false;
        while self.has_room() {
            match self.server.next(&mut rest, &mut self.out) {
                Ok(Some(event)) => {
                    has_events = true;
                    self.take_event(event);
                }
                Ok(None) => break,
                Err(error) => {
                    self.fail(error);
                    rest = &[];
                    break;
                }
            }
        }
        self.judge_waste();
        let consumed = input.len() - rest.len();
        self.stopped_short = consumed < input.len();
        self.input = input;
        self.input.drain(..consumed);
        if self.input.is_empty() && self.input.capacity() > 4 * INPUT_BYTES {
            self.input = Vec::new();
        }
        if has_events {
            self.quiet_since = self.now;
        }
        if has_events || self.server.is_between() {
            self.frame_since = self.now;
        }
    }

    /// Ends the connection if its client does too much in vain, on this connection and its others.
    fn judge_waste(&mut self) {
        let waste = self.server.take_waste();
        let floods = self.parts.caller.caller.floods();
        if !floods.note(waste, self.now) && self.failure.is_none() {
            self.fail(ConnectionError {
                code: ErrorCode::ENHANCE_YOUR_CALM,
                problem: "this client does too much that leads nowhere (--client-flood-max)",
            });
        }
    }

    fn take_event(&mut self, event: Event<'_>) {
        match event {
            Event::Request { stream, is_end } => self.take_request(stream, is_end),
            Event::TooLarge { stream } => {
                let problem = "the head is larger than this gateway allows";
                self.refuse(stream, None, Problem::new(431, problem));
            }
            Event::Body {
                stream,
                bytes,
                is_end,
            } => self.take_body(stream, bytes, is_end),
            Event::Reset { stream } => self.forget(stream),
        }
    }

    fn take_request(&mut self, stream: u32, is_end: bool) {
        let mut body = self.spare.pop().unwrap_or_else(|| Body::new(self.now));
        (body.stream, body.since) = (stream, self.now);
        body.head.clone_from(self.server.head());
        if is_end {
            return self.finish(body, &[]);
        }
        let max = self.parts.worker.shared.settings.body_max_bytes;
        let length = body.head.content_length();
        if length.is_some_and(|length| length > max as u64) {
            let problem = Problem::new(413, "the body is larger than this gateway allows");
            self.refuse(stream, Some(&body.head), problem);
            return self.recycle(body);
        }
        if body.head.has_expectation() {
            if !self.judge(&mut body) {
                return self.recycle(body);
            }
            self.say_continue(stream);
        }
        self.bodies.push(body);
    }

    /// Judges who sends a body before something of it is kept; if it is refused, that is answered.
    fn judge(&mut self, body: &mut Body) -> bool {
        let (worker, caller) = (self.parts.worker, &mut *self.parts.caller);
        let judge = |head: Head<'_, '_>| Ok(judge_before_body(worker, caller, &head));
        match with_head(&body.head, judge) {
            Ok(Ok(())) => {
                body.caller = Some(self.parts.caller.caller.clone());
                return true;
            }
            Ok(Err(due)) => self.due.push((body.stream, due)),
            Err(problem) => self.refuse(body.stream, Some(&body.head), problem),
        }
        false
    }

    fn say_continue(&mut self, stream: u32) {
        let mut block = Vec::new();
        put_static(&mut block, b":status", b"100");
        self.server.inform(stream, &block, &mut self.out);
    }

    fn take_body(&mut self, stream: u32, bytes: &[u8], is_end: bool) {
        // The newest one gets bytes most often.
        let place = self.bodies.iter().rposition(|body| body.stream == stream);
        let Some(place) = place else {
            return;
        };
        if is_end {
            let body = self.bodies.swap_remove(place);
            return self.finish(body, bytes);
        }
        let mut body = self.bodies.swap_remove(place);
        if body.caller.is_none() && !self.judge(&mut body) {
            return self.drop_body(body);
        }
        match self.keep(&mut body, bytes) {
            Ok(()) => self.bodies.push(body),
            Err(problem) => {
                self.refuse(stream, Some(&body.head), problem);
                self.drop_body(body);
            }
        }
    }

    /// Keeps bytes of a body, counted as in flight.
    fn keep(&self, body: &mut Body, bytes: &[u8]) -> Result<(), Problem> {
        let shared = &self.parts.worker.shared;
        let length = body.bytes.len() + bytes.len();
        if length > shared.settings.body_max_bytes {
            let problem = "the body is larger than this gateway allows";
            return Err(Problem::new(413, problem));
        }
        let caller = body.caller.as_ref().unwrap_or(&self.parts.caller.caller);
        caller.take_in_flight(bytes.len())?;
        if !shared.reserve(bytes.len(), length) {
            caller.memory().in_flight.give_back(bytes.len());
            let problem = "too many bytes are in flight; try again";
            return Err(Problem::new(503, problem));
        }
        body.received += bytes.len();
        body.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Dispatches a request whose body ends with these bytes.
    fn finish(&mut self, mut body: Body, last: &[u8]) {
        let received = body.take_received();
        let max = self.parts.worker.shared.settings.body_max_bytes;
        if body.bytes.len() + last.len() > max {
            self.parts.worker.shared.release(received);
            let problem = Problem::new(413, "the body is larger than this gateway allows");
            self.refuse(body.stream, Some(&body.head), problem);
            return self.recycle(body);
        }
        let whole = if body.bytes.is_empty() {
            last
        } else {
            body.bytes.extend_from_slice(last);
            &body.bytes
        };
        self.dispatch(Complete {
            stream: body.stream,
            head: &body.head,
            body: whole,
            is_judged: body.caller.is_some(),
            caller: body.caller.take(),
            received,
        });
        self.recycle(body);
    }

    /// A body that is not read to its end.
    pub(super) fn drop_body(&mut self, mut body: Body) {
        let received = body.take_received();
        self.parts.worker.shared.release(received);
        self.recycle(body);
    }

    fn recycle(&mut self, mut body: Body) {
        if self.spare.len() < SPARE_MAX && body.bytes.capacity() <= SPARE_MAX_BYTES {
            body.bytes.clear();
            (body.caller, body.received_before) = (None, 0);
            self.spare.push(body);
        }
    }

    fn dispatch(&mut self, mut request: Complete<'_>) {
        let Complete { stream, head, .. } = request;
        let worker = self.parts.worker;
        let caller = &mut *self.parts.caller;
        // Streams may have different senders, and the last one that was judged may be another.
        let other = request.caller.take();
        let other = other.map(|sender| std::mem::replace(&mut caller.caller, sender));
        let taken = with_head(head, |head| {
            let arrived = request.with_head(head);
            Ok(take(worker, caller, &arrived, Out::Stream))
        });
        if matches!(taken, Ok(Taken::NoTopicYet(_))) {
            request.caller = Some(caller.caller.clone());
        }
        if let Some(other) = other {
            caller.caller = other;
        }
        match taken {
            Ok(Taken::Records(due)) => self.add_due(stream, due),
            Ok(Taken::Call(owned)) => self.start_call(stream, *owned),
            Ok(Taken::Reading(form)) => self.answer_reading(stream, form),
            Ok(Taken::NoTopicYet(topic)) => self.wait_for_topic(&request, topic),
            // Of a pipeline alone.
            Ok(Taken::Answered | Taken::Behind) => {}
            Err(problem) => {
                self.parts.worker.shared.release(request.received);
                self.refuse(stream, Some(head), problem);
            }
        }
    }

    fn add_due(&mut self, stream: u32, due: Due) {
        if let Answer::Log(cycle, _) = &due.answer {
            let last = self.due.last().map(|(_, due)| &due.answer);
            let is_known = matches!(last, Some(Answer::Log(last, _)) if Rc::ptr_eq(last, cycle));
            if !is_known {
                self.new_cycles.push(cycle.clone());
            }
        }
        self.due.push((stream, due));
    }

    /// Keeps a request until its topic is known.
    fn wait_for_topic(&mut self, request: &Complete<'_>, topic: Box<str>) {
        let length = request.body.len();
        if !self.parts.worker.shared.reserve(length, length) {
            let problem = Problem::new(503, "too many bytes are in flight; try again");
            return self.refuse(request.stream, Some(request.head), problem);
        }
        let caller = request.caller.as_ref();
        let caller = caller.unwrap_or(&self.parts.caller.caller);
        self.without_topic.push(WithoutTopic {
            caller: caller.clone(),
            stream: request.stream,
            head: request.head.clone(),
            body: request.body.to_vec(),
            topic,
            is_known: false,
        });
    }

    /// Dispatches the requests whose topics have been looked up.
    fn take_known_topics(&mut self) {
        while let Some(place) = self
            .without_topic
            .iter()
            .position(|request| request.is_known)
        {
            let request = self.without_topic.swap_remove(place);
            self.dispatch(Complete {
                stream: request.stream,
                head: &request.head,
                body: &request.body,
                received: request.body.len(),
                is_judged: true,
                caller: Some(request.caller),
            });
        }
    }

    /// The client has reset a stream: what is not begun for it is not done.
    fn forget(&mut self, stream: u32) {
        if let Some(place) = self.bodies.iter().position(|body| body.stream == stream) {
            let body = self.bodies.swap_remove(place);
            self.drop_body(body);
        }
        let waiting = self.without_topic.iter();
        if let Some(place) = waiting
            .map(|request| request.stream)
            .position(|other| other == stream)
        {
            let request = self.without_topic.swap_remove(place);
            self.parts.worker.shared.release(request.body.len());
        }
        self.stop_reads(Some(stream));
        self.sending.retain(|sending| sending.stream != stream);
    }

    /// Answers requests whose bodies did not arrive in time, and gives those more time of which enough arrives.
    pub(super) fn judge_bodies(&mut self, now: Instant) {
        let settings = &self.parts.worker.shared.settings;
        let (timeout, rate) = (settings.body_timeout, settings.body_min_rate);
        let expected = timeout.as_millis() * rate as u128 / 1000;
        let mut place = 0;
        while let Some(body) = self.bodies.get_mut(place) {
            if now < body.since + timeout {
                place += 1;
                continue;
            }
            let arrived = body.received - body.received_before;
            if rate > 0 && arrived as u128 >= expected.max(1) {
                body.received_before = body.received;
                body.since = now;
                place += 1;
                continue;
            }
            let body = self.bodies.swap_remove(place);
            let caller = body.caller.as_ref().unwrap_or(&self.parts.caller.caller);
            let problem = caller.refuse_late();
            self.refuse(body.stream, Some(&body.head), problem);
            self.drop_body(body);
        }
    }
}

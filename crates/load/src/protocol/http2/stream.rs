//! One request and its answer on a stream: the unsent rest of the body, and the answer so far.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream, client::ResponseFuture};

use super::Judge;
use crate::{
    failure::Failure,
    inspection::{Inspected, Inspection, content_coding::ContentCoding},
    protocol::{
        answer_matcher::BodyMatch,
        flight::Flight,
        http1::reader::{Answer, ReadError},
    },
    recording::examples::{FailedBody, answer_text},
};

/// A request in flight.
pub(super) struct Stream {
    pub(super) flight: Flight,
    sending: Option<Sending>,
    receiving: Receiving,
    body_match: BodyMatch,
    /// From the head on, if answers are inspected.
    inspection: Option<Box<Inspection>>,
    received: u64,
    /// Of an answer with an unexpected status.
    failed_body: FailedBody,
    /// Of an expected one whose body is judged: all of it, if it came in one piece.
    only_piece: Option<Bytes>,
}

/// The part of a body that was not handed over yet, for lack of flow-control window.
struct Sending {
    stream: SendStream<Bytes>,
    rest: Bytes,
}

enum Receiving {
    Head(ResponseFuture),
    Body { status: u16, stream: RecvStream },
}

impl Stream {
    pub(super) fn new(
        flight: Flight,
        answer: ResponseFuture,
        stream: SendStream<Bytes>,
        body: Bytes,
    ) -> Self {
        let sending = (!body.is_empty()).then(|| {
            let mut stream = stream;
            stream.reserve_capacity(body.len());
            Sending { stream, rest: body }
        });
        Self {
            flight,
            sending,
            receiving: Receiving::Head(answer),
            body_match: BodyMatch::default(),
            inspection: None,
            received: 0,
            failed_body: FailedBody::default(),
            only_piece: None,
        }
    }

    /// Makes progress as far as possible; returns the result of the request if it ended.
    pub(super) fn resume(
        &mut self,
        judge: &mut Judge<'_>,
        body_max_bytes: u64,
        context: &mut Context<'_>,
    ) -> Option<Result<Option<Inspected>, Failure>> {
        self.send(context);
        loop {
            match &mut self.receiving {
                Receiving::Head(answer) => match Pin::new(answer).poll(context) {
                    Poll::Pending => return None,
                    Poll::Ready(Err(error)) => return Some(Err(failure(judge, &error))),
                    Poll::Ready(Ok(answer)) => {
                        let status = answer.status().as_u16();
                        if judge.inspector.is_some() {
                            self.inspection = Some(begin_inspection(&answer, judge.now));
                        }
                        let stream = answer.into_body();
                        if stream.is_end_stream() {
                            return Some(self.check_complete(judge, status));
                        }
                        self.receiving = Receiving::Body { status, stream };
                    }
                },
                Receiving::Body { status, stream } => match stream.poll_data(context) {
                    Poll::Pending => return None,
                    // Trailers, if any, have arrived by now, and with them the end.
                    Poll::Ready(None) => {
                        let status = *status;
                        return Some(self.check_complete(judge, status));
                    }
                    Poll::Ready(Some(Err(error))) => return Some(Err(failure(judge, &error))),
                    Poll::Ready(Some(Ok(piece))) => {
                        judge.matcher.body(&mut self.body_match, &piece);
                        if judge.matcher.expects(*status) {
                            // A piece is shared, not copied; the last one is often empty.
                            if judge.matcher.judges_bodies() && !piece.is_empty() {
                                self.only_piece = (self.received == 0).then(|| piece.clone());
                            }
                        } else if !judge.examples.covers_status(*status, None) {
                            self.failed_body.push(&piece);
                        }
                        if let (Some(inspector), Some(inspection)) =
                            (&mut judge.inspector, &mut self.inspection)
                        {
                            inspection.take_body(inspector, &piece);
                        }
                        self.received += piece.len() as u64;
                        if self.received > body_max_bytes {
                            let text = || ReadError::BodyTooLong(body_max_bytes).to_string();
                            judge.examples.note(Failure::Malformed, None, text);
                            return Some(Err(Failure::Malformed));
                        }
                        // It fails if the stream is closed already; then no window is needed.
                        let _ = stream.flow_control().release_capacity(piece.len());
                    }
                },
            }
        }
    }

    fn check_complete(
        &mut self,
        judge: &mut Judge<'_>,
        status: u16,
    ) -> Result<Option<Inspected>, Failure> {
        if let Some(sending) = &mut self.sending {
            // Answered before the whole body was sent: the rest would only keep the stream open.
            sending.stream.send_reset(Reason::CANCEL);
        }
        let answer = Answer {
            status,
            keep_alive: true,
        };
        let judged = judge.matcher.check(&mut self.body_match, answer);
        let judged = match (&judge.inspector, &mut self.inspection) {
            (Some(inspector), Some(inspection)) => inspection.finish(inspector, status, judged),
            _ => judged.map(|()| None),
        };
        if let Err(failure) = judged {
            judge.examples.note(failure, None, || match failure {
                Failure::Status(_) => self.failed_body.take_text(status),
                Failure::WrongBody => {
                    answer_text(status, self.only_piece.as_deref().unwrap_or_default())
                }
                _ => String::new(),
            });
        }
        judged
    }

    /// Hands over as much of the body as the window allows.
    fn send(&mut self, context: &mut Context<'_>) {
        let Some(sending) = &mut self.sending else {
            return;
        };
        loop {
            let mut room = sending.stream.capacity();
            if room == 0 {
                room = match sending.stream.poll_capacity(context) {
                    Poll::Pending => return,
                    Poll::Ready(Some(Ok(room))) => room,
                    // The stream has ended; receiving shows why.
                    Poll::Ready(Some(Err(_)) | None) => break,
                };
            }
            let piece = sending.rest.split_to(room.min(sending.rest.len()));
            let is_last = sending.rest.is_empty();
            if sending.stream.send_data(piece, is_last).is_err() || is_last {
                break;
            }
        }
        self.sending = None;
    }
}

/// The inspection of an answer whose head has arrived.
fn begin_inspection<T>(answer: &http::Response<T>, now: u64) -> Box<Inspection> {
    let mut inspection = Box::<Inspection>::default();
    inspection.note_arrival(now);
    let values = answer.headers().get_all(http::header::CONTENT_ENCODING);
    let coding = ContentCoding::parse(values.iter().map(http::HeaderValue::as_bytes));
    inspection.begin_body(answer.status().as_u16(), coding);
    inspection
}

/// The failure of a request by the error of its stream, with an example of its kind.
fn failure(judge: &mut Judge<'_>, error: &h2::Error) -> Failure {
    let failure = failure_of(error);
    judge.examples.note(failure, None, || match failure {
        Failure::Malformed => {
            format!("the answer contradicts itself, or its head is above the limit: {error}")
        }
        Failure::Protocol => error.to_string(),
        _ => String::new(),
    });
    failure
}

/// The failure of a request by the error of its stream.
fn failure_of(error: &h2::Error) -> Failure {
    let is_no_error = error.reason() == Some(Reason::NO_ERROR);
    if error.is_io() || error.is_remote() && (error.is_reset() || is_no_error) {
        Failure::Reset
    } else if error.is_reset() {
        // This side ended the stream: its answer exceeded a limit, or contradicts itself.
        Failure::Malformed
    } else {
        Failure::Protocol
    }
}

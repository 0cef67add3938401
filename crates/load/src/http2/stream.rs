//! One request and its answer on a stream: the body that is still to go, the answer as far as it has come.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream, client::ResponseFuture};

use crate::{
    Failure,
    flight::Flight,
    judge::{Agreement, Judge},
    reader::Answer,
};

/// A request under way.
pub(super) struct Stream {
    pub(super) flight: Flight,
    sending: Option<Sending>,
    receiving: Receiving,
    agreement: Agreement,
    received: u64,
}

/// What of a body has not been handed over, because the other side has not given room for it yet.
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
            agreement: Agreement::default(),
            received: 0,
        }
    }

    /// Goes on as far as is possible; gives how the request ended, if it did.
    pub(super) fn go_on(
        &mut self,
        judge: &Judge,
        body_max_bytes: u64,
        context: &mut Context<'_>,
    ) -> Option<Result<(), Failure>> {
        self.send(context);
        loop {
            match &mut self.receiving {
                Receiving::Head(answer) => match Pin::new(answer).poll(context) {
                    Poll::Pending => return None,
                    Poll::Ready(Err(error)) => return Some(Err(failure_of(&error))),
                    Poll::Ready(Ok(answer)) => {
                        let status = answer.status().as_u16();
                        let stream = answer.into_body();
                        if stream.is_end_stream() {
                            return Some(self.check_complete(judge, status));
                        }
                        self.receiving = Receiving::Body { status, stream };
                    }
                },
                Receiving::Body { status, stream } => match stream.poll_data(context) {
                    Poll::Pending => return None,
                    // Trailers, where there are any, have come by now, and with them the end.
                    Poll::Ready(None) => {
                        let status = *status;
                        return Some(self.check_complete(judge, status));
                    }
                    Poll::Ready(Some(Err(error))) => return Some(Err(failure_of(&error))),
                    Poll::Ready(Some(Ok(piece))) => {
                        judge.body(&mut self.agreement, &piece);
                        self.received += piece.len() as u64;
                        if self.received > body_max_bytes {
                            return Some(Err(Failure::Malformed));
                        }
                        // It fails where the stream is gone already, and then nobody waits for room.
                        let _ = stream.flow_control().release_capacity(piece.len());
                    }
                },
            }
        }
    }

    fn check_complete(&mut self, judge: &Judge, status: u16) -> Result<(), Failure> {
        if let Some(sending) = &mut self.sending {
            // Answered before it had everything: the rest would only keep the stream open.
            sending.stream.send_reset(Reason::CANCEL);
        }
        let answer = Answer {
            status,
            keep_alive: true,
        };
        judge.judge(&mut self.agreement, answer)
    }

    /// Hands over as much of the body as there is room for.
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
                    // The stream is over; receiving tells why.
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

/// What an error of a stream is to the request on it.
fn failure_of(error: &h2::Error) -> Failure {
    let is_no_error = error.reason() == Some(Reason::NO_ERROR);
    if error.is_io() || error.is_remote() && (error.is_reset() || is_no_error) {
        Failure::Reset
    } else if error.is_reset() {
        // Our side ended the stream: its answer was beyond a limit, or contradicts itself.
        Failure::Malformed
    } else {
        Failure::Protocol
    }
}

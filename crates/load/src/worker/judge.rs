//! Judges answers: by the expectation and the inspection of requests, or by the steps of sessions. It owns the parts of a worker that
//! this needs, so that they are borrowed apart from its connections.

use waggle_wire::http1::answer::{Answer, ReadError};

use crate::{
    failure::Failure,
    inspection::Inspector,
    machine::clock::Clock,
    pacing::pacer::Pacer,
    protocol::{answer_matcher::AnswerMatcher, answer_state::AnswerState, flight::Flight},
    recording::{
        examples::{Examples, answer_text},
        outcome::Example,
        recorder::Recorder,
        request_outcomes::{RequestOutcome, RequestOutcomes},
    },
    sessions::{session::Whole, worker_sessions::Sessions},
};

#[derive(Debug)]
pub(super) struct Judge {
    pub(super) matcher: AnswerMatcher,
    /// `None`: answers are not inspected.
    pub(super) inspector: Option<Inspector>,
    /// Replaces writer and matcher if the job is a scenario.
    pub(super) sessions: Option<Box<Sessions>>,
    pub(super) examples: Examples,
    pub(super) recorder: Recorder,
    pub(super) account: Option<RequestOutcomes>,
    pub(super) pacer: Pacer,
    pub(super) clock: Clock,
}

/// The numbers of a connection and of a session on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) connection: u32,
    pub(super) session: u32,
}

/// An answer whose body is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun<'a> {
    pub(super) status: u16,
    /// If heads are needed.
    pub(super) head: &'a [u8],
}

/// A complete answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Complete<'a> {
    pub(super) answer: Answer,
    /// If heads are needed.
    pub(super) head: &'a [u8],
    /// The body, if it arrived in one piece.
    pub(super) body: Option<&'a [u8]>,
    pub(super) flight: Flight,
    pub(super) done: u64,
}

/// Why a request has failed, in words if there is more to say than the kind, and when.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) failure: Failure,
    pub(super) text: String,
    pub(super) done: u64,
}

impl Judge {
    /// Takes the next piece of a body. `HEADS`: there are sessions, or answers are inspected.
    #[inline(always)]
    pub(super) fn take_body<const HEADS: bool>(
        &mut self,
        state: &mut AnswerState,
        place: Place,
        begun: Begun<'_>,
        piece: &[u8],
    ) {
        let Begun { status, head } = begun;
        let is_expected = match &mut self.sessions {
            Some(sessions) if HEADS => {
                sessions.body(place.session, piece);
                sessions.expects(place.session, status)
            }
            _ => {
                self.matcher.body(&mut state.body_match, piece);
                if HEADS && let Some(inspector) = &mut self.inspector {
                    state.inspect(inspector, status, head, piece);
                }
                self.matcher.expects(status)
            }
        };
        if !is_expected && !self.examples.covers_status(status, self.step(place)) {
            state.failed_body.push(piece);
        }
    }

    /// Takes a complete answer and records it.
    #[inline(always)]
    pub(super) fn take_whole<const HEADS: bool>(
        &mut self,
        state: &mut AnswerState,
        place: Place,
        complete: Complete<'_>,
    ) {
        let Complete {
            answer,
            head,
            body,
            flight,
            done,
        } = complete;
        let step = if HEADS { self.step(place) } else { None };
        let judged = match &mut self.sessions {
            Some(sessions) if HEADS => {
                let instants = flight.instants_until(done);
                let whole = Whole::new(answer, head, self.clock.unix(done), instants);
                sessions.handle_answer(place.session, whole, &mut self.pacer, &mut self.recorder)
            }
            _ => {
                let mut judged = self.matcher.check(&mut state.body_match, answer);
                if HEADS
                    && let Some(inspector) = &self.inspector
                    && let Some(inspection) = &mut state.inspection
                {
                    let inspected = inspection.finish(inspector, answer.status, judged);
                    judged = self.recorder.record_inspection(inspected, flight.sent);
                }
                self.pacer.on_request_end(place.connection, done, judged);
                judged
            }
        };
        if let Err(failure) = judged {
            // What a step checks or captures is told by its mismatch; its answer may have a secret of the session.
            let text = || match (failure, body) {
                (Failure::Status(status), _) => state.failed_body.take_text(status),
                (Failure::WrongBody, Some(body)) => answer_text(answer.status, body),
                _ => String::new(),
            };
            let example = self.examples.note(failure, step, text);
            add_rows(example, self.sessions.as_deref(), place.session);
            state.failed_body.clear();
        }
        self.note(flight, judged, done);
    }

    /// A request has failed, and its connection has not: the session goes on without an answer.
    #[cold]
    pub(super) fn take_failure(&mut self, place: Place, flight: Flight, failed: Failed) {
        let Failed {
            failure,
            text,
            done,
        } = failed;
        let step = self.step(place);
        let example = self.examples.note(failure, step, || text);
        add_rows(example, self.sessions.as_deref(), place.session);
        self.end_without_answer(place, flight, failure, done);
        if let Some(sessions) = &mut self.sessions {
            let (pacer, recorder) = (&mut self.pacer, &mut self.recorder);
            sessions.handle_lost_connection(place.session, done, pacer, recorder);
        }
    }

    /// Records a request that has failed without an answer; its session, or the pacer, takes note.
    pub(super) fn end_without_answer(
        &mut self,
        place: Place,
        flight: Flight,
        failure: Failure,
        done: u64,
    ) {
        self.note(flight, Err(failure), done);
        match &mut self.sessions {
            None => self
                .pacer
                .on_request_end(place.connection, done, Err(failure)),
            Some(sessions) => {
                let instants = flight.instants_until(done);
                sessions.handle_failure(place.session, failure, instants, &mut self.recorder);
            }
        }
    }

    /// The bytes of a connection are not an answer.
    #[cold]
    pub(super) fn note_malformed(&mut self, place: Place, error: &ReadError) {
        let step = self.step(place);
        let text = || error.to_string();
        self.examples.note(Failure::Malformed, step, text);
    }

    /// Records a request that has ended.
    #[inline]
    pub(super) fn note(&mut self, flight: Flight, judged: Result<(), Failure>, done: u64) {
        let instants = flight.instants_until(done);
        match judged {
            Ok(()) => self.recorder.record_success(instants),
            Err(failure) => self.recorder.record_failure(failure, instants),
        }
        if let Some(account) = &mut self.account {
            account.note(flight.index, RequestOutcome::from_result(judged));
        }
    }

    #[inline(always)]
    fn step(&self, place: Place) -> Option<usize> {
        let sessions = self.sessions.as_ref()?;
        Some(sessions.step(place.session))
    }
}

/// Adds the rows of its session to a new example.
fn add_rows(example: Option<&mut Example>, sessions: Option<&Sessions>, session: u32) {
    if let (Some(example), Some(sessions)) = (example, sessions) {
        example.rows = sessions.rows(session);
    }
}

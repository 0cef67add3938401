//! One session: its state, the request that it writes and the answer that it reads. `worker_sessions` decides what happens when.

use std::cell::OnceCell;

use waggle_wire::http1::answer::Answer;

use super::{
    answer_checks::AnswerView,
    cookies::Jar,
    link_path::make_path,
    program::{LoopProgram, RequestProgram},
    record_stamps::Record,
    request_text::{SessionRandom, Values},
};
use crate::{
    failure::Failure,
    machine::clock::NS_PER_S,
    protocol::{answer_matcher::BodyMatch, answer_state::values_of},
    random::stream::RandomStream,
    recording::recorder::Instants,
    requests::head_block::{Lengths, VERSION},
    scenario::{
        decimal::decimal, escape::Escape, mismatch::FirstMismatches, model::Feed, rows::FeedRow,
    },
};

/// Buffer for a body that a session keeps between answers; a larger one is freed.
const BODY_ROOM_BYTES: usize = 64 * 1024;

/// A session, or the slot for the next one.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) state: SessionState,
    pub(crate) flow: usize,
    /// The operation that comes next.
    pub(crate) next: usize,
    pub(crate) has_sent: bool,
    /// Since when it has been due, in nanoseconds since the start of the load.
    pub(crate) due: u64,
    /// How often the current request was sent.
    pub(crate) tries: u32,
    /// The request that is due or in flight, or the last one.
    pub(crate) request: usize,
    /// Random values that were drawn before its text.
    drawn: u64,
    pub(crate) memory: Memory,
    jar: Jar,
    /// Of the last request.
    path: Vec<u8>,
    body_match: BodyMatch,
    body: Vec<u8>,
    body_is_too_long: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionState {
    /// There is no session.
    Idle,
    /// The next request is due, since `due`.
    Ready {
        due: u64,
    },
    Pausing {
        until: u64,
    },
    /// An answer is pending.
    Waiting,
    /// The server has not processed the request; it is sent again over the next connection.
    Unprocessed,
}

/// The values in the texts of a session.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) session: u64,
    /// Counted from 0, over all workers.
    pub(crate) user: u64,
    /// The row taken of each feed.
    pub(crate) rows: Vec<usize>,
    pub(crate) random: SessionRandom,
    /// Of the request that is being written, or the last one.
    pub(crate) record: Record,
    variables: Vec<Vec<u8>>,
    /// Of the current loops, the innermost last.
    rounds: Vec<Round>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Round {
    /// From 1.
    number: u32,
    /// Growth of the offset per round; 0: the loop has none.
    offset_step: u64,
}

/// What the sessions of a worker have in common.
#[derive(Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) feeds: &'a [Feed],
    /// The server's names.
    pub(crate) hosts: &'a [String],
    pub(crate) is_secure: bool,
    pub(crate) mismatches: &'a mut FirstMismatches,
    /// Room for a text.
    pub(crate) scratch: &'a mut Vec<u8>,
}

/// A complete answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<'a> {
    pub(crate) answer: Answer,
    pub(crate) head: &'a [u8],
    /// When it was complete, in nanoseconds since 1970.
    pub(crate) unix: u64,
    pub(crate) instants: Instants,
}

impl<'a> Whole<'a> {
    #[inline]
    pub(crate) fn new(answer: Answer, head: &'a [u8], unix: u64, instants: Instants) -> Self {
        Self {
            answer,
            head,
            unix,
            instants,
        }
    }
}

/// What follows a round of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterRound {
    /// Another round.
    Round,
    /// What comes after the loop.
    Rest,
    /// Another round would follow, and there have been as many as there may be.
    Limit,
}

impl Session {
    /// The slot for sessions of a user, with this number of feeds and variables.
    pub(crate) fn new(user: u64, feeds: usize, variables: usize) -> Self {
        Self {
            state: SessionState::Idle,
            flow: 0,
            next: 0,
            has_sent: false,
            due: 0,
            tries: 0,
            request: 0,
            drawn: 0,
            memory: Memory {
                session: 0,
                user,
                rows: vec![0; feeds],
                random: SessionRandom {
                    stream: RandomStream::new(0, 0),
                    drawn: 0,
                },
                record: Record::default(),
                variables: vec![Vec::new(); variables],
                rounds: Vec::new(),
            },
            jar: Jar::default(),
            path: Vec::new(),
            body_match: BodyMatch::default(),
            body: Vec::new(),
            body_is_too_long: false,
        }
    }

    /// Begins session number `number` and resets all state.
    pub(crate) fn begin(&mut self, flow: usize, number: u64, stream: RandomStream) {
        self.flow = flow;
        self.next = 0;
        self.has_sent = false;
        self.tries = 0;
        self.jar.clear();
        self.memory.session = number;
        // The first value selected the flow.
        self.memory.random = SessionRandom { stream, drawn: 1 };
        self.memory.rounds.clear();
        for variable in &mut self.memory.variables {
            variable.clear();
        }
    }

    /// Appends the request to `out`, and returns its lengths; one that was not processed with the same text as before. `unix`: nanoseconds since 1970.
    pub(crate) fn write(
        &mut self,
        request: &RequestProgram,
        surroundings: Surroundings<'_>,
        unix: u64,
        out: &mut Vec<u8>,
    ) -> Lengths {
        let start = out.len();
        match self.state {
            SessionState::Unprocessed => self.memory.random.drawn = self.drawn,
            _ => self.drawn = self.memory.random.drawn,
        }
        let Surroundings {
            feeds,
            hosts,
            is_secure,
            scratch: body,
            ..
        } = surroundings;
        let mut values = self.memory.values(feeds);
        body.clear();
        request.body.write(&mut values, Escape::None, body);
        self.path.clear();
        request
            .path
            .write(&mut values, Escape::Path, &mut self.path);
        make_path(&mut self.path, hosts);
        out.extend_from_slice(request.method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(&self.path);
        out.extend_from_slice(VERSION);
        request.headers.write(&mut values, Escape::Header, out);
        if request.sends_cookies {
            let start = out.len();
            out.extend_from_slice(b"Cookie: ");
            if self.jar.write(&self.path, is_secure, seconds(unix), out) {
                out.extend_from_slice(b"\r\n");
            } else {
                out.truncate(start);
            }
        }
        if !(body.is_empty() && request.says_no_length) {
            out.extend_from_slice(b"Content-Length: ");
            decimal(body.len() as u64, out);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        let head = out.len() - start;
        out.extend_from_slice(body);
        Lengths {
            method: request.method.len(),
            target: self.path.len(),
            head,
        }
    }

    /// Takes the next piece of the answer's body; keeps it if the step needs it, up to a limit.
    pub(crate) fn take_body(&mut self, request: &RequestProgram, piece: &[u8], most: usize) {
        request.matcher.body(&mut self.body_match, piece);
        if request.keeps_body && !self.body_is_too_long {
            self.body_is_too_long = piece.len() > most.saturating_sub(self.body.len());
            if !self.body_is_too_long {
                self.body.extend_from_slice(piece);
            }
        }
    }

    /// Checks a complete answer: first `expect`, then the checks; then captures from it.
    pub(crate) fn check_answer(
        &mut self,
        request: &RequestProgram,
        whole: Whole<'_>,
        surroundings: Surroundings<'_>,
    ) -> Result<(), Failure> {
        let Surroundings {
            feeds,
            hosts,
            mismatches,
            scratch,
            ..
        } = surroundings;
        let now_s = seconds(whole.unix);
        for value in values_of(whole.head, b"set-cookie") {
            // Steps may name hosts of their own.
            self.jar.set(value, hosts, &self.path, now_s);
        }
        request.matcher.check(&mut self.body_match, whole.answer)?;
        if self.body_is_too_long {
            return Err(Failure::BodyNotKept);
        }
        let seen = AnswerView {
            status: whole.answer.status,
            head: whole.head,
            body: &self.body,
            jar: &self.jar,
            now_s,
            json: OnceCell::new(),
        };
        let judged = seen
            .check(request, &mut self.memory.values(feeds), scratch)
            .and_then(|()| seen.capture(request, hosts, &mut self.memory.variables));
        if let Err(unmet) = judged
            && !mismatches.covers(request.step)
        {
            mismatches.push(seen.mismatch(request, unmet, scratch));
        }
        Ok(judged?)
    }

    /// Resets the state of the current answer.
    pub(crate) fn forget_answer(&mut self) {
        self.body_match = BodyMatch::default();
        self.body.clear();
        self.body.shrink_to(BODY_ROOM_BYTES);
        self.body_is_too_long = false;
    }
}

impl Memory {
    /// The rows that were taken, of feeds by index.
    pub(crate) fn taken_rows(&self, taken: &[usize], feeds: &[Feed]) -> Vec<FeedRow> {
        let rows = taken.iter().map(|&feed| FeedRow {
            feed: feeds[feed].name.clone(),
            row: self.rows[feed] as u64 + 1,
        });
        rows.collect()
    }

    /// Begins the first round of a loop.
    pub(crate) fn begin_rounds(&mut self, program: &LoopProgram, feeds: &[Feed]) {
        if let Some(condition) = &program.condition {
            // It may have the variable's own value.
            let mut first = Vec::new();
            let mut values = self.values(feeds);
            condition.first.write(&mut values, Escape::None, &mut first);
            self.variables[condition.variable] = first;
        }
        self.rounds.push(Round {
            number: 1,
            offset_step: program.offset_step,
        });
    }

    /// Ends a round of the innermost loop, and begins another one if one follows.
    pub(crate) fn next_round(&mut self, program: &LoopProgram) -> AfterRound {
        let round = self
            .rounds
            .last_mut()
            .expect("a round ends in a loop that has begun");
        let is_last = round.number >= program.rounds;
        let condition = program.condition.as_ref();
        let next = match condition.map(|condition| &self.variables[condition.variable]) {
            Some(value) if value.is_empty() => AfterRound::Rest,
            Some(_) if is_last => AfterRound::Limit,
            None if is_last => AfterRound::Rest,
            _ => AfterRound::Round,
        };
        if next == AfterRound::Round {
            round.number += 1;
        } else {
            self.rounds.pop();
        }
        next
    }

    /// The values of captured variables.
    pub(crate) fn captured_values(&self, variables: &[usize]) -> impl Iterator<Item = &[u8]> {
        variables.iter().map(|number| &*self.variables[*number])
    }

    /// The offset of the innermost loop that has one.
    fn offset(&self) -> u64 {
        let mut rounds = self.rounds.iter().rev();
        let round = rounds.find(|round| round.offset_step > 0);
        round.map_or(0, |round| {
            u64::from(round.number - 1).saturating_mul(round.offset_step)
        })
    }

    fn values<'a>(&'a mut self, feeds: &'a [Feed]) -> Values<'a> {
        Values {
            feeds,
            rows: &self.rows,
            variables: &self.variables,
            session: self.session,
            user: self.user + 1,
            round: self.rounds.last().map_or(0, |round| round.number),
            offset: self.offset(),
            record: self.record,
            random: &mut self.random,
        }
    }
}

fn seconds(unix: u64) -> i64 {
    i64::try_from(unix / NS_PER_S).unwrap_or(i64::MAX)
}

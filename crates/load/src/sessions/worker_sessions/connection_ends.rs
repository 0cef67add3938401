//! What becomes of sessions whose connection ends, or whose request it does not answer.

use super::Sessions;
use crate::{
    failure::Failure,
    pacing::pacer::Pacer,
    recording::recorder::{Instants, Recorder},
    requests::head_block::Lengths,
    sessions::session::SessionState,
};

impl Sessions {
    /// A request will not be answered: records that for its step. Its connection is about to be lost.
    pub(crate) fn handle_failure(
        &self,
        id: u32,
        failure: Failure,
        instants: Instants,
        recorder: &mut Recorder,
    ) {
        recorder.step_ended(self.step(id), Err(failure), instants);
    }

    /// The connection is closed, as both sides expected: the session continues on the next one, unless an answer was pending.
    pub(crate) fn handle_agreed_close(
        &mut self,
        id: u32,
        now: u64,
        pacer: &mut Pacer,
        recorder: &mut Recorder,
    ) {
        if self.sessions[id as usize].state == SessionState::Waiting {
            return self.handle_lost_connection(id, now, pacer, recorder);
        }
        self.sessions[id as usize].forget_answer();
    }

    /// The connection is closed unexpectedly, or with an answer pending.
    pub(crate) fn handle_lost_connection(
        &mut self,
        id: u32,
        now: u64,
        pacer: &mut Pacer,
        recorder: &mut Recorder,
    ) {
        let session = &mut self.sessions[id as usize];
        let retries = self.retries.as_ref();
        let pause = retries.and_then(|retries| retries.pause_after(Failure::Reset, session.tries));
        let ends = match session.state {
            // What was not processed is sent over the next connection, however this one ends.
            SessionState::Idle | SessionState::Unprocessed => false,
            SessionState::Waiting => true,
            // Only a session that can repeat a request outlives the end of its connection.
            SessionState::Ready { .. } | SessionState::Pausing { .. } => retries.is_none(),
        };
        session.forget_answer();
        if let (true, Some(pause)) = (ends, pause) {
            self.repeat(id, now.saturating_add(pause), recorder);
        } else if ends {
            recorder.sessions().failed += 1;
            self.end(id, now, pacer, recorder);
        }
    }

    /// The server has not processed the request of a session: it waits for the next connection.
    pub(crate) fn await_connection(&mut self, id: u32) {
        self.sessions[id as usize].state = SessionState::Unprocessed;
        self.sessions[id as usize].forget_answer();
    }

    /// The request that waits for the next connection has timed out, like one whose answer is pending.
    pub(crate) fn stop_awaiting_connection(&mut self, id: u32) {
        self.sessions[id as usize].state = SessionState::Waiting;
    }

    /// Writes a request that was not processed once more: the same text, with the same number in the request outcomes.
    #[cold]
    pub(crate) fn append_again(&mut self, out: &mut Vec<u8>, id: u32, unix: u64) -> Lengths {
        let (session, request, surroundings) = self.current(id);
        let lengths = session.write(request, surroundings, unix, out);
        session.state = SessionState::Waiting;
        lengths
    }
}

//! Sending: due requests go to connections with room, many in one call if there are many.

use std::sync::atomic::Ordering;

use super::Worker;
use crate::{
    job::partition::Due,
    protocol::{connection::Sent, flight::Flight},
    recording::request_outcomes::NO_RECORD,
};

/// The buffer is sent when it has this size, so that buffers stay small with large bodies.
const OUT_BYTES: usize = 64 * 1024;

impl Worker {
    /// Collects due requests and sends them if there is room.
    #[inline]
    pub(super) fn send_due(&mut self) {
        while let Some(id) = self.next_awake() {
            self.send(id, 1);
        }
        let counts = self.judge.pacer.collect_due(self.last_due(self.seen));
        self.judge.recorder.fell_due(counts.due, counts.skipped);
        if counts.skipped > 0 {
            self.shared
                .skipped_under_load
                .store(true, Ordering::Relaxed);
        }
        while let Some(id) = self.judge.pacer.next_connection() {
            self.connections[id as usize].room_is_noted = false;
            // One at a time, so that simultaneous requests go to different connections.
            self.send(id, 1);
        }
    }

    /// A connection whose session continues after a pause.
    #[inline]
    fn next_awake(&mut self) -> Option<u32> {
        let sessions = self.judge.sessions.as_mut()?;
        let session = sessions.next_awake(self.seen)?;
        let (id, lane) = (session / sessions.lanes(), session % sessions.lanes());
        self.connections[id as usize].wake(lane);
        Some(id)
    }

    /// Sends due requests on a connection as far as it has room, at most `most` requests.
    #[inline]
    pub(super) fn send(&mut self, id: u32, most: usize) {
        if self.finishing_until.is_some() {
            if !self.connections[id as usize].flight.is_empty() && self.has_streams(id) {
                self.resend_streams(id);
            }
            return;
        }
        if self.protocol_stacks.is_some() && self.has_streams(id) {
            return self.send_streams(id, most);
        }
        let mut left = most;
        // A session continues by itself; the pacer only decides when one begins.
        let wants =
            |worker: &Self| worker.judge.sessions.is_some() || worker.judge.pacer.has_for(id);
        while left > 0 && wants(self) && self.connections[id as usize].has_room() {
            let requests = self.write(id, left);
            if requests == 0 {
                break;
            }
            left -= requests;
            self.judge.recorder.sent_bytes(self.out.len());
            match self.connections[id as usize].send(&self.out) {
                Sent::All => {}
                Sent::Part => self.await_room(id),
                Sent::Lost => self.lost_in_sending(id),
            }
        }
        let session = self.place(id).session;
        let connection = &mut self.connections[id as usize];
        let wants = self
            .judge
            .sessions
            .as_ref()
            .is_none_or(|sessions| sessions.wants(session));
        if wants && !connection.room_is_noted && connection.has_room() {
            connection.room_is_noted = self.judge.pacer.note_room(id);
        }
    }

    /// Sends the requests of a closed connection over its new one. They were counted when they were first sent, and keep their instants.
    #[cold]
    pub(super) fn send_again(&mut self, id: u32) {
        if self.has_streams(id) {
            // With the requests that are sent next.
            return;
        }
        self.out.clear();
        let connection = &mut self.connections[id as usize];
        for flight in &connection.flight {
            let unix = self.judge.clock.unix(flight.sent);
            self.writer.append_again(&mut self.out, flight.index, unix);
        }
        self.judge.recorder.record_resent(connection.flight.len());
        self.judge.recorder.sent_bytes(self.out.len());
        match connection.send(&self.out) {
            Sent::All => {}
            Sent::Part => self.await_room(id),
            Sent::Lost => self.lost_in_sending(id),
        }
    }

    /// Sends the bytes that the socket did not accept before.
    pub(super) fn send_rest(&mut self, id: u32) {
        if self.protocol_stacks.is_some() {
            return self.send_stack(id);
        }
        match self.connections[id as usize].send_rest() {
            Sent::All => self.connections[id as usize].room_since = self.seen,
            Sent::Part => {}
            Sent::Lost => self.lost_in_sending(id),
        }
    }

    /// Writes requests to the buffer and records them as sent; returns their number.
    #[inline]
    pub(super) fn write(&mut self, id: u32, most: usize) -> usize {
        if self.judge.sessions.is_none() {
            self.write_of::<false>(id, most)
        } else {
            self.write_of::<true>(id, most)
        }
    }

    /// Compiled twice, so that prepared requests pay nothing for sessions in their loop.
    #[inline]
    fn write_of<const SESSIONS: bool>(&mut self, id: u32, most: usize) -> usize {
        let now = self.judge.clock.now();
        if now >= self.limits.end {
            self.finish(now);
            return 0;
        }
        self.judge.recorder.advance(now);
        self.out.clear();
        let session = self.place(id).session;
        let connection = &mut self.connections[id as usize];
        let mut requests = 0;
        while requests < most
            && connection.has_room()
            && self.out.len() < OUT_BYTES
            && self.sent < self.max_requests.min(self.max_tracked_requests)
            && let Some(due) = match &mut self.judge.sessions {
                Some(sessions) if SESSIONS => sessions.take(
                    session,
                    now,
                    &mut self.judge.pacer,
                    &mut self.judge.recorder,
                ),
                _ => self.judge.pacer.take(id, now),
            }
        {
            let index = self.sent;
            self.sent += 1;
            let unix = self.judge.clock.unix(now);
            let (is_head, index) = match &mut self.judge.sessions {
                Some(sessions) if SESSIONS => {
                    let recorder = &mut self.judge.recorder;
                    let appended = sessions.append(&mut self.out, session, unix, recorder);
                    (appended.is_head, appended.index)
                }
                _ => (self.writer.append(&mut self.out, index, unix), index),
            };
            if let Some(account) = &mut self.judge.account
                && (!SESSIONS || index != NO_RECORD)
            {
                account.send();
            }
            connection.flight.push_back(Flight {
                due,
                sent: now,
                index,
                lane: 0,
                is_head,
            });
            let by = self.judge.recorder.due();
            let lag = now.saturating_sub(possible(connection.room_since, due, by));
            self.judge.recorder.lag(lag);
            requests += 1;
        }
        self.note_written(requests, now);
        requests
    }

    /// Records requests as sent; ends the load if they were the last ones.
    #[inline]
    pub(super) fn note_written(&mut self, requests: usize, now: u64) {
        self.judge.recorder.record_sent(requests as u64, now);
        if self.sent >= self.max_tracked_requests {
            self.shared.request_outcomes_are_full();
            self.finish(now);
        }
        if self.sent >= self.max_requests {
            self.finish(now);
        }
    }
}

/// Since when a request could have been sent over a connection that has had room since `room_since`.
#[inline]
pub(super) fn possible(room_since: u64, due: u64, by: Due) -> u64 {
    match by {
        Due::AtSending => room_since,
        Due::AfterPause | Due::BySchedule => room_since.max(due),
    }
}

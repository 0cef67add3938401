//! Sending: what is due goes out on connections that have room, many requests in one call where there are many.

use super::Worker;
use crate::{
    account::NO_RECORD,
    connection::{Connection, Sent},
    flight::Flight,
    recorder::Due,
};

/// A call to send is made when this much has been written, so that buffers stay small with large bodies.
const OUT_BYTES: usize = 64 * 1024;

impl Worker {
    /// Lets fall due what does so by now and sends it where there is room.
    #[inline]
    pub(super) fn send_due(&mut self) {
        while let Some(id) = self.next_awake() {
            self.send(id, 1);
        }
        let fallen = self.pace.fall(self.last_due(self.seen));
        self.recorder.fell_due(fallen.due, fallen.skipped);
        while let Some(id) = self.pace.next_connection() {
            self.connections[id as usize].room_is_noted = false;
            // One at a time, so that what is due together goes to different connections.
            self.send(id, 1);
        }
    }

    /// A connection whose session goes on after a pause.
    #[inline]
    fn next_awake(&mut self) -> Option<u32> {
        self.sessions.as_mut()?.next_awake(self.seen)
    }

    /// Sends what this connection may send and has room for, `most` requests at most.
    #[inline]
    pub(super) fn send(&mut self, id: u32, most: usize) {
        if self.finishing_until.is_some() {
            return;
        }
        if self.layering.is_some() && self.has_streams(id) {
            return self.send_streams(id, most);
        }
        let mut left = most;
        // A session goes on by itself; the pace only says when one begins.
        let wants = |worker: &Self| worker.sessions.is_some() || worker.pace.has_for(id);
        while left > 0 && wants(self) && self.connections[id as usize].has_room() {
            let requests = self.write(id, left);
            if requests == 0 {
                break;
            }
            left -= requests;
            self.recorder.sent_bytes(self.out.len());
            if self.connections[id as usize].send(&self.out) == Sent::Lost {
                self.lost_in_sending(id);
            }
        }
        let connection = &mut self.connections[id as usize];
        let wants = self
            .sessions
            .as_ref()
            .is_none_or(|sessions| sessions.wants(id));
        if wants && !connection.room_is_noted && connection.has_room() {
            connection.room_is_noted = self.pace.note_room(id);
        }
    }

    /// Sends what the socket would not take before.
    pub(super) fn send_rest(&mut self, id: u32) {
        if self.layering.is_some() {
            return self.send_layers(id);
        }
        match self.connections[id as usize].send_rest() {
            Sent::All => self.connections[id as usize].room_since = self.seen,
            Sent::Part => {}
            Sent::Lost => self.lost_in_sending(id),
        }
    }

    /// Writes requests into the buffer and notes them as sent; gives how many.
    #[inline]
    pub(super) fn write(&mut self, id: u32, most: usize) -> usize {
        if self.sessions.is_none() {
            self.write_of::<false>(id, most)
        } else {
            self.write_of::<true>(id, most)
        }
    }

    /// Compiled twice, so that requests made ahead pay nothing for sessions in their loop.
    #[inline]
    fn write_of<const SESSIONS: bool>(&mut self, id: u32, most: usize) -> usize {
        let now = self.clock.now();
        if now >= self.limits.end {
            self.finish(now);
            return 0;
        }
        self.recorder.advance(now);
        self.out.clear();
        let connection = &mut self.connections[id as usize];
        let mut requests = 0;
        while requests < most
            && connection.has_room()
            && self.out.len() < OUT_BYTES
            && self.sent < self.requests_at_most.min(self.account_at_most)
            && let Some(due) = match &mut self.sessions {
                Some(sessions) if SESSIONS => {
                    sessions.take(id, now, &mut self.pace, &mut self.recorder)
                }
                _ => self.pace.take(id, now),
            }
        {
            let index = self.sent;
            self.sent += 1;
            let unix = self.clock.unix(now);
            let (is_head, index) = match &mut self.sessions {
                Some(sessions) if SESSIONS => {
                    sessions.append(&mut self.out, id, unix, &mut self.recorder)
                }
                _ => (self.writer.append(&mut self.out, index, unix), index),
            };
            if let Some(account) = &mut self.account
                && (!SESSIONS || index != NO_RECORD)
            {
                account.send();
            }
            connection.flight.push_back(Flight {
                due,
                sent: now,
                index,
                is_head,
            });
            self.recorder
                .lag(now.saturating_sub(possible(connection, due, self.recorder.due())));
            requests += 1;
        }
        self.recorder.record_sent(requests as u64, now);
        if self.sent >= self.account_at_most {
            self.shared.account_is_full();
            self.finish(now);
        }
        if self.sent >= self.requests_at_most {
            self.finish(now);
        }
        requests
    }
}

/// Since when a request could have been sent.
#[inline]
fn possible(connection: &Connection, due: u64, by: Due) -> u64 {
    match by {
        Due::AtSending => connection.room_since,
        Due::AfterPause | Due::BySchedule => connection.room_since.max(due),
    }
}

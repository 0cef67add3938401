//! The records that the connections of a worker staged in one cycle of its loop and handed to the log together, and the tasks
//! that wait for them.

use std::{
    cell::{Cell, RefCell},
    task::Waker,
};

use crate::{
    answers::problem::Problem,
    log::ticket::{Fate, Ticket},
};

/// The part of a cycle that belongs to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// The topic's number.
    pub(crate) topic: u32,
    /// The topic's parts that hold the request's records, a bit each.
    pub(crate) parts: u64,
}

/// The log's answer to a cycle.
#[derive(Debug)]
pub(crate) enum Handed {
    /// One outcome for all records.
    Whole(Ticket),
    /// One outcome for each topic.
    ByTopic(Vec<(u32, Ticket)>),
    Refused(Problem),
}

/// A cycle. Its requests hold it until they are answered.
#[derive(Debug, Default)]
pub(crate) struct Cycle {
    handed: RefCell<Option<Handed>>,
    /// Tickets that were settled at the last poll.
    settled: Cell<usize>,
    waiting: RefCell<Vec<Waker>>,
}

impl Cycle {
    pub(crate) fn fate(&self, share: Share) -> Fate {
        match &*self.handed.borrow() {
            None => Fate::Pending,
            Some(Handed::Whole(ticket)) => ticket.fate_of(share.parts),
            Some(Handed::ByTopic(tickets)) => tickets
                .iter()
                .find(|(topic, _)| *topic == share.topic)
                .map_or(Fate::Failed, |(_, ticket)| ticket.fate_of(share.parts)),
            Some(Handed::Refused(_)) => Fate::Failed,
        }
    }

    /// Why the log refused it, if it did.
    pub(crate) fn refusal(&self) -> Option<Problem> {
        match &*self.handed.borrow() {
            Some(Handed::Refused(problem)) => Some(problem.clone()),
            _ => None,
        }
    }

    /// Wakes `waker` whenever a part of the cycle is settled, until all parts are.
    pub(crate) fn wake_later(&self, waker: &Waker) {
        self.waiting.borrow_mut().push(waker.clone());
    }

    pub(crate) fn hand_over(&self, handed: Handed) {
        *self.handed.borrow_mut() = Some(handed);
    }

    /// Wakes the waiting tasks if something was settled since the last call. Returns true while something is pending.
    pub(crate) fn poll_settled(&self) -> bool {
        let (settled, all) = match &*self.handed.borrow() {
            None => (0, 1),
            Some(Handed::Whole(ticket)) => (usize::from(is_settled(ticket)), 1),
            Some(Handed::ByTopic(tickets)) => {
                let settled = tickets.iter().filter(|(_, ticket)| is_settled(ticket));
                (settled.count(), tickets.len())
            }
            Some(Handed::Refused(_)) => (1, 1),
        };
        let mut waiting = self.waiting.borrow_mut();
        if settled > self.settled.replace(settled) {
            waiting.iter().for_each(Waker::wake_by_ref);
        }
        if settled == all {
            waiting.clear();
        }
        settled < all
    }
}

fn is_settled(ticket: &Ticket) -> bool {
    ticket.fate() != Fate::Pending
}

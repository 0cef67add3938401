//! Batches in flight: which partitions have acknowledged, and the deadline of each batch.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use super::{batch::Lines, staging::part_of};
use crate::log::ticket::Ticket;

/// Partitions are distinguished by their number modulo this.
const PARTS: usize = 64;

/// One topic's messages of one batch. Each message holds it until the broker has acknowledged or refused it.
#[derive(Debug)]
pub(super) struct Flight {
    ticket: Ticket,
    /// The topic's number.
    pub(super) topic: u32,
    pub(super) workers: u64,
    pub(super) records: usize,
    pub(super) bytes: usize,
    pub(super) messages: u32,
    /// When the first record was handed over.
    pub(super) since: Instant,
    pub(super) sent: Instant,
    /// Messages without an answer, by partition.
    waiting: [AtomicU32; PARTS],
    /// Messages without an answer.
    open: AtomicU32,
    /// Parts that failed.
    failed: AtomicU64,
    /// It no longer counts as in flight.
    is_over: AtomicBool,
}

impl Flight {
    pub(super) fn new(lines: &Lines, since: Instant) -> Self {
        let waiting = [const { AtomicU32::new(0) }; PARTS];
        let mut messages = 0;
        for message in lines.messages() {
            waiting[message.partition as usize % PARTS].fetch_add(1, Ordering::Relaxed);
            messages += 1;
        }
        Self {
            ticket: lines.ticket.clone().unwrap_or_default(),
            topic: lines.topic.number,
            workers: lines.workers,
            records: lines.records,
            bytes: lines.bytes,
            messages,
            since,
            sent: Instant::now(),
            waiting,
            open: AtomicU32::new(messages),
            failed: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Notes the broker's answer to a message of the partition; returns whether it was the last one of a batch that was not given
    /// up.
    pub(super) fn on_acknowledgement(&self, partition: u32, durable: bool) -> bool {
        if !durable {
            self.failed.fetch_or(part_of(partition), Ordering::Relaxed);
        }
        // A thread that gives up and sees no waiting message must see the failures too.
        self.waiting[partition as usize % PARTS].fetch_sub(1, Ordering::Release);
        // The last one sees what the others noted before.
        self.open.fetch_sub(1, Ordering::AcqRel) == 1
            && self
                .ticket
                .settle_parts(self.failed.load(Ordering::Relaxed))
    }

    /// Gives the batch up: parts without an answer count as failed. Returns whether it was not settled before.
    pub(super) fn give_up(&self) -> bool {
        let waiting = (0..).zip(&self.waiting).filter_map(|(part, waiting)| {
            (waiting.load(Ordering::Acquire) > 0).then_some(part_of(part))
        });
        let open = waiting.fold(0, |parts, part| parts | part);
        self.ticket
            .settle_parts(open | self.failed.load(Ordering::Relaxed))
    }

    #[cfg(test)]
    pub(super) fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// Messages of a partition without an answer.
    #[cfg(test)]
    pub(super) fn waiting_for(&self, partition: usize) -> u32 {
        self.waiting[partition].load(Ordering::Relaxed)
    }

    /// Whether none of its parts failed.
    pub(super) fn is_durable(&self) -> bool {
        self.ticket.fate() == crate::log::ticket::Fate::Durable
    }
}

/// All batches in flight.
#[derive(Debug, Default)]
pub(super) struct Flights {
    /// In the order of sending; some may be over.
    sent: Mutex<VecDeque<Arc<Flight>>>,
    count: AtomicUsize,
}

impl Flights {
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(super) fn add(&self, flight: &Arc<Flight>) {
        self.count.fetch_add(1, Ordering::Release);
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        while sent.front().is_some_and(|oldest| is_over(oldest)) {
            sent.pop_front();
        }
        sent.push_back(Arc::clone(flight));
    }

    /// The batch is settled: another may be sent.
    pub(super) fn end(&self, flight: &Flight) {
        if !flight.is_over.swap(true, Ordering::AcqRel) {
            self.count.fetch_sub(1, Ordering::Release);
        }
    }

    /// Batches that were handed over before `before` and are not over.
    pub(super) fn overdue_flights(&self, before: Instant) -> Vec<Arc<Flight>> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.retain(|flight| !is_over(flight));
        sent.iter()
            .filter(|flight| flight.since <= before)
            .map(Arc::clone)
            .collect()
    }
}

fn is_over(flight: &Flight) -> bool {
    flight.is_over.load(Ordering::Acquire)
}

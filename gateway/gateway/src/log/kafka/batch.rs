//! Batches for Kafka: lines are collected in messages per topic and partition. Pure: nothing is sent here.
//!
//! A message's value is whole lines of line protocol, each with its time in nanoseconds. A line's partition is that of its
//! series, so that all readings of a series stay in order, or that of its batch (`--kafka-partition-by`).

use std::{sync::Arc, time::Instant};

use super::topic::Topic;
use crate::log::ticket::Ticket;

/// Larger buffers are freed after use.
const KEEP_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Most topics and messages whose buffers are kept.
const KEEP_TOPICS: usize = 64;
const KEEP_MESSAGES: usize = 256;

/// Limits of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) records: u32,
    pub(super) bytes: usize,
}

/// A message that is being filled.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) partition: u32,
    pub(super) records: u32,
    /// Lines, each with its line break.
    pub(super) bytes: Vec<u8>,
    /// The last request that has written to it.
    pub(super) request: u64,
}

/// The lines of one topic.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) topic: Arc<Topic>,
    pub(super) partitions: u32,
    /// The partition of all its lines, if they go by batches.
    pub(super) shared_partition: u32,
    pub(super) records: usize,
    pub(super) bytes: usize,
    messages: Vec<Message>,
    used: usize,
    /// By partition: index of the message with room, plus one; 0 is none.
    open: Vec<u32>,
    /// A bit for each worker that waits for it.
    pub(super) workers: u64,
    pub(super) ticket: Option<Ticket>,
}

/// Lines that are sent to Kafka together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    topics: Vec<Lines>,
    used: usize,
    /// By a topic's number: its index in `topics`, plus one; 0 is none.
    by_number: Vec<u32>,
}

/// Records that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Sender {
    pub(super) gathering: Batch,
    /// When the first of them arrived.
    pub(super) since: Option<Instant>,
    pub(super) is_closed: bool,
    /// Nothing is sent while the producer is replaced.
    pub(super) is_held: bool,
}

impl Lines {
    fn new(topic: &Arc<Topic>) -> Self {
        Self {
            topic: Arc::clone(topic),
            partitions: topic.partitions(),
            shared_partition: 0,
            records: 0,
            bytes: 0,
            messages: Vec::new(),
            used: 0,
            open: Vec::new(),
            workers: 0,
            ticket: None,
        }
    }

    /// The index of a message of the partition with enough room; a record above the limit gets its own message.
    pub(super) fn find_message(
        &mut self,
        partition: u32,
        records: u32,
        bytes: usize,
        limits: Limits,
    ) -> usize {
        let slot = partition as usize;
        if self.open.len() <= slot {
            self.open.resize(slot + 1, 0);
        }
        if let Some(index) = (self.open[slot] as usize).checked_sub(1) {
            let open = &self.messages[index];
            let fits = open.records + records <= limits.records
                && open.bytes.len() + bytes <= limits.bytes.min(self.topic.record_max_bytes());
            if fits || open.bytes.is_empty() {
                return index;
            }
        }
        let index = self.used;
        if self.messages.len() == index {
            self.messages.push(Message::default());
        }
        self.messages[index].partition = partition;
        self.used += 1;
        self.open[slot] = u32::try_from(self.used).expect("a batch is far smaller");
        index
    }

    pub(super) fn message(&mut self, index: usize) -> &mut Message {
        &mut self.messages[index]
    }

    /// Messages with lines in them.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages[..self.used]
            .iter()
            .filter(|message| message.records > 0)
    }

    fn append(&mut self, other: &Self, limits: Limits) {
        for message in other.messages() {
            let index = self.find_message(
                message.partition,
                message.records,
                message.bytes.len(),
                limits,
            );
            let open = &mut self.messages[index];
            open.bytes.extend_from_slice(&message.bytes);
            open.records += message.records;
        }
        self.records += other.records;
        self.bytes += other.bytes;
    }

    fn clear(&mut self) {
        for message in &mut self.messages[..self.used] {
            message.records = 0;
            message.request = 0;
            message.bytes.clear();
            if message.bytes.capacity() > KEEP_MAX_BYTES {
                message.bytes = Vec::new();
            }
        }
        self.messages.truncate(KEEP_MESSAGES);
        self.open.fill(0);
        self.used = 0;
        self.records = 0;
        self.bytes = 0;
        self.workers = 0;
        self.ticket = None;
    }
}

impl Batch {
    /// The lines of the topic.
    pub(super) fn lines(&mut self, topic: &Arc<Topic>) -> (usize, &mut Lines) {
        let number = topic.number as usize;
        if self.by_number.len() <= number {
            self.by_number.resize(number + 1, 0);
        }
        let index = if let Some(index) = (self.by_number[number] as usize).checked_sub(1) {
            index
        } else {
            self.new_lines(topic)
        };
        (index, &mut self.topics[index])
    }

    fn new_lines(&mut self, topic: &Arc<Topic>) -> usize {
        let index = self.used;
        if self.topics.len() == index {
            self.topics.push(Lines::new(topic));
        }
        let lines = &mut self.topics[index];
        // It has the buffers of an earlier batch, perhaps of another topic.
        lines.topic = Arc::clone(topic);
        lines.partitions = topic.partitions();
        lines.shared_partition = topic.turn() % lines.partitions.max(1);
        self.used += 1;
        self.by_number[topic.number as usize] =
            u32::try_from(self.used).expect("topics are far fewer");
        index
    }

    pub(super) fn lines_mut(&mut self, index: usize) -> &mut Lines {
        &mut self.topics[index]
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = &Lines> {
        self.topics[..self.used]
            .iter()
            .filter(|lines| lines.records > 0)
    }

    pub(super) fn records(&self) -> usize {
        self.topics().map(|lines| lines.records).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.topics().next().is_none()
    }

    /// Moves everything out of `staged`; returns the tickets of its topics.
    pub(super) fn take_in(
        &mut self,
        staged: &mut Self,
        worker: u32,
        limits: Limits,
    ) -> Vec<(u32, Ticket)> {
        let numbers: Vec<Arc<Topic>> = staged
            .topics()
            .map(|lines| Arc::clone(&lines.topic))
            .collect();
        if self.is_empty() {
            self.clear();
            std::mem::swap(self, staged);
        } else {
            for lines in staged.topics() {
                self.lines(&lines.topic).1.append(lines, limits);
            }
            staged.clear();
        }
        let mut tickets = Vec::with_capacity(numbers.len());
        for topic in &numbers {
            let lines = self.lines(topic).1;
            lines.workers |= 1 << worker;
            let ticket = lines.ticket.get_or_insert_with(Ticket::default);
            tickets.push((topic.number, ticket.clone()));
        }
        tickets
    }

    /// Clears it and keeps its buffers.
    pub(super) fn clear(&mut self) {
        for lines in &mut self.topics[..self.used] {
            self.by_number[lines.topic.number as usize] = 0;
            lines.clear();
        }
        self.used = 0;
        self.topics.truncate(KEEP_TOPICS);
    }
}

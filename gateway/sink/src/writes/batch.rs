//! Batches: the lines of complete messages that are written at once, and how they gather. No I/O.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::reads::{
    offsets::{BatchId, Slot},
    parsed_message::ParsedMessage,
};

/// An assigned partition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    pub(crate) slot: Slot,
}

/// The lines of one write: complete messages.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) id: BatchId,
    /// The lines, each with a line break at its end.
    pub(crate) body: Vec<u8>,
    lines: Vec<LineAt>,
    messages: Vec<MessageAt>,
    /// Lines that could not be parsed.
    pub(crate) wrong: Vec<Unwritten>,
    /// Bytes of their texts.
    wrong_bytes: usize,
    /// When its first message was read.
    pub(crate) begun: Instant,
    /// Approximate memory.
    pub(crate) cost: usize,
}

#[derive(Debug)]
struct LineAt {
    /// Position of its line break in the body.
    end: usize,
    /// Its number in its message, from 1.
    number: u32,
}

#[derive(Debug)]
struct MessageAt {
    source: Arc<Source>,
    offset: i64,
    /// Index of its first line.
    first: usize,
}

/// A line that cannot be written, with its source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unwritten {
    pub(crate) source: Arc<Source>,
    pub(crate) offset: i64,
    pub(crate) number: usize,
    pub(crate) text: Vec<u8>,
    pub(crate) reason: String,
}

impl Batch {
    fn new(id: BatchId, begun: Instant) -> Self {
        Self {
            id,
            begun,
            body: Vec::new(),
            lines: Vec::new(),
            messages: Vec::new(),
            wrong: Vec::new(),
            wrong_bytes: 0,
            cost: 0,
        }
    }

    /// Bytes of all its lines, wrong ones included.
    fn bytes(&self) -> usize {
        self.body.len() + self.wrong_bytes
    }

    /// Number of lines to be written.
    pub(crate) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// A line without its line break.
    pub(crate) fn line(&self, index: usize) -> &[u8] {
        &self.body[self.line_range(index)]
    }

    fn line_range(&self, index: usize) -> Range<usize> {
        let start = match index.checked_sub(1) {
            Some(before) => self.lines[before].end + 1,
            None => 0,
        };
        start..self.lines[index].end
    }

    /// The first line of each message.
    pub(crate) fn first_lines(&self) -> Vec<usize> {
        self.messages.iter().map(|message| message.first).collect()
    }

    /// The chosen lines as a body.
    pub(crate) fn body_of(&self, lines: &[usize]) -> Vec<u8> {
        let mut body = Vec::new();
        for line in lines {
            body.extend_from_slice(self.line(*line));
            body.push(b'\n');
        }
        body
    }

    /// A refused line, with its source.
    pub(crate) fn unwritten(&self, line: usize, reason: String) -> Unwritten {
        let after = self
            .messages
            .partition_point(|message| message.first <= line);
        let message = &self.messages[after - 1];
        Unwritten {
            source: Arc::clone(&message.source),
            offset: message.offset,
            number: self.lines[line].number as usize,
            text: self.line(line).to_vec(),
            reason,
        }
    }

    fn add(&mut self, message: &Message<'_>) {
        let before = self.body.len();
        self.messages.push(MessageAt {
            source: Arc::clone(message.source),
            offset: message.offset,
            first: self.lines.len(),
        });
        for line in &message.reading.lines {
            self.body
                .extend_from_slice(&message.value[line.text.clone()]);
            self.lines.push(LineAt {
                end: self.body.len(),
                number: u32::try_from(line.number).unwrap_or(u32::MAX),
            });
            self.body.push(b'\n');
        }
        self.cost +=
            self.body.len() - before + LINE_COST * message.reading.lines.len() + MESSAGE_COST;
        for wrong in &message.reading.wrong {
            let text = message.value[wrong.text.clone()].to_vec();
            self.cost += text.len() + wrong.reason.len() + WRONG_COST;
            self.wrong_bytes += text.len();
            self.wrong.push(Unwritten {
                source: Arc::clone(message.source),
                offset: message.offset,
                number: wrong.number,
                text,
                reason: wrong.reason.clone(),
            });
        }
    }
}

const LINE_COST: usize = size_of::<LineAt>();
const MESSAGE_COST: usize = size_of::<MessageAt>();
const WRONG_COST: usize = size_of::<Unwritten>();

/// A message with its parsed lines.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    pub(crate) source: &'a Arc<Source>,
    pub(crate) offset: i64,
    pub(crate) value: &'a [u8],
    pub(crate) reading: &'a ParsedMessage,
}

/// Limits of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchLimits {
    pub(crate) lines: usize,
    pub(crate) bytes: usize,
    /// How long it gathers if no other batch is being written.
    pub(crate) linger: Duration,
    /// How long it gathers while others are being written; not less than `linger`.
    pub(crate) linger_busy: Duration,
}

/// Forms batches of messages.
#[derive(Debug)]
pub(crate) struct Batcher {
    limits: BatchLimits,
    next: u64,
    full: VecDeque<Batch>,
    gathering: Option<Batch>,
}

/// What to write next.
#[derive(Debug)]
pub(crate) enum Next {
    Batch(Batch),
    /// A batch gathers until then.
    At(Instant),
    Nothing,
}

impl Batcher {
    pub(crate) fn new(limits: BatchLimits) -> Self {
        Self {
            limits,
            next: 0,
            full: VecDeque::new(),
            gathering: None,
        }
    }

    /// Adds a complete message to a batch; returns the batch and the message's memory.
    pub(crate) fn add(&mut self, now: Instant, message: &Message<'_>) -> (BatchId, usize) {
        let lines = message.reading.lines.len();
        // A message above the limits gets a batch of its own.
        if let Some(batch) = self.gathering.take_if(|batch| {
            batch.lines() + lines > self.limits.lines
                || batch.bytes() + message.value.len() > self.limits.bytes
        }) {
            self.full.push_back(batch);
        }
        let batch = self.gathering.get_or_insert_with(|| {
            self.next += 1;
            Batch::new(BatchId(self.next), now)
        });
        let before = batch.cost;
        batch.add(message);
        let added = (batch.id, batch.cost - before);
        let is_full = |batch: &mut Batch| {
            batch.lines() >= self.limits.lines || batch.bytes() >= self.limits.bytes
        };
        self.full.extend(self.gathering.take_if(is_full));
        added
    }

    /// The oldest batch, if it is full or has gathered long enough. A small one waits longer while others are being written, so
    /// that it grows: each write has a fixed cost for the database.
    pub(crate) fn next(&mut self, now: Instant, are_others_written: bool) -> Next {
        if let Some(batch) = self.full.pop_front() {
            return Next::Batch(batch);
        }
        let linger = if are_others_written {
            self.limits.linger_busy
        } else {
            self.limits.linger
        };
        let due = |batch: &Batch| batch.begun + linger;
        match self.gathering.take_if(|batch| due(batch) <= now) {
            Some(batch) => Next::Batch(batch),
            None => self
                .gathering
                .as_ref()
                .map_or(Next::Nothing, |batch| Next::At(due(batch))),
        }
    }

    /// Whether a full batch waits.
    pub(crate) fn has_full(&self) -> bool {
        !self.full.is_empty()
    }

    /// Whether nothing waits and nothing gathers.
    pub(crate) fn is_empty(&self) -> bool {
        self.full.is_empty() && self.gathering.is_none()
    }

    /// Batches no longer linger.
    pub(crate) fn drain_quickly(&mut self) {
        self.limits.linger = Duration::ZERO;
        self.limits.linger_busy = Duration::ZERO;
    }

    /// Limits batches to the largest body that the database accepts.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        self.limits.bytes = self.limits.bytes.min(bytes.max(BYTES_MIN));
    }
}

/// Lowest limit of [`Batcher::shrink`]. Larger batches that are refused are bisected.
const BYTES_MIN: usize = 16 * 1024;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn source(partition: i32) -> Arc<Source> {
        Arc::new(Source {
            topic: "plant".into(),
            partition,
            slot: Slot(u64::try_from(partition).unwrap()),
        })
    }

    const LIMITS: BatchLimits = BatchLimits {
        lines: 3,
        bytes: 100,
        linger: Duration::from_millis(5),
        linger_busy: Duration::from_millis(50),
    };

    /// One batch of these messages, of partition 0, with offsets from 10.
    pub(crate) fn batch(values: &[&str]) -> Batch {
        let limits = BatchLimits {
            lines: usize::MAX,
            bytes: usize::MAX,
            linger: Duration::ZERO,
            linger_busy: Duration::ZERO,
        };
        let mut batcher = Batcher::new(limits);
        let now = Instant::now();
        add(&mut batcher, now, values);
        match batcher.next(now, false) {
            Next::Batch(batch) => batch,
            other => panic!("{other:?}"),
        }
    }

    fn add(batcher: &mut Batcher, now: Instant, values: &[&str]) -> Vec<u64> {
        let (mut reading, source) = (ParsedMessage::default(), source(0));
        (10..)
            .zip(values)
            .map(|(offset, value)| {
                reading.read(value.as_bytes());
                let message = Message {
                    source: &source,
                    offset,
                    value: value.as_bytes(),
                    reading: &reading,
                };
                batcher.add(now, &message).0.0
            })
            .collect()
    }

    /// Lines of each batch after the linger time.
    fn check(values: &[&str], expected: &[usize]) {
        let now = Instant::now();
        let mut batcher = Batcher::new(LIMITS);
        add(&mut batcher, now, values);
        let mut batches = Vec::new();
        while let Next::Batch(batch) = batcher.next(now + LIMITS.linger, false) {
            assert_eq!(
                batch.lines.len(),
                batch.body.iter().filter(|byte| **byte == b'\n').count()
            );
            batches.push(batch.lines());
        }
        assert_eq!(batches, expected, "{values:?}");
    }

    #[test]
    fn batches_are_cut_by_lines_and_bytes_between_messages() {
        let line = "m v=1 1";
        check(&[], &[]);
        check(&[line], &[1]);
        check(&[line; 7], &[3, 3, 1]);
        let pair = "m v=1 1\nm v=2 2";
        check(&[pair, line, line, pair], &[3, 3]);
        check(&[pair, pair, line], &[2, 3]);
        // A message above the limits gets a batch of its own.
        let long = [line; 5].join("\n");
        check(&[line, &long, line], &[1, 5, 1]);
        let wide = format!("m v=\"{}\" 1", "x".repeat(70));
        check(&[&wide, &wide], &[1, 1]);
        let wider = format!("m v=\"{}\" 1", "x".repeat(500));
        check(&[line, &wider, line], &[1, 1, 1]);
    }

    #[test]
    fn a_batch_lingers_from_its_first_message() {
        let now = Instant::now();
        let mut batcher = Batcher::new(LIMITS);
        assert!(matches!(batcher.next(now, false), Next::Nothing));
        add(&mut batcher, now, &["m v=1 1"]);
        let later = now + Duration::from_millis(2);
        add(&mut batcher, later, &["m v=1 1"]);
        assert!(matches!(batcher.next(later, false), Next::At(at) if at == now + LIMITS.linger));
        assert!(
            matches!(batcher.next(now + LIMITS.linger, false), Next::Batch(batch) if batch.lines() == 2)
        );
        assert!(matches!(
            batcher.next(now + LIMITS.linger, false),
            Next::Nothing
        ));
    }

    #[test]
    fn wrong_lines_count_into_the_size_of_a_batch() {
        let now = Instant::now();
        let mut batcher = Batcher::new(LIMITS);
        let wrong = "x".repeat(60);
        assert_eq!(
            add(&mut batcher, now, &[&wrong, &wrong, "m v=1 1"]),
            [1, 2, 2]
        );
    }

    #[test]
    fn a_small_batch_lingers_longer_while_others_are_written() {
        let now = Instant::now();
        let mut batcher = Batcher::new(LIMITS);
        add(&mut batcher, now, &["m v=1 1"; 4]);
        assert!(matches!(batcher.next(now, true), Next::Batch(batch) if batch.lines() == 3));
        let (soon, late) = (now + LIMITS.linger, now + LIMITS.linger_busy);
        assert!(matches!(batcher.next(soon, true), Next::At(at) if at == late));
        assert!(matches!(batcher.next(late, true), Next::Batch(batch) if batch.lines() == 1));
        add(&mut batcher, now, &["m v=1 1"]);
        assert!(matches!(batcher.next(soon, false), Next::Batch(_)));
    }

    #[test]
    fn a_full_batch_does_not_wait_and_goes_before_the_one_that_gathers() {
        let now = Instant::now();
        let mut batcher = Batcher::new(LIMITS);
        assert_eq!(add(&mut batcher, now, &["m v=1 1"; 4]), [1, 1, 1, 2]);
        assert!(batcher.has_full());
        assert!(matches!(batcher.next(now, false), Next::Batch(batch) if batch.id == BatchId(1)));
        assert!(matches!(batcher.next(now, false), Next::At(_)));
        batcher.drain_quickly();
        assert!(matches!(batcher.next(now, false), Next::Batch(batch) if batch.id == BatchId(2)));
    }

    #[test]
    fn a_message_without_a_line_still_makes_a_batch() {
        let batch = batch(&["# nothing", "", "nonsense"]);
        assert_eq!(
            (batch.lines(), batch.messages.len(), batch.wrong.len()),
            (0, 3, 1)
        );
        assert_eq!(batch.wrong[0].offset, 12);
    }

    #[test]
    fn after_a_refusal_for_size_batches_are_smaller() {
        let now = Instant::now();
        let limits = BatchLimits {
            lines: 100_000,
            bytes: 1 << 20,
            ..LIMITS
        };
        let mut batcher = Batcher::new(limits);
        batcher.shrink(20_000);
        let line = format!("m v=\"{}\" 1", "x".repeat(900));
        add(&mut batcher, now, &[&*line; 40]);
        assert!(
            matches!(batcher.next(now, false), Next::Batch(batch) if batch.body.len() <= 20_000)
        );
        batcher.shrink(1);
        assert_eq!(batcher.limits.bytes, BYTES_MIN);
    }

    #[test]
    fn a_line_has_its_offset_and_number() {
        let batch = batch(&["m v=1 1\n\nm v=2 2", "# c\nm v=3 3"]);
        assert_eq!(batch.line(1), b"m v=2 2");
        assert_eq!(batch.body_of(&[0, 2]), b"m v=1 1\nm v=3 3\n");
        let messages: Vec<(i64, usize)> = (0..3)
            .map(|line| batch.unwritten(line, String::new()))
            .map(|line| (line.offset, line.number))
            .collect();
        assert_eq!(messages, [(10, 1), (10, 3), (11, 2)]);
    }
}

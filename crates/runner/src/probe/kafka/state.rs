//! What the thread of a Kafka probe has read: records, positions, and what it skipped.

use memchr::memchr;
use rdkafka::{Message, Timestamp, error::KafkaError, message::BorrowedMessage};
use tokio::time::Instant;

use super::skipped::SkippedOffsets;
use crate::probe::{
    lines::{Markers, RowStamp},
    log::{Observation, ProbeLog, RecordTimes},
    pace::Pace,
    sampling::Sampling,
};

const MS_NS: u64 = 1_000_000;

/// What a message is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Its delays are known.
    Follow,
    /// It may have been there for long, and only counts.
    Count,
}

/// The state that the thread shares.
#[derive(Debug)]
pub(super) struct State {
    pub(super) log: ProbeLog,
    pub(super) pace: Pace,
    pub(super) run: Vec<u8>,
    pub(super) markers: Markers,
    pub(super) sampling: Sampling,
    /// By partition: the first offset that is read.
    pub(super) starts: Vec<i64>,
    /// By partition: the next offset to read.
    positions: Vec<i64>,
    pub(super) skipped: SkippedOffsets,
    is_sample: bool,
    /// Which partitions have been read to their end.
    at_end: Vec<bool>,
    /// A window has ended, or everything is read, since this was taken last.
    has_looked: bool,
    /// Records that were visible, and records followed, when the first window began.
    first_window: Option<(u64, u64)>,
    /// When the last message came that was not skipped.
    pub(super) last_message: Option<Instant>,
    /// Why nothing can be read at present.
    pub(super) problem: Option<String>,
    pub(super) problems: u64,
    /// Messages without a timestamp of the broker.
    pub(super) without_append_time: u64,
}

impl State {
    pub(super) fn new(log: ProbeLog, markers: Markers, run: &str, sampling: Sampling) -> Self {
        Self {
            log,
            pace: Pace::new(),
            run: run.as_bytes().to_vec(),
            markers,
            sampling,
            starts: Vec::new(),
            positions: Vec::new(),
            skipped: SkippedOffsets::default(),
            is_sample: false,
            at_end: Vec::new(),
            has_looked: true,
            first_window: None,
            last_message: None,
            problem: None,
            problems: 0,
            without_append_time: 0,
        }
    }

    /// Reading begins at these offsets.
    pub(super) fn begin(&mut self, starts: Vec<i64>) {
        self.at_end = vec![false; starts.len()];
        self.positions.clone_from(&starts);
        self.starts = starts;
        self.problem = None;
    }

    /// The topic is to be read from the beginning.
    pub(super) fn forget(&mut self) {
        self.log.restart();
        self.sampling.restart();
        self.skipped = SkippedOffsets::default();
        self.first_window = None;
        self.at_end = vec![false];
    }

    /// The load is over. Of what comes then as large a share is followed as in the windows, so that late records weigh as much as
    /// others.
    pub(super) fn end_load(&mut self) {
        self.sampling.end_load();
        self.log.end_stretch();
        if let Some((visible, followed)) = self.first_window {
            let came = self.visible().saturating_sub(visible);
            let followed = self.log.followed.saturating_sub(followed);
            self.log.follow_one_in(came / followed.max(1));
            self.at_end.fill(false);
        }
    }

    /// Where a window begins if these are the ends of the partitions: a new leader may not know yet that more was read before.
    pub(super) fn window_starts(&self, ends: &[i64]) -> Vec<i64> {
        let positions = self.positions.iter().zip(ends);
        positions
            .map(|(position, end)| *position.max(end))
            .collect()
    }

    /// A window begins at these ends of the partitions; what lies before them is skipped.
    pub(super) fn begin_window(&mut self, began: Instant, ends: &[i64]) {
        let before = (self.visible(), self.log.followed);
        self.first_window.get_or_insert(before);
        self.log.end_stretch();
        self.log.update_window();
        let measured = self.log.measured_phase();
        self.pace.set_measured(measured);
        self.pace.polls += 1;
        for (partition, (position, &end)) in self.positions.iter_mut().zip(ends).enumerate() {
            self.is_sample |= *position < end;
            self.skipped.skip(partition, *position..end);
            *position = end.max(*position);
        }
        self.at_end.fill(false);
        self.pace.skip();
        // Whatever comes was appended since the ends were asked for.
        self.pace.at_end(began, false);
    }

    /// It ended with so many messages.
    pub(super) fn end_window(&mut self, began: Instant, messages: u64) {
        self.pace.end_window(messages > 0);
        let passed = self.passed_offsets();
        self.sampling.end_window(began, messages, passed);
        self.has_looked = true;
    }

    /// Whether a window has ended since the last call, or everything is read.
    pub(super) fn take_look(&mut self) -> bool {
        let is_whole = self.first_window.is_none() || self.sampling.is_over();
        is_whole | std::mem::take(&mut self.has_looked)
    }

    /// Whether something was skipped.
    pub(super) fn is_sample(&self) -> bool {
        self.is_sample
    }

    /// Offsets that were read or skipped.
    fn passed_offsets(&self) -> u64 {
        let partitions = self.positions.iter().zip(&self.starts);
        partitions
            .map(|(position, start)| position.abs_diff(*start))
            .sum()
    }

    /// How many different records are in the topic, as far as it is known. A skipped message counts as the mean of those that were
    /// read.
    pub(super) fn visible(&self) -> u64 {
        let (passed, distinct) = (self.passed_offsets(), self.log.seen.distinct);
        let read = passed.saturating_sub(self.skipped.count());
        if read == 0 || self.skipped.is_empty() {
            return distinct;
        }
        let all = u128::from(distinct) * u128::from(passed) / u128::from(read);
        u64::try_from(all).unwrap_or(u64::MAX)
    }

    /// Whether nothing is left to read: not of what was skipped either, if the load is over.
    pub(super) fn is_at_end(&self) -> bool {
        match self.sampling.is_over() {
            false if self.first_window.is_some() => true,
            false => self.are_partitions_at_end(),
            true => self.are_partitions_at_end() && self.skipped.is_empty(),
        }
    }

    pub(super) fn are_partitions_at_end(&self) -> bool {
        self.at_end.iter().all(|at_end| *at_end)
    }

    /// Logs a message, and returns for how many nanoseconds it waited at the broker.
    pub(super) fn take(
        &mut self,
        message: Result<BorrowedMessage<'_>, KafkaError>,
        purpose: Purpose,
    ) -> u64 {
        match message {
            Ok(message) => {
                self.problem = None;
                self.last_message = Some(Instant::now());
                if let Some(place) = self.place(message.partition()) {
                    self.at_end[place] = false;
                    self.positions[place] = message.offset() + 1;
                }
                self.message(&message, purpose)
            }
            Err(KafkaError::PartitionEOF(partition)) => {
                self.problem = None;
                if let Some(place) = self.place(partition) {
                    self.at_end[place] = true;
                }
                0
            }
            Err(problem) => {
                self.note_problem(problem.to_string());
                0
            }
        }
    }

    /// Counts a message if it was skipped.
    pub(super) fn take_skipped(&mut self, message: Result<BorrowedMessage<'_>, KafkaError>) {
        match message {
            Ok(message) => {
                self.problem = None;
                let place = usize::try_from(message.partition()).ok();
                if place.is_some_and(|place| self.skipped.take(place, message.offset())) {
                    self.message(&message, Purpose::Count);
                }
            }
            Err(KafkaError::PartitionEOF(partition)) => {
                if let Ok(place) = usize::try_from(partition) {
                    self.skipped.end(place);
                }
            }
            Err(problem) => self.note_problem(problem.to_string()),
        }
    }

    pub(super) fn note_problem(&mut self, problem: String) {
        self.problems += 1;
        self.problem = Some(problem);
        self.pace.note_failure();
    }

    fn place(&self, partition: i32) -> Option<usize> {
        let place = usize::try_from(partition).ok();
        place.filter(|place| *place < self.positions.len().min(self.at_end.len()))
    }

    fn message(&mut self, message: &BorrowedMessage<'_>, purpose: Purpose) -> u64 {
        let received_ns = self.log.clock.unix_ns();
        // The end of the broker's millisecond, so that no record arrives before it was sent.
        let arrived_ns = match message.timestamp() {
            Timestamp::LogAppendTime(ms) => u64::try_from(ms).ok().map(|ms| (ms + 1) * MS_NS - 1),
            _ => None,
        };
        self.without_append_time += u64::from(arrived_ns.is_none());
        let mut rest = message.payload().unwrap_or_default();
        self.pace.bytes_read += rest.len() as u64;
        // The broker shows no message before it has appended it.
        let appended_ns = arrived_ns.map_or(0, |arrived_ns| arrived_ns + 1 - MS_NS);
        let caught_up_ns = self.log.clock.unix_ns_at(self.pace.caught_up());
        let times = RecordTimes {
            received_ns,
            since_ns: caught_up_ns.max(appended_ns),
            arrived_ns,
        };
        let mut is_known = !rest.is_empty();
        while !rest.is_empty() {
            let end = memchr(b'\n', rest);
            let line = &rest[..end.unwrap_or(rest.len())];
            rest = end.map_or(&[], |end| &rest[end + 1..]);
            if line.is_empty() {
                continue;
            }
            self.pace.rows_read += 1;
            match self.markers.stamp(line, &self.run) {
                Some(stamp) => is_known &= self.record(stamp, times, purpose),
                None => {
                    is_known = false;
                    self.log.note_foreign_record();
                }
            }
        }
        // A record that is read again is old because it was read before.
        if is_known {
            return 0;
        }
        arrived_ns.map_or(0, |arrived_ns| received_ns.saturating_sub(arrived_ns))
    }

    /// Whether the record was seen before a restart of its store.
    fn record(&mut self, stamp: RowStamp, times: RecordTimes, purpose: Purpose) -> bool {
        match purpose {
            Purpose::Follow => self.log.record(stamp, times) == Observation::StillThere,
            Purpose::Count => {
                self.log.count(stamp, times.arrived_ns);
                false
            }
        }
    }
}

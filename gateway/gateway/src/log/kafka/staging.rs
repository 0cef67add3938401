//! The records that one worker has read in a cycle: lines are put into messages as they are read, each request completely or not
//! at all.

use std::{collections::HashMap, sync::Arc};

use waggle_record::line_protocol::Line;

use super::{
    batch::{Batch, Limits},
    settings::PartitionBy,
    topic::{Topic, Topics},
};
use crate::{answers::problem::Problem, ingest::Intake};

/// A time in nanoseconds, as text, with the blank before it and the line break after it.
const TIME_MAX_BYTES: usize = 22;

/// The staging area of one worker.
pub(crate) struct Staging {
    pub(super) batch: Batch,
    limits: Limits,
    partition_by: PartitionBy,
    /// Numbers requests, from 1.
    request: u64,
    /// The current request's topic in the batch, until the request is kept.
    open: Option<usize>,
    /// Messages that the current request has written to: index, and records and bytes before it.
    touched: Vec<(usize, u32, usize)>,
    /// The topic of the last request; usually the next request has the same.
    last: Option<(Box<str>, Arc<Topic>)>,
    known: HashMap<Box<str>, Arc<Topic>>,
}

/// A request whose records are being added; rolled back unless kept.
pub(crate) struct Adding<'staging> {
    staging: &'staging mut Staging,
    index: usize,
    parts: u64,
}

impl Staging {
    pub(super) fn new(limits: Limits, partition_by: PartitionBy) -> Self {
        Self {
            batch: Batch::default(),
            limits,
            partition_by,
            request: 0,
            open: None,
            touched: Vec::new(),
            last: None,
            known: HashMap::new(),
        }
    }

    /// A topic that can be written to.
    pub(crate) fn topic(&mut self, name: &str, topics: &Topics) -> Option<Arc<Topic>> {
        if let Some((last, topic)) = &self.last
            && **last == *name
            && !topic.is_gone()
        {
            return Some(Arc::clone(topic));
        }
        let known = self.known.get(name).filter(|topic| !topic.is_gone());
        let topic = if let Some(topic) = known {
            Arc::clone(topic)
        } else {
            self.known.remove(name);
            let topic = topics.ready(name)?;
            self.known.insert(name.into(), Arc::clone(&topic));
            topic
        };
        self.last = Some((name.into(), Arc::clone(&topic)));
        Some(topic)
    }

    /// Begins a request to the topic.
    pub(crate) fn add_to(&mut self, topic: &Arc<Topic>) -> Adding<'_> {
        self.take_back();
        self.request += 1;
        let (index, _) = self.batch.lines(topic);
        self.open = Some(index);
        Adding {
            staging: self,
            index,
            parts: 0,
        }
    }

    /// Rolls back a request that was not kept.
    pub(super) fn take_back(&mut self) {
        let Some(index) = self.open.take() else {
            return;
        };
        let lines = self.batch.lines_mut(index);
        for (index, records, bytes) in self.touched.drain(..) {
            let message = lines.message(index);
            let (more, longer) = (message.records - records, message.bytes.len() - bytes);
            message.records = records;
            message.bytes.truncate(bytes);
            lines.records -= more as usize;
            lines.bytes -= longer;
        }
    }

    pub(super) fn clear(&mut self) {
        self.open = None;
        self.touched.clear();
        self.batch.clear();
    }
}

impl Adding<'_> {
    /// Keeps the request; returns the bits of its partitions.
    pub(crate) fn keep(self) -> u64 {
        self.staging.open = None;
        self.staging.touched.clear();
        self.parts
    }
}

impl Drop for Adding<'_> {
    fn drop(&mut self) {
        self.staging.take_back();
    }
}

impl<'a> Intake<'a> for Adding<'_> {
    fn add(&mut self, line: &Line<'a>, time_ns: i64) -> Result<(), Problem> {
        let Staging {
            batch,
            limits,
            partition_by,
            request,
            touched,
            ..
        } = &mut *self.staging;
        let lines = batch.lines_mut(self.index);
        let (series, fields) = (line.series(), line.fields_raw());
        let room = series.len() + 1 + fields.len() + TIME_MAX_BYTES;
        if room > lines.topic.record_max_bytes() {
            return Err(too_large(line, room, &lines.topic));
        }
        let partition = match partition_by {
            PartitionBy::Series => partition_of(series, lines.partitions),
            PartitionBy::Batch => lines.shared_partition,
        };
        let index = lines.find_message(partition, 1, room, *limits);
        let message = lines.message(index);
        if message.request != *request {
            message.request = *request;
            touched.push((index, message.records, message.bytes.len()));
        }
        let before = message.bytes.len();
        message.bytes.reserve(room);
        message.bytes.extend_from_slice(series.as_bytes());
        message.bytes.push(b' ');
        message.bytes.extend_from_slice(fields.as_bytes());
        message.bytes.push(b' ');
        let mut digits = itoa::Buffer::new();
        message
            .bytes
            .extend_from_slice(digits.format(time_ns).as_bytes());
        message.bytes.push(b'\n');
        message.records += 1;
        let longer = message.bytes.len() - before;
        lines.records += 1;
        lines.bytes += longer;
        self.parts |= part_of(partition);
        Ok(())
    }
}

/// The bit of a partition in a request's share; partitions above 64 share bits.
pub(super) fn part_of(partition: u32) -> u64 {
    1 << (partition % 64)
}

/// A series is the measurement and the tags as written. FNV-1a, so that other programs can find the partition too.
fn partition_of(series: &str, partitions: u32) -> u32 {
    if partitions == 1 {
        return 0;
    }
    let hash = series
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    u32::try_from(hash % u64::from(partitions)).expect("less than the number of partitions")
}

fn too_large(line: &Line<'_>, bytes: usize, topic: &Topic) -> Problem {
    Problem::new(
        413,
        format!(
            "line {}: the record has {bytes} bytes with its time; topic {} accepts records of at most {} bytes",
            line.number,
            topic.name,
            topic.record_max_bytes()
        ),
    )
}

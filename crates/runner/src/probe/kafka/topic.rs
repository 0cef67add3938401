//! Connections to the brokers of a topic: consumers, and where its partitions begin and end.

use std::{
    thread,
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer},
    error::KafkaError,
};

use crate::probe::config::ProbeError;

/// Timeout for one answer of the broker.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// Pause between two attempts to continue elsewhere.
const SEEK_AGAIN_EVERY: Duration = Duration::from_millis(5);

/// A topic at its brokers.
#[derive(Debug, Clone)]
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) brokers: String,
    /// The mark of the trial, which is the consumers' group.
    pub(super) run: String,
}

impl Topic {
    pub(super) fn consumer(&self) -> Result<BaseConsumer, ProbeError> {
        let settings = [
            ("bootstrap.servers", self.brokers.as_str()),
            ("client.id", "waggle-probe"),
            // The client requires a group. Partitions are assigned and nothing is committed, so no group is joined.
            ("group.id", &self.run),
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
            ("allow.auto.create.topics", "false"),
            ("auto.offset.reset", "earliest"),
            ("enable.partition.eof", "true"),
            ("fetch.wait.max.ms", "100"),
            ("fetch.queue.backoff.ms", "10"),
            ("reconnect.backoff.max.ms", "500"),
            // Messages buffered in memory for the thread.
            ("queued.max.messages.kbytes", "32768"),
        ];
        let mut config = ClientConfig::new();
        for (name, value) in settings {
            config.set(name, value);
        }
        config
            .create()
            .map_err(|why| ProbeError::Kafka(format!("cannot create a consumer: {why}")))
    }

    /// For each partition the offset of the first message that was appended since `start_ms`.
    pub(super) fn offsets_since(
        &self,
        consumer: &BaseConsumer,
        start_ms: u64,
    ) -> Result<Vec<i64>, ProbeError> {
        let metadata = consumer
            .fetch_metadata(Some(&self.name), ANSWER_WITHIN)
            .map_err(|why| self.error(&why))?;
        let mut topics = metadata.topics().iter();
        let answer = topics.find(|answer| answer.name() == self.name);
        let partitions = answer.map_or(0, |answer| answer.partitions().len());
        if partitions == 0 {
            return Err(ProbeError::Kafka(format!(
                "there is no topic \"{}\"",
                self.name
            )));
        }
        // Read before the offsets by time: if nothing was appended by then, the next message will be at this offset.
        let ends = self.ends(consumer, partitions)?;
        let start = Offset::Offset(i64::try_from(start_ms).unwrap_or(i64::MAX));
        let answer = self.offsets_at(consumer, partitions, start)?;
        let offsets = answer.into_iter().zip(ends);
        Ok(offsets.map(|(answer, end)| answer.unwrap_or(end)).collect())
    }

    /// The offsets at which the next messages will be.
    pub(super) fn ends(
        &self,
        consumer: &BaseConsumer,
        partitions: usize,
    ) -> Result<Vec<i64>, ProbeError> {
        let offsets = self.offsets_at(consumer, partitions, Offset::End)?;
        let all: Option<Vec<i64>> = offsets.into_iter().collect();
        all.ok_or_else(|| {
            ProbeError::Kafka(format!(
                "topic \"{}\": the end of a partition is not known",
                self.name
            ))
        })
    }

    /// The offsets of each partition at a time in milliseconds, or at its end.
    fn offsets_at(
        &self,
        consumer: &BaseConsumer,
        partitions: usize,
        target: Offset,
    ) -> Result<Vec<Option<i64>>, ProbeError> {
        let mut asked = TopicPartitionList::new();
        for partition in numbers(partitions) {
            asked
                .add_partition_offset(&self.name, partition, target)
                .map_err(|why| self.error(&why))?;
        }
        let answer = consumer
            .offsets_for_times(asked, ANSWER_WITHIN)
            .map_err(|why| self.error(&why))?;
        let offset = |partition| match answer.find_partition(&self.name, partition)?.offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        };
        Ok(numbers(partitions).map(offset).collect())
    }

    /// Has a new consumer read these partitions from these offsets on. Only once: librdkafka aborts the process if an assignment
    /// is replaced while it still stops the one before (confluentinc/librdkafka#5573).
    pub(super) fn assign(
        &self,
        consumer: &BaseConsumer,
        offsets: impl IntoIterator<Item = (usize, i64)>,
    ) -> Result<(), ProbeError> {
        let assigned = self.partitions_at(offsets)?;
        consumer.assign(&assigned).map_err(|why| self.error(&why))
    }

    /// Has a consumer that was assigned all partitions continue at these offsets.
    pub(super) fn seek(&self, consumer: &BaseConsumer, offsets: &[i64]) -> Result<(), ProbeError> {
        let began = Instant::now();
        loop {
            let to = self.partitions_at(offsets.iter().copied().enumerate())?;
            let answer = consumer
                .seek_partitions(to, ANSWER_WITHIN)
                .map_err(|why| self.error(&why))?;
            let refused = answer
                .elements()
                .iter()
                .find_map(|partition| partition.error().err());
            match refused {
                None => return Ok(()),
                // The client refuses it until it has begun to fetch.
                Some(_) if began.elapsed() < ANSWER_WITHIN => thread::sleep(SEEK_AGAIN_EVERY),
                Some(why) => return Err(self.error(&why)),
            }
        }
    }

    /// Has a consumer fetch nothing until [`Self::resume`].
    pub(super) fn pause(
        &self,
        consumer: &BaseConsumer,
        partitions: usize,
    ) -> Result<(), ProbeError> {
        let all = self.partitions_at((0..partitions).map(|partition| (partition, 0)))?;
        consumer.pause(&all).map_err(|why| self.error(&why))
    }

    pub(super) fn resume(
        &self,
        consumer: &BaseConsumer,
        partitions: usize,
    ) -> Result<(), ProbeError> {
        let all = self.partitions_at((0..partitions).map(|partition| (partition, 0)))?;
        consumer.resume(&all).map_err(|why| self.error(&why))
    }

    fn partitions_at(
        &self,
        offsets: impl IntoIterator<Item = (usize, i64)>,
    ) -> Result<TopicPartitionList, ProbeError> {
        let mut list = TopicPartitionList::new();
        for (partition, offset) in offsets {
            let partition = i32::try_from(partition).unwrap_or(i32::MAX);
            list.add_partition_offset(&self.name, partition, Offset::Offset(offset))
                .map_err(|why| self.error(&why))?;
        }
        Ok(list)
    }

    /// Reads the topic from these offsets on, and from there again when it is at the end, for this long. Returns the bytes.
    pub(super) fn read_for(&self, starts: &[i64], time: Duration) -> Option<u64> {
        let consumer = self.consumer().ok()?;
        self.assign(&consumer, starts.iter().copied().enumerate())
            .ok()?;
        let (began, mut bytes, mut at_end) = (Instant::now(), 0, 0);
        while began.elapsed() < time {
            match consumer.poll(Duration::from_millis(10)) {
                Some(Ok(message)) => bytes += message.payload_len() as u64,
                Some(Err(KafkaError::PartitionEOF(_))) => at_end += 1,
                Some(Err(_)) => return None,
                None => {}
            }
            if at_end >= starts.len() {
                at_end = 0;
                self.seek(&consumer, starts).ok()?;
            }
        }
        Some(bytes)
    }

    fn error(&self, why: &KafkaError) -> ProbeError {
        ProbeError::Kafka(format!("topic \"{}\": {why}", self.name))
    }
}

fn numbers(partitions: usize) -> std::ops::Range<i32> {
    0..i32::try_from(partitions).unwrap_or(i32::MAX)
}

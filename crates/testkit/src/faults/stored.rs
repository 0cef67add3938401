//! Records in the log and in the database, by key, compared with the logs of the writers.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig, Message, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer},
};

use crate::{
    Influxdb,
    writers::{Epoch, Fate, WriterLog, writer_and_sequence},
};

/// Timeout of reading the whole log.
const READ_WITHIN: Duration = Duration::from_secs(300);
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Records of one writer per query.
const WINDOW: usize = 100_000;

/// Number of occurrences of each key.
#[derive(Debug, Default)]
pub struct StoredKeys {
    times: HashMap<u64, u32>,
}

/// The comparison for one store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Balance {
    /// Distinct keys.
    pub records: u64,
    /// Further occurrences of keys.
    pub duplicates: u64,
    /// Acknowledged but missing; `missing_keys` has the first few.
    pub missing: u64,
    pub missing_keys: Vec<u64>,
    /// Refused as not stored, but stored.
    pub refused_but_stored: u64,
}

impl StoredKeys {
    /// Every record of a topic.
    pub fn in_kafka(brokers: &str, topic: &str) -> Self {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", brokers)
            .set("group.id", "check")
            .set("enable.auto.commit", "false")
            .create()
            .expect("a consumer");
        let metadata = consumer.fetch_metadata(Some(topic), ANSWER_WITHIN);
        let partitions = metadata.expect("metadata").topics()[0].partitions().len();
        let (mut all, mut left) = (TopicPartitionList::new(), HashMap::new());
        for partition in 0..i32::try_from(partitions).expect("a few") {
            let ends = consumer.fetch_watermarks(topic, partition, ANSWER_WITHIN);
            left.insert(partition, ends.expect("the end of a partition").1);
            all.add_partition_offset(topic, partition, Offset::Beginning)
                .expect("a partition");
        }
        left.retain(|_, end| *end > 0);
        consumer.assign(&all).expect("all partitions");
        let (begun, mut keys) = (Instant::now(), Self::default());
        while !left.is_empty() {
            assert!(begun.elapsed() < READ_WITHIN, "still to read: {left:?}");
            let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) else {
                continue;
            };
            let value = message.payload().unwrap_or_default();
            keys.note(&String::from_utf8_lossy(value));
            let partition = message.partition();
            left.retain(|number, end| *number != partition || message.offset() + 1 < *end);
        }
        keys
    }

    fn note(&mut self, lines: &str) {
        let ours = lines.lines().filter(|line| line.starts_with("reading,"));
        for line in ours {
            let key = line.split_once("key=").and_then(|(_, rest)| {
                let digits = rest.split_once('i')?.0;
                digits.parse().ok()
            });
            *self.times.entry(key.expect("a key")).or_default() += 1;
        }
    }

    /// Every record of a bucket.
    pub fn in_influxdb(
        influxdb: &Influxdb,
        bucket: &str,
        epoch: Epoch,
        logs: &[WriterLog],
    ) -> Self {
        let mut keys = Self::default();
        let longest = logs.iter().map(|log| log.fates.len()).max();
        for first in (0..longest.unwrap_or(0)).step_by(WINDOW) {
            let (from, to) = (epoch.time_of(first), epoch.time_of(first + WINDOW));
            let answer = influxdb.query(&format!(
                "from(bucket: \"{bucket}\") |> range(start: time(v: {from}), stop: time(v: {to})) \
                 |> filter(fn: (r) => r._measurement == \"reading\" and r._field == \"key\") |> keep(columns: [\"_value\"])"
            ));
            let values = answer.lines().filter_map(|line| line.rsplit(',').next());
            for key in values.filter_map(|value| value.trim().parse().ok()) {
                *keys.times.entry(key).or_default() += 1;
            }
        }
        keys
    }

    pub fn balance(&self, logs: &[WriterLog]) -> Balance {
        let mut balance = Balance {
            records: self.times.len() as u64,
            duplicates: self.times.values().map(|times| u64::from(*times) - 1).sum(),
            ..Balance::default()
        };
        for log in logs {
            for (sequence, fate) in log.fates.iter().enumerate() {
                let key = crate::writers::key(log.writer, sequence);
                let is_there = self.times.contains_key(&key);
                match fate {
                    Fate::Acknowledged if !is_there => balance.miss(key),
                    Fate::Refused if is_there => balance.refused_but_stored += 1,
                    _ => {}
                }
            }
        }
        balance
    }

    /// Number of keys that no writer has sent.
    pub fn unknown_keys(&self, logs: &[WriterLog]) -> usize {
        let is_sent = |key: &u64| {
            let (writer, sequence) = writer_and_sequence(*key);
            let log = logs.iter().find(|log| log.writer == writer);
            log.is_some_and(|log| sequence < log.fates.len())
        };
        self.times.keys().filter(|key| !is_sent(key)).count()
    }
}

impl Balance {
    fn miss(&mut self, key: u64) {
        self.missing += 1;
        if self.missing_keys.len() < 10 {
            self.missing_keys.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_twice_or_against_the_word_is_counted() {
        let log = WriterLog {
            writer: 3,
            fates: vec![
                Fate::Acknowledged,
                Fate::Acknowledged,
                Fate::Refused,
                Fate::Refused,
                Fate::Unknown,
            ],
            unexpected: None,
        };
        let key = |sequence| crate::writers::key(3, sequence);
        let mut keys = StoredKeys::default();
        for sequence in [0, 0, 2, 4, 9] {
            keys.note(&format!(
                "reading,writer=w3 key={}i,filling=\"\" 1\n",
                key(sequence)
            ));
        }
        let logs = [log];
        let expected = Balance {
            records: 4,
            duplicates: 1,
            missing: 1,
            missing_keys: vec![key(1)],
            refused_but_stored: 1,
        };
        assert_eq!(keys.balance(&logs), expected);
        assert_eq!(keys.unknown_keys(&logs), 1);
    }
}

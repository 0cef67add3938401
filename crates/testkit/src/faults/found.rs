//! What lies in the log and in the database, by key; and what that says of an account.

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
    writers::{Account, Epoch, Fate, of_key},
};

/// The whole log must be read by then.
const READ_WITHIN: Duration = Duration::from_secs(300);
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Records of one writer that one question is about.
const WINDOW: usize = 100_000;

/// How often each key was found.
#[derive(Debug, Default)]
pub struct Found {
    times: HashMap<u64, u32>,
}

/// The account of one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Balance {
    /// Different keys.
    pub records: u64,
    /// Found once more, by key.
    pub duplicates: u64,
    /// Acknowledged and not there; the first few of them.
    pub missing: u64,
    pub missing_keys: Vec<u64>,
    /// Refused with the word that nothing was kept, and there all the same.
    pub refused_found: u64,
}

impl Found {
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
        let (begun, mut found) = (Instant::now(), Self::default());
        while !left.is_empty() {
            assert!(begun.elapsed() < READ_WITHIN, "still to read: {left:?}");
            let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) else {
                continue;
            };
            let value = message.payload().unwrap_or_default();
            found.note(&String::from_utf8_lossy(value));
            let partition = message.partition();
            left.retain(|of, end| *of != partition || message.offset() + 1 < *end);
        }
        found
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
        accounts: &[Account],
    ) -> Self {
        let mut found = Self::default();
        let longest = accounts.iter().map(|account| account.fates.len()).max();
        for first in (0..longest.unwrap_or(0)).step_by(WINDOW) {
            let (from, to) = (epoch.time_of(first), epoch.time_of(first + WINDOW));
            let answer = influxdb.query(&format!(
                "from(bucket: \"{bucket}\") |> range(start: time(v: {from}), stop: time(v: {to})) \
                 |> filter(fn: (r) => r._measurement == \"reading\" and r._field == \"key\") |> keep(columns: [\"_value\"])"
            ));
            let values = answer.lines().filter_map(|line| line.rsplit(',').next());
            for key in values.filter_map(|value| value.trim().parse().ok()) {
                *found.times.entry(key).or_default() += 1;
            }
        }
        found
    }

    pub fn balance(&self, accounts: &[Account]) -> Balance {
        let mut balance = Balance {
            records: self.times.len() as u64,
            duplicates: self.times.values().map(|times| u64::from(*times) - 1).sum(),
            ..Balance::default()
        };
        for account in accounts {
            for (sequence, fate) in account.fates.iter().enumerate() {
                let key = crate::writers::key(account.writer, sequence);
                let is_there = self.times.contains_key(&key);
                match fate {
                    Fate::Acknowledged if !is_there => balance.miss(key),
                    Fate::Refused if is_there => balance.refused_found += 1,
                    _ => {}
                }
            }
        }
        balance
    }

    /// Keys that no writer has sent.
    pub fn strangers(&self, accounts: &[Account]) -> usize {
        let is_sent = |key: &u64| {
            let (writer, sequence) = of_key(*key);
            let account = accounts.iter().find(|account| account.writer == writer);
            account.is_some_and(|account| sequence < account.fates.len())
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
        let account = Account {
            writer: 3,
            fates: vec![
                Fate::Acknowledged,
                Fate::Acknowledged,
                Fate::Refused,
                Fate::Refused,
                Fate::Unknown,
            ],
            strange: None,
        };
        let key = |sequence| crate::writers::key(3, sequence);
        let mut found = Found::default();
        for sequence in [0, 0, 2, 4, 9] {
            found.note(&format!(
                "reading,writer=w3 key={}i,filling=\"\" 1\n",
                key(sequence)
            ));
        }
        let accounts = [account];
        let expected = Balance {
            records: 4,
            duplicates: 1,
            missing: 1,
            missing_keys: vec![key(1)],
            refused_found: 1,
        };
        assert_eq!(found.balance(&accounts), expected);
        assert_eq!(found.strangers(&accounts), 1);
    }
}

//! A broker that tests share, a consumer of its topics, and changes of topics.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig, Message, Offset, Timestamp, TopicPartitionList,
    admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication},
    client::DefaultClientContext,
    consumer::{BaseConsumer, Consumer},
};
use waggle_testkit::Kafka;

use crate::support::wait_until;

/// Timeout of every request on loopback.
const PATIENCE: Duration = Duration::from_secs(60);

/// The broker of tests that do not disturb it: started by the first of them, stopped after the last.
pub(crate) fn shared_broker() -> Arc<Kafka> {
    static SHARED: Mutex<Weak<Kafka>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kafka) = shared.upgrade() {
        return kafka;
    }
    let kafka = Arc::new(Kafka::start());
    *shared = Arc::downgrade(&kafka);
    kafka
}

/// One message of a topic.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) partition: i32,
    pub(super) value: String,
    pub(super) time: Timestamp,
}

fn config(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", brokers)
        .set("group.id", "tests")
        .set("enable.auto.commit", "false")
        .set("allow.auto.create.topics", "false")
        .set("reconnect.backoff.max.ms", "500");
    config
}

/// Number of partitions of the topic; 0 if it does not exist.
pub(super) fn partitions(brokers: &str, topic: &str) -> usize {
    let consumer: BaseConsumer = config(brokers).create().unwrap();
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE).unwrap();
    metadata.topics()[0].partitions().len()
}

/// Returns when a client finds a leader for every partition of the topic.
pub(super) fn wait_for_leaders(brokers: &str, topic: &str) {
    let consumer: BaseConsumer = config(brokers).create().unwrap();
    wait_until("every partition has a leader", || {
        let answer = consumer.fetch_metadata(Some(topic), Duration::from_secs(1));
        answer.is_ok_and(|metadata| {
            let partitions = metadata.topics()[0].partitions();
            !partitions.is_empty() && partitions.iter().all(|partition| partition.leader() >= 0)
        })
    });
}

/// All messages of a topic, in the order of each partition.
pub(super) fn messages(brokers: &str, topic: &str) -> Vec<Found> {
    let consumer: BaseConsumer = config(brokers).create().unwrap();
    let mut ends = Vec::new();
    let mut assigned = TopicPartitionList::new();
    for partition in 0..i32::try_from(partitions(brokers, topic)).unwrap() {
        let (_, end) = consumer
            .fetch_watermarks(topic, partition, PATIENCE)
            .unwrap();
        ends.push(end);
        assigned
            .add_partition_offset(topic, partition, Offset::Beginning)
            .unwrap();
    }
    consumer.assign(&assigned).unwrap();
    let mut entries = Vec::new();
    let begun = Instant::now();
    while ends.iter().any(|left| *left > 0) {
        assert!(begun.elapsed() < PATIENCE, "left in partitions: {ends:?}");
        let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) else {
            continue;
        };
        let index = usize::try_from(message.partition()).unwrap();
        if message.offset() + 1 >= ends[index] {
            ends[index] = 0;
        }
        entries.push(Found {
            partition: message.partition(),
            value: String::from_utf8(message.payload().unwrap().to_vec()).unwrap(),
            time: message.timestamp(),
        });
    }
    entries.sort_by_key(|entry| entry.partition);
    entries
}

/// The lines of a topic's messages.
pub(super) fn lines(brokers: &str, topic: &str) -> Vec<String> {
    let lines = |message: Found| message.value.lines().map(str::to_owned).collect::<Vec<_>>();
    messages(brokers, topic)
        .into_iter()
        .flat_map(lines)
        .collect()
}

fn admin(brokers: &str) -> AdminClient<DefaultClientContext> {
    config(brokers).create().unwrap()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(work)
}

/// Creates a topic of one partition with a setting.
pub(super) fn make(brokers: &str, topic: &str, setting: &str, value: &str) {
    let new = NewTopic::new(topic, 1, TopicReplication::Fixed(1)).set(setting, value);
    let admin = admin(brokers);
    let done = admin.create_topics([&new], &AdminOptions::new());
    block_on(done).unwrap()[0].as_ref().unwrap();
}

pub(super) fn add_partitions(brokers: &str, topic: &str, partitions: usize) {
    let more = NewPartitions::new(topic, partitions);
    let admin = admin(brokers);
    let done = admin.create_partitions([&more], &AdminOptions::new());
    block_on(done).unwrap()[0].as_ref().unwrap();
}

pub(super) fn delete(brokers: &str, topic: &str) {
    let admin = admin(brokers);
    let done = admin.delete_topics(&[topic], &AdminOptions::new());
    block_on(done).unwrap()[0].as_ref().unwrap();
}

//! How many messages of a topic a group of consumers has not committed yet.

use std::{net::SocketAddr, time::Duration};

use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer},
    error::KafkaError,
};

/// How long the broker has for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// A client that asks for the group's offsets and is no member of it.
pub(crate) struct KafkaLag {
    consumer: BaseConsumer,
    topic: String,
}

impl std::fmt::Debug for KafkaLag {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "KafkaLag({})", self.topic)
    }
}

impl KafkaLag {
    pub(super) fn new(brokers: &[SocketAddr], group: &str, topic: &str) -> Result<Self, String> {
        let brokers: Vec<String> = brokers.iter().map(ToString::to_string).collect();
        let settings = [
            ("bootstrap.servers", brokers.join(",")),
            ("client.id", "waggle-watch".to_owned()),
            ("group.id", group.to_owned()),
            ("enable.auto.commit", "false".to_owned()),
            ("allow.auto.create.topics", "false".to_owned()),
            ("reconnect.backoff.max.ms", "500".to_owned()),
        ];
        let mut config = ClientConfig::new();
        for (name, value) in settings {
            config.set(name, value);
        }
        let consumer = config
            .create()
            .map_err(|why| format!("no consumer can be made: {why}"))?;
        Ok(Self {
            consumer,
            topic: topic.to_owned(),
        })
    }

    /// Over all partitions: the end of the log less what is committed; where nothing is committed, less its beginning.
    pub(super) fn read(&self) -> Result<f64, String> {
        let topic = self.topic.as_str();
        let told = |why: KafkaError| format!("topic \"{topic}\": {why}");
        let metadata = self
            .consumer
            .fetch_metadata(Some(topic), ANSWER_WITHIN)
            .map_err(told)?;
        let found = metadata.topics().iter().find(|found| found.name() == topic);
        let partitions = found.map_or(0, |found| found.partitions().len());
        let mut asked = TopicPartitionList::new();
        for partition in 0..i32::try_from(partitions).unwrap_or(i32::MAX) {
            asked.add_partition(topic, partition);
        }
        if partitions == 0 {
            return Err(format!("there is no topic \"{topic}\""));
        }
        let committed = self
            .consumer
            .committed_offsets(asked, ANSWER_WITHIN)
            .map_err(told)?;
        let mut lag = 0;
        for element in committed.elements() {
            let (start, end) = self
                .consumer
                .fetch_watermarks(topic, element.partition(), ANSWER_WITHIN)
                .map_err(told)?;
            let done = match element.offset() {
                Offset::Offset(offset) => offset.max(start),
                _ => start,
            };
            lag += (end - done).max(0);
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "messages that wait are far below 2^52"
        )]
        let lag = lag as f64;
        Ok(lag)
    }
}

//! Consumer lag: how many messages of a topic a consumer group has not committed yet.

use std::{net::SocketAddr, time::Duration};

use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer},
    error::KafkaError,
};

use crate::problem::Problem;

/// Timeout for one answer of the broker.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// A client that reads the group's offsets and is not a member of it.
pub struct ConsumerLag {
    consumer: BaseConsumer,
    topic: String,
}

impl std::fmt::Debug for ConsumerLag {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ConsumerLag({})", self.topic)
    }
}

impl ConsumerLag {
    pub(super) fn new(brokers: &[SocketAddr], group: &str, topic: &str) -> Result<Self, Problem> {
        let brokers: Vec<String> = brokers.iter().map(ToString::to_string).collect();
        let settings = [
            ("bootstrap.servers", brokers.join(",")),
            ("client.id", "waggle-metric".to_owned()),
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
            .map_err(|why| Problem(format!("cannot create a consumer: {why}")))?;
        Ok(Self {
            consumer,
            topic: topic.to_owned(),
        })
    }

    /// Over all partitions: the end of the log minus the committed offset, or minus the beginning if nothing is committed.
    pub(super) fn read(&self) -> Result<f64, Problem> {
        let topic = self.topic.as_str();
        let topic_error = |why: KafkaError| Problem(format!("topic \"{topic}\": {why}"));
        let metadata = self
            .consumer
            .fetch_metadata(Some(topic), ANSWER_WITHIN)
            .map_err(topic_error)?;
        let entry = metadata.topics().iter().find(|entry| entry.name() == topic);
        let partitions = entry.map_or(0, |entry| entry.partitions().len());
        let mut asked = TopicPartitionList::new();
        for partition in 0..i32::try_from(partitions).unwrap_or(i32::MAX) {
            asked.add_partition(topic, partition);
        }
        if partitions == 0 {
            return Err(Problem(format!("there is no topic \"{topic}\"")));
        }
        let committed = self
            .consumer
            .committed_offsets(asked, ANSWER_WITHIN)
            .map_err(topic_error)?;
        let mut lag = 0;
        for element in committed.elements() {
            let (start, end) = self
                .consumer
                .fetch_watermarks(topic, element.partition(), ANSWER_WITHIN)
                .map_err(topic_error)?;
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rdkafka::{
        admin::{AdminClient, AdminOptions, NewTopic, TopicReplication},
        client::DefaultClientContext,
        consumer::CommitMode,
        producer::{BaseProducer, BaseRecord, Producer},
    };
    use waggle_testkit::Kafka;

    use super::*;

    const TOPIC: &str = "plant";
    const GROUP: &str = "writer";
    /// Far longer than a broker takes, for a busy machine.
    const PATIENCE: Duration = Duration::from_secs(120);

    fn config(kafka: &Kafka) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", kafka.brokers())
            .set("group.id", GROUP)
            .set("enable.auto.commit", "false");
        config
    }

    /// Sends this many messages into each partition.
    async fn fill(kafka: &Kafka, partitions: &[usize]) {
        let admin: AdminClient<DefaultClientContext> = config(kafka).create().unwrap();
        let count = i32::try_from(partitions.len()).unwrap();
        let topic = NewTopic::new(TOPIC, count, TopicReplication::Fixed(1));
        let made = admin.create_topics([&topic], &AdminOptions::new()).await;
        assert_eq!(made.unwrap(), [Ok(TOPIC.to_owned())]);
        let producer: BaseProducer = config(kafka).create().unwrap();
        for (partition, messages) in (0..).zip(partitions) {
            for _ in 0..*messages {
                let record: BaseRecord<'_, (), str> =
                    BaseRecord::to(TOPIC).partition(partition).payload("m v=1");
                producer.send(record).map_err(|(why, _)| why).unwrap();
            }
        }
        producer.flush(PATIENCE).unwrap();
    }

    fn commit(kafka: &Kafka, partition: i32, offset: i64) {
        let consumer: BaseConsumer = config(kafka).create().unwrap();
        let mut offsets = TopicPartitionList::new();
        let offset = Offset::Offset(offset);
        offsets
            .add_partition_offset(TOPIC, partition, offset)
            .unwrap();
        consumer.commit(&offsets, CommitMode::Sync).unwrap();
    }

    /// Reads the first number; retries while the broker has just started or the group is new.
    fn read(lag: &ConsumerLag) -> f64 {
        let begun = Instant::now();
        loop {
            match lag.read() {
                Ok(number) => return number,
                Err(why) => assert!(begun.elapsed() < PATIENCE, "{why}"),
            }
        }
    }

    #[tokio::test]
    async fn what_a_group_has_not_committed_is_counted_over_all_partitions() {
        let mut kafka = Kafka::start();
        let lag = ConsumerLag::new(&[kafka.address()], GROUP, TOPIC).unwrap();
        let why = lag.read().unwrap_err().to_string();
        assert!(
            why.starts_with("there is no topic \"plant\"") || why.contains("topic \"plant\": ")
        );
        fill(&kafka, &[30, 12, 0]).await;
        assert_eq!(read(&lag), 42.0);
        commit(&kafka, 0, 25);
        assert_eq!(read(&lag), 17.0);
        commit(&kafka, 1, 12);
        assert_eq!(read(&lag), 5.0);
        commit(&kafka, 0, 30);
        assert_eq!(read(&lag), 0.0);
        kafka.kill();
        let asked = Instant::now();
        assert!(lag.read().is_err());
        assert!(asked.elapsed() < PATIENCE);
        kafka.restart();
        assert_eq!(read(&lag), 0.0);
    }
}

//! The servers of these tests: writes messages to Kafka, reads records from InfluxDB.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, OnceLock},
    time::{Duration, SystemTime},
};

use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    admin::{AdminClient, AdminOptions, NewTopic, TopicReplication},
    client::DefaultClientContext,
    consumer::{BaseConsumer, Consumer},
    message::{Headers, Message},
    producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer},
};
use waggle_testkit::{DEADLINE, Influxdb, Kafka, wait_until};

/// The Kafka of all tests that do not stop it.
pub(crate) fn log() -> &'static Log {
    static SHARED: OnceLock<Log> = OnceLock::new();
    SHARED.get_or_init(|| Log::new(Kafka::start()))
}

/// The database of all tests that do not stop it.
pub(crate) fn database() -> &'static Influxdb {
    static SHARED: OnceLock<Influxdb> = OnceLock::new();
    SHARED.get_or_init(Influxdb::start)
}

/// Kafka, and a producer for it.
pub(crate) struct Log {
    kafka: Option<Mutex<Kafka>>,
    brokers: String,
    producer: ThreadedProducer<DefaultProducerContext>,
}

impl Log {
    pub(crate) fn new(kafka: Kafka) -> Self {
        let mut log = Self::of_brokers(&kafka.brokers());
        log.kafka = Some(Mutex::new(kafka));
        log
    }

    /// The log of a Kafka that the caller keeps.
    pub(crate) fn of_brokers(brokers: &str) -> Self {
        let producer = config(brokers)
            .set("enable.idempotence", "true")
            .set("linger.ms", "2")
            .set("message.timeout.ms", DEADLINE.as_millis().to_string())
            .create()
            .unwrap();
        Self {
            kafka: None,
            brokers: brokers.to_owned(),
            producer,
        }
    }

    pub(crate) fn kafka(&self) -> MutexGuard<'_, Kafka> {
        self.kafka.as_ref().unwrap().lock().unwrap()
    }

    /// Creates a topic.
    pub(crate) fn make(&self, topic: &str, partitions: i32) {
        let admin: AdminClient<DefaultClientContext> = config(&self.brokers).create().unwrap();
        let new = [NewTopic::new(topic, partitions, TopicReplication::Fixed(1))];
        let options = AdminOptions::new()
            .operation_timeout(Some(DEADLINE))
            .request_timeout(Some(DEADLINE));
        let made = admin.create_topics(&new, &options);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(made).unwrap()[0].as_ref().unwrap();
    }

    /// Writes messages to a topic, round-robin over its partitions.
    pub(crate) fn put(&self, topic: &str, partitions: i32, messages: &[String]) {
        for (partition, message) in (0..partitions).cycle().zip(messages) {
            let record = BaseRecord::<(), _>::to(topic)
                .partition(partition)
                .payload(message);
            let sent = self.producer.send(record);
            assert!(sent.is_ok(), "{:?}", sent.err().map(|(error, _)| error));
        }
    }

    /// Waits until Kafka has all messages.
    pub(crate) fn flush(&self) {
        self.producer.flush(DEADLINE).unwrap();
    }

    /// The group's committed offset of each partition; 0 if there is none.
    pub(crate) fn committed_offsets(&self, group: &str, topic: &str, partitions: i32) -> Vec<i64> {
        let consumer = self.consumer(group);
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range(topic, 0, partitions - 1);
        // A coordinator that has just started answers with an error.
        let mut answered = TopicPartitionList::new();
        wait_until("answer about committed offsets", || {
            let asking = consumer.committed_offsets(asked.clone(), DEADLINE);
            asking.map(|list| answered = list).is_ok()
        });
        let offset = |offset| match offset {
            Offset::Offset(offset) => offset,
            _ => 0,
        };
        answered
            .elements()
            .iter()
            .map(|element| offset(element.offset()))
            .collect()
    }

    /// The offset after the last message of each partition.
    pub(crate) fn ends(&self, topic: &str, partitions: i32) -> Vec<i64> {
        let consumer = self.consumer("ends");
        let end = |partition| {
            consumer
                .fetch_watermarks(topic, partition, DEADLINE)
                .unwrap()
                .1
        };
        (0..partitions).map(end).collect()
    }

    /// The first messages of a topic with one partition: value and headers, as `key=value`.
    pub(crate) fn messages(&self, topic: &str, count: usize) -> Vec<(String, Vec<String>)> {
        let consumer = self.consumer("messages");
        let mut all = TopicPartitionList::new();
        all.add_partition_offset(topic, 0, Offset::Beginning)
            .unwrap();
        consumer.assign(&all).unwrap();
        let mut messages = Vec::new();
        wait_until(&format!("{count} messages in {topic}"), || {
            while let Some(Ok(message)) = consumer.poll(Duration::from_millis(200)) {
                let text = |bytes: Option<&[u8]>| {
                    String::from_utf8(bytes.unwrap_or_default().to_vec()).unwrap()
                };
                let headers = message.headers().unwrap().iter();
                let headers =
                    headers.map(|header| format!("{}={}", header.key, text(header.value)));
                messages.push((text(message.payload()), headers.collect()));
            }
            messages.len() >= count
        });
        messages
    }

    fn consumer(&self, group: &str) -> BaseConsumer {
        config(&self.brokers)
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .create()
            .unwrap()
    }

    /// The flags of a sink of this log.
    pub(crate) fn flags(&self, topic: &str, database: &Influxdb) -> Vec<String> {
        self.flags_to(topic, &database.url(), database.bucket())
    }

    /// The same, for a database by its address.
    pub(crate) fn flags_to(&self, topic: &str, url: &str, bucket: &str) -> Vec<String> {
        [
            format!("--kafka-brokers={}", self.brokers),
            format!("--topic={topic}"),
            format!("--group=group-of-{topic}"),
            format!("--influxdb-url={url}"),
            "--influxdb-org=lab".to_owned(),
            format!("--influxdb-bucket={bucket}"),
            "--session-timeout=6s".to_owned(),
        ]
        .into()
    }
}

fn config(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", brokers)
        .set("reconnect.backoff.max.ms", "200");
    config
}

/// Messages with `lines` lines each, with these keys in order. Each line has a unique time.
pub(crate) fn messages(
    measurement: &str,
    keys: std::ops::Range<usize>,
    lines: usize,
) -> Vec<String> {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    let line = |key: &usize| {
        format!(
            "{measurement},host=h{} v={key}.5,waggle_key={key}i {}",
            key % 10,
            now + *key as u128
        )
    };
    let keys: Vec<usize> = keys.collect();
    keys.chunks(lines)
        .map(|some| some.iter().map(line).collect::<Vec<_>>().join("\n"))
        .collect()
}

/// The keys that can be queried.
pub(crate) fn keys(database: &Influxdb, measurement: &str) -> BTreeSet<usize> {
    let answer = database.query(&format!(
        "from(bucket: \"{}\") |> range(start: 0, stop: 2100-01-01T00:00:00Z) |> filter(fn: (r) => r._measurement == \"{measurement}\" and r._field == \"waggle_key\") |> keep(columns: [\"_value\"])",
        database.bucket()
    ));
    let values = answer.lines().filter_map(|line| line.rsplit(',').next());
    values
        .filter_map(|value| value.trim().parse().ok())
        .collect()
}

/// Waits until exactly these keys can be queried.
pub(crate) fn wait_for_keys(
    database: &Influxdb,
    measurement: &str,
    expected: std::ops::Range<usize>,
) {
    let expected: BTreeSet<usize> = expected.collect();
    let mut missing = expected.len();
    wait_until(&format!("{} keys of {measurement}", expected.len()), || {
        let arrivals = keys(database, measurement);
        assert!(arrivals.is_subset(&expected), "more than was put");
        missing = expected.len() - arrivals.len();
        missing == 0
    });
}

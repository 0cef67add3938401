//! Topics of Kafka for the bench: `topic BROKERS make NAME PARTITIONS`, `… remove NAME`, `… end NAME`, `… count NAME`.
//!
//! `end` prints the messages in it. `count` reads every partition from its beginning to the end that it had at the start and
//! prints `lines=… distinct=… messages=… bytes=…`; distinct are lines whose time (the last word) is there for the first time.
//! waggle gives each record that it sends a time of its own, so that `distinct` must be no less than what was acknowledged.

use std::{collections::HashSet, error::Error, time::Duration};

use rdkafka::{
    ClientConfig, Message, Offset, TopicPartitionList,
    admin::{AdminClient, AdminOptions, NewTopic, TopicReplication},
    client::DefaultClientContext,
    consumer::{BaseConsumer, Consumer},
};

/// For an answer of the broker.
const PATIENCE: Duration = Duration::from_secs(30);
const USAGE: &str = "usage: topic BROKERS make NAME PARTITIONS|remove NAME|end NAME|count NAME";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [brokers, rest @ ..] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", *brokers);
    match rest {
        ["make", name, partitions] => make(&config, name, partitions.parse()?).await,
        ["remove", name] => remove(&config, name).await,
        ["end", name] => {
            let parts = parts(&consumer(&config)?, name)?;
            println!(
                "{}",
                parts.iter().map(|part| part.end - part.at).sum::<i64>()
            );
            Ok(())
        }
        ["count", name] => count(&consumer(&config)?, name),
        _ => Err(USAGE.into()),
    }
}

async fn make(config: &ClientConfig, name: &str, partitions: i32) -> Result<(), Box<dyn Error>> {
    let admin: AdminClient<DefaultClientContext> = config.create()?;
    let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    for made in admin.create_topics([&topic], &AdminOptions::new()).await? {
        made.map_err(|(name, error)| format!("making topic {name}: {error}"))?;
    }
    Ok(())
}

async fn remove(config: &ClientConfig, name: &str) -> Result<(), Box<dyn Error>> {
    let admin: AdminClient<DefaultClientContext> = config.create()?;
    for removed in admin.delete_topics(&[name], &AdminOptions::new()).await? {
        removed.map_err(|(name, error)| format!("removing topic {name}: {error}"))?;
    }
    Ok(())
}

fn consumer(config: &ClientConfig) -> Result<BaseConsumer, Box<dyn Error>> {
    let mut config = config.clone();
    config
        .set("group.id", "bench")
        .set("enable.auto.commit", "false");
    Ok(config.create()?)
}

/// What is left of a partition.
struct Part {
    at: i64,
    end: i64,
}

fn parts(consumer: &BaseConsumer, topic: &str) -> Result<Vec<Part>, Box<dyn Error>> {
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE)?;
    let topic_metadata = metadata.topics().first().ok_or("no such topic")?;
    let mut parts = Vec::new();
    for partition in 0..i32::try_from(topic_metadata.partitions().len())? {
        let (start, end) = consumer.fetch_watermarks(topic, partition, PATIENCE)?;
        parts.push(Part { at: start, end });
    }
    Ok(parts)
}

fn count(consumer: &BaseConsumer, topic: &str) -> Result<(), Box<dyn Error>> {
    let mut left = parts(consumer, topic)?;
    let mut assigned = TopicPartitionList::new();
    for partition in 0..i32::try_from(left.len())? {
        assigned.add_partition_offset(topic, partition, Offset::Beginning)?;
    }
    consumer.assign(&assigned)?;
    let mut seen = HashSet::new();
    let (mut lines, mut messages, mut bytes) = (0_u64, 0_u64, 0_usize);
    while left.iter().any(|part| part.at < part.end) {
        let message = consumer
            .poll(PATIENCE)
            .ok_or("the broker sends no more, before the end of the topic")??;
        let value = message.payload().unwrap_or_default();
        messages += 1;
        bytes += value.len();
        for line in value.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            lines += 1;
            let time = line.rsplit(|byte| *byte == b' ').next();
            seen.insert(std::str::from_utf8(time.unwrap_or_default())?.parse::<i64>()?);
        }
        left[usize::try_from(message.partition())?].at = message.offset() + 1;
    }
    let distinct = seen.len();
    println!("lines={lines} distinct={distinct} messages={messages} bytes={bytes}");
    Ok(())
}

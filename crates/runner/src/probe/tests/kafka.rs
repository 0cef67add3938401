//! The probe of Kafka on a real broker.

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig,
    admin::{AdminClient, AdminOptions, NewTopic, TopicReplication},
    client::DefaultClientContext,
    producer::{BaseProducer, BaseRecord, Producer},
};
use waggle_load::key_of;
use waggle_study::{Extract, ProbeKind};
use waggle_testkit::Kafka;

use super::{ALL_WITHIN, Bench, Depth, RUN, account, poll_until};

/// Longer than any slow machine delays a record.
const LATE_AFTER_NS: u64 = 1_000_000_000_000;

const TOPIC: &str = "plant";
const PARTITIONS: i32 = 2;
const SENT: u64 = 1_000;
/// Lines of one message.
const LINES: usize = 7;

fn bench() -> Bench {
    Bench::new(
        ProbeKind::Kafka {
            topic: TOPIC.to_owned(),
        },
        Extract::After {
            key: "waggle_key=".to_owned(),
            run: Some("waggle_run=".to_owned()),
            time: None,
        },
    )
}

fn config(broker: SocketAddr) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", broker.to_string());
    config
}

async fn create_topic(broker: SocketAddr, partitions: i32, timestamps: &str) {
    let admin: AdminClient<DefaultClientContext> = config(broker).create().unwrap();
    let topic = NewTopic::new(TOPIC, partitions, TopicReplication::Fixed(1))
        .set("message.timestamp.type", timestamps);
    let made = admin.create_topics([&topic], &AdminOptions::new()).await;
    assert_eq!(made.unwrap(), [Ok(TOPIC.to_owned())]);
}

/// Messages of several lines each, over all partitions.
fn produce(broker: SocketAddr, lines: &[String]) {
    produce_to(broker, PARTITIONS, lines);
}

fn produce_to(broker: SocketAddr, partitions: i32, lines: &[String]) {
    let producer: BaseProducer = config(broker).create().unwrap();
    for (number, lines) in (0..).zip(lines.chunks(LINES)) {
        let value = lines.join("\n");
        let record: BaseRecord<'_, (), str> = BaseRecord::to(TOPIC)
            .partition(number % partitions)
            .payload(&value);
        producer.send(record).map_err(|(why, _)| why).unwrap();
    }
    producer.flush(Duration::from_secs(30)).unwrap();
}

#[tokio::test]
async fn every_record_of_a_topic_is_accounted_for() {
    let kafka = Kafka::start();
    let broker = kafka.address();
    let mut bench = bench();
    bench.delivery.late_threshold = Some(Duration::from_nanos(LATE_AFTER_NS));
    // The probe starts before the topic exists.
    let mut reader = bench.reader(broker);
    create_topic(broker, PARTITIONS, "LogAppendTime").await;
    let mut lines = Vec::new();
    for sequence in (0..SENT).filter(|sequence| ![17, 500].contains(sequence)) {
        let ago_ns = match sequence % 250 {
            3 => 2 * LATE_AFTER_NS,
            _ => 0,
        };
        let line = bench.line(sequence, ago_ns);
        if sequence % 400 == 5 {
            lines.push(line.clone());
        }
        lines.push(line);
    }
    lines.push(bench.line(17, 0).replace(RUN, "t1x2b"));
    lines.push("no record".to_owned());
    produce(broker, &lines);
    poll_until(&mut reader, SENT - 2).await;
    let ledger = account(&reader, SENT);
    assert_eq!(
        (ledger.delivered, ledger.missing, &ledger.missing_keys[..]),
        (SENT - 2, 2, &[key_of(0, 17), key_of(0, 500)][..])
    );
    assert_eq!(
        (ledger.duplicates, ledger.late, ledger.unexpected),
        (3, 4, 2)
    );
    let (visible, arrival) = reader.log(|log| {
        let arrival = log.delay_histograms(false).arrival.unwrap();
        (
            log.delay_histograms(false).delivery.clone(),
            arrival.clone(),
        )
    });
    assert_eq!((visible.len(), arrival.len()), (SENT - 2, SENT - 2));
    assert!(arrival.value_at_quantile(0.5) <= visible.value_at_quantile(0.5) + 1_000);
    assert_eq!(reader.remark(), None);
}

#[tokio::test]
async fn a_topic_is_read_again_after_a_kill_of_its_broker() {
    let mut kafka = Kafka::start();
    let broker = kafka.address();
    create_topic(broker, PARTITIONS, "LogAppendTime").await;
    let bench = bench();
    let mut reader = bench.reader(broker);
    let lines = |sequences: std::ops::Range<u64>| -> Vec<String> {
        sequences.map(|sequence| bench.line(sequence, 0)).collect()
    };
    produce(broker, &[lines(0..SENT - 5), lines(3..5)].concat());
    poll_until(&mut reader, SENT - 5).await;
    let out_of_order = reader.log(|log| log.seen.out_of_order);
    kafka.kill();
    kafka.restart();
    reader.forget();
    assert_eq!(reader.log(|log| log.seen.distinct), 0);
    let start = Instant::now();
    while !matches!(reader.poll(Depth::Turn).await, Ok(false)) {
        assert!(start.elapsed() < ALL_WITHIN, "it is not read to its end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let seen = reader.log(|log| (log.seen.distinct, log.seen.out_of_order));
    assert_eq!(seen, (SENT - 5, out_of_order));
    produce(broker, &lines(SENT - 5..SENT));
    poll_until(&mut reader, SENT).await;
    let ledger = account(&reader, SENT);
    assert_eq!((ledger.delivered, ledger.missing), (SENT, 0));
    // The two copies are counted once, and so is each delay.
    assert_eq!((ledger.duplicates, ledger.unexpected), (2, 0));
    assert_eq!(
        reader.log(|log| log.delay_histograms(false).delivery.len()),
        SENT
    );
}

#[tokio::test]
async fn a_trial_begins_where_the_topic_ends() {
    let kafka = Kafka::start();
    let broker = kafka.address();
    create_topic(broker, PARTITIONS, "CreateTime").await;
    produce(broker, &["old 1".to_owned(), "old 2".to_owned()]);
    thread::sleep(Duration::from_millis(20));
    let mut bench = bench();
    bench.clock = crate::clock::Clock::start();
    let config = super::ProbeConfig {
        has_others: false,
        since_ns: bench.clock.start_unix_ns(),
        ..bench.start_probe()
    };
    let connection = |peer: &waggle_system::http::peer::Peer| {
        waggle_system::http::client::HttpConnector::connection(
            &waggle_system::http::client::Network,
            peer,
        )
    };
    let mut reader = super::ProbeReader::new(&config, &[broker.into()], connection).unwrap();
    let lines: Vec<String> = (0..50).map(|sequence| bench.line(sequence, 0)).collect();
    produce(broker, &lines);
    poll_until(&mut reader, 50).await;
    let ledger = account(&reader, 50);
    assert_eq!((ledger.missing, ledger.unexpected), (0, 0));
    assert!(reader.log(|log| log.delay_histograms(false).arrival.is_none()));
    let remark = reader.remark().unwrap();
    assert!(remark.contains("without a time of arrival"), "{remark}");
}

#[tokio::test]
async fn a_probe_that_cannot_keep_up_says_so() {
    let kafka = Kafka::start();
    let broker = kafka.address();
    create_topic(broker, PARTITIONS, "LogAppendTime").await;
    let bench = bench();
    let mut reader = bench.reader(broker);
    produce(broker, &[bench.line(0, 0)]);
    poll_until(&mut reader, 1).await;
    // Its thread is blocked while messages come.
    reader.log(|_| {
        let lines: Vec<String> = (1..500).map(|sequence| bench.line(sequence, 0)).collect();
        produce(broker, &lines);
        thread::sleep(Duration::from_millis(1_200));
    });
    poll_until(&mut reader, 500).await;
    let pace = reader.pace();
    assert!(
        pace.longest_behind >= Duration::from_secs(1) && pace.longest_gap >= Duration::from_secs(1),
        "{pace:?}"
    );
}

#[tokio::test]
async fn of_a_topic_that_grows_quickly_a_sample_is_followed_and_everything_counted() {
    const BATCH: u64 = 700;
    let kafka = Kafka::start();
    let broker = kafka.address();
    create_topic(broker, PARTITIONS, "LogAppendTime").await;
    let bench = bench();
    let config = super::ProbeConfig {
        sample_limits: crate::probe::SampleLimits {
            whole_bytes_per_s: 1,
            burst_bytes: 1,
            ..crate::SampleLimits::default()
        },
        ..bench.start_probe()
    };
    let connection = |peer: &waggle_system::http::peer::Peer| {
        waggle_system::http::client::HttpConnector::connection(
            &waggle_system::http::client::Network,
            peer,
        )
    };
    let mut reader = super::ProbeReader::new(&config, &[broker.into()], connection).unwrap();
    // Until several windows have followed records; a few are lost, and some come twice.
    let (mut sent, start) = (0, Instant::now());
    let lost = |sequence: u64| sequence % 1_000 == 17;
    while !reader.is_sample() || reader.log(|log| log.followed) < BATCH {
        assert!(start.elapsed() < ALL_WITHIN, "{sent} sent");
        let sequences = (sent..sent + BATCH).filter(|sequence| !lost(*sequence));
        let mut lines: Vec<String> = sequences.map(|number| bench.line(number, 0)).collect();
        lines.push(lines[0].clone());
        produce(broker, &lines);
        sent += BATCH;
        reader.poll(Depth::Turn).await.ok();
    }
    reader.end_load();
    // Records that come after the load.
    let late: Vec<String> = (sent..sent + BATCH)
        .map(|number| bench.line(number, 0))
        .collect();
    let all_lost = (0..sent).filter(|sequence| lost(*sequence)).count() as u64;
    produce(broker, &late);
    let copies = sent / BATCH;
    sent += BATCH;
    poll_until(&mut reader, sent - all_lost).await;
    while !matches!(reader.poll(Depth::Turn).await, Ok(false)) {
        assert!(start.elapsed() < ALL_WITHIN, "it is not read to its end");
    }
    let ledger = account(&reader, sent);
    assert_eq!(
        (ledger.delivered, ledger.missing),
        (sent - all_lost, all_lost)
    );
    assert_eq!((ledger.duplicates, ledger.unexpected), (copies, 0));
    assert!(reader.is_sample() && reader.last_row().is_some());
    assert_eq!(reader.visible(), sent - all_lost);
    reader.log(|log| {
        assert!(log.followed < sent - all_lost, "all were followed");
        let delays = log.delay_histograms(false);
        assert_eq!(delays.delivery.len(), log.followed);
        assert_eq!(delays.earliest.unwrap().len(), log.followed);
        assert_eq!(delays.arrival.unwrap().len(), sent - all_lost);
        assert!(delays.earliest.unwrap().max() <= delays.delivery.max());
    });
    // It reads again for a limited time: how much depends on the machine.
    let mut bytes = 0;
    reader.ask_again(&mut bytes).await.unwrap();
    assert!(bytes > 0);
}

#[tokio::test]
async fn a_missing_broker_or_topic_is_reported() {
    let kafka = Kafka::start();
    let bench = bench();
    let mut reader = bench.reader(kafka.address());
    let problem = loop {
        if let Err(problem) = reader.poll(super::Depth::Turn).await
            && problem.to_string().contains("there is no topic")
        {
            break problem.to_string();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(problem, "there is no topic \"plant\"");
    drop(kafka);
}

/// The client aborted the process when it was told to begin again, or closed, before it had stopped: seldom, so that this test
/// shows that reading again works, and not that it cannot abort.
#[tokio::test]
async fn a_short_topic_is_read_again_and_again() {
    const TIMES: usize = 10;
    let kafka = Kafka::start();
    let broker = kafka.address();
    create_topic(broker, 1, "LogAppendTime").await;
    let bench = bench();
    let mut reader = bench.reader(broker);
    produce_to(broker, 1, &[bench.line(0, 0)]);
    poll_until(&mut reader, 1).await;
    let mut bytes = 0;
    for _ in 0..TIMES {
        reader.ask_again(&mut bytes).await.unwrap();
    }
    assert!(bytes > 0);
}

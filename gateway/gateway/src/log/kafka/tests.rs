//! Staging, batches and their outcomes, without a broker.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Parser as _;
use waggle_record::line_protocol;

use super::{
    KafkaSettings,
    batch::{Batch, Limits, Lines},
    flight::{Flight, Flights},
    settings::{Gathering, PartitionBy},
    staging::Staging,
    topic::{Task, Topic, TopicMetadata, Topics},
};
use crate::{answers::problem::Problem, ingest::Intake, log::ticket::Fate};

const LIMITS: Limits = Limits {
    records: 3,
    bytes: 60,
};

fn topic(number: u32, partitions: u32) -> Arc<Topic> {
    let metadata = TopicMetadata {
        partitions,
        record_max_bytes: 80,
    };
    Arc::new(Topic::new(number, format!("t{number}"), metadata))
}

/// Stages a request of lines with times; returns the bits of its partitions.
fn stage(staging: &mut Staging, topic: &Arc<Topic>, text: &str) -> Result<u64, Problem> {
    let mut adding = staging.add_to(topic);
    for line in line_protocol::lines(text.as_bytes()) {
        let line = line.unwrap();
        adding.add(&line, line.time.unwrap().value)?;
    }
    Ok(adding.keep())
}

fn values(lines: &Lines) -> Vec<(u32, String)> {
    let value = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    lines
        .messages()
        .map(|message| (message.partition, value(&message.bytes)))
        .collect()
}

fn all_lines(batch: &Batch) -> Vec<(u32, String)> {
    batch.topics().flat_map(values).collect()
}

#[test]
fn messages_end_at_their_limits_and_lines_stay_in_order() {
    let mut staging = Staging::new(LIMITS, PartitionBy::Series);
    let topic = topic(0, 1);
    let many: String = (1..=7).map(|time| format!("m f=1 {time}\n")).collect();
    assert_eq!(stage(&mut staging, &topic, &many).unwrap(), 1);
    // Above the limit of a message: it gets its own.
    let large = format!("m f=\"{}\" 8\n", "x".repeat(45));
    stage(&mut staging, &topic, &large).unwrap();
    stage(&mut staging, &topic, "m f=1 9").unwrap();
    let expected = [
        "m f=1 1\nm f=1 2\nm f=1 3\n",
        "m f=1 4\nm f=1 5\nm f=1 6\n",
        "m f=1 7\n",
        &*large,
        "m f=1 9\n",
    ];
    assert_eq!(
        all_lines(&staging.batch),
        expected.map(|text| (0, text.to_owned()))
    );
}

#[test]
fn a_refused_request_is_rolled_back() {
    let mut staging = Staging::new(LIMITS, PartitionBy::Series);
    let topic = topic(0, 4);
    for s in 0..8 {
        stage(&mut staging, &topic, &format!("m,s={s} f=1 {s}")).unwrap();
    }
    let before = (all_lines(&staging.batch), staging.batch.records());
    let lines: String = (0..8).map(|s| format!("m,s={s} f=2 9\n")).collect();
    let refused = stage(
        &mut staging,
        &topic,
        &format!("{lines}m f=\"{}\" 9", "x".repeat(60)),
    );
    assert_eq!(refused.unwrap_err().status, 413);
    assert_eq!((all_lines(&staging.batch), staging.batch.records()), before);
    // A request that was not finished, as after a panic.
    let _ = std::mem::ManuallyDrop::new(staging.add_to(&topic));
    staging.take_back();
    assert_eq!((all_lines(&staging.batch), staging.batch.records()), before);
}

#[test]
fn gathered_requests_fill_messages_like_one_request() {
    let (first_topic, other) = (topic(0, 2), topic(3, 1));
    let mut gathering = Batch::default();
    let mut staging = Staging::new(LIMITS, PartitionBy::Series);
    let mut tickets = Vec::new();
    for time in 0..5 {
        stage(&mut staging, &first_topic, &format!("m,s=1 f=1 {time}")).unwrap();
        stage(&mut staging, &other, &format!("m f=1 {time}")).unwrap();
        let taken = gathering.take_in(&mut staging.batch, time % 2, LIMITS);
        assert_eq!(
            taken.iter().map(|(topic, _)| *topic).collect::<Vec<_>>(),
            [0, 3]
        );
        tickets.push(taken);
        assert!(staging.batch.is_empty());
    }
    assert_eq!(gathering.records(), 10);
    for (index, lines) in gathering.topics().enumerate() {
        let counts: Vec<u32> = lines.messages().map(|message| message.records).collect();
        assert_eq!(counts, [3, 2]);
        assert_eq!(lines.workers, 0b11);
        for ticket in &tickets {
            assert!(
                ticket[index]
                    .1
                    .is_same_batch(lines.ticket.as_ref().unwrap())
            );
        }
    }
    gathering.clear();
    assert!(gathering.is_empty());
    stage(&mut staging, &other, "m f=1 9").unwrap();
    gathering.take_in(&mut staging.batch, 0, LIMITS);
    assert_eq!(all_lines(&gathering), [(0, "m f=1 9\n".to_owned())]);
}

#[test]
fn a_batch_that_chooses_has_one_partition_and_the_next_has_the_next() {
    let topic = topic(0, 3);
    let mut staging = Staging::new(LIMITS, PartitionBy::Batch);
    let mut gathering = Batch::default();
    for partition in [0, 1, 2, 0] {
        for cycle in 0..2 {
            let line = |s: u32| format!("m,s={s} f=1 {cycle}\n");
            let parts = stage(&mut staging, &topic, &[1, 2].map(line).concat()).unwrap();
            assert_eq!(parts, 1 << partition);
            gathering.take_in(&mut staging.batch, 0, LIMITS);
        }
        let messages = gathering.topics().flat_map(values).collect::<Vec<_>>();
        let expected = ["m,s=1 f=1 0\nm,s=2 f=1 0\n", "m,s=1 f=1 1\nm,s=2 f=1 1\n"];
        assert_eq!(messages, expected.map(|text| (partition, text.to_owned())));
        topic.end_turn();
        gathering.clear();
    }
}

/// A batch for partitions 0 and 1, two messages and one.
fn flight() -> Arc<Flight> {
    let topic = topic(0, 2);
    let mut gathering = Batch::default();
    let mut staging = Staging::new(LIMITS, PartitionBy::Series);
    let lines: String = (0..4).map(|time| format!("m,s=1 f=1 {time}\n")).collect();
    let first = stage(&mut staging, &topic, &lines).unwrap();
    let of_another = (0..)
        .map(|s| format!("m,t={s} f=1 1"))
        .find(|line| {
            stage(&mut Staging::new(LIMITS, PartitionBy::Series), &topic, line).unwrap() != first
        })
        .unwrap();
    stage(&mut staging, &topic, &of_another).unwrap();
    gathering.take_in(&mut staging.batch, 0, LIMITS);
    let flight = Flight::new(gathering.topics().next().unwrap(), Instant::now());
    assert_eq!(flight.messages, 3);
    Arc::new(flight)
}

/// The partitions of its messages, in their order.
fn partitions(flight: &Flight) -> [u32; 3] {
    let of_two = u32::from(flight.waiting_for(1) == 2);
    [of_two, of_two, 1 - of_two]
}

#[test]
fn a_batch_is_settled_by_its_last_answer_and_fails_per_partition() {
    let flight = flight();
    let [first, again, other] = partitions(&flight);
    assert!(!flight.on_acknowledgement(first, true));
    assert!(!flight.on_acknowledgement(other, false));
    assert_eq!(flight.ticket().fate_of(1 << first), Fate::Pending);
    assert!(flight.on_acknowledgement(again, true));
    assert_eq!(flight.ticket().fate_of(1 << first), Fate::Durable);
    assert_eq!(flight.ticket().fate_of(1 << other), Fate::Failed);
    assert!(!flight.is_durable());
}

#[test]
fn a_batch_that_is_given_up_fails_in_partitions_without_an_answer() {
    let flight = flight();
    let flights = Flights::default();
    flights.add(&flight);
    let [first, again, other] = partitions(&flight);
    assert!(!flight.on_acknowledgement(other, true));
    assert!(!flight.on_acknowledgement(first, true));
    let late = flights.overdue_flights(Instant::now());
    assert_eq!((late.len(), flights.count()), (1, 1));
    assert!(late[0].give_up());
    for _ in 0..2 {
        flights.end(&flight);
    }
    assert_eq!(
        (
            flights.overdue_flights(Instant::now()).len(),
            flights.count()
        ),
        (0, 0)
    );
    assert_eq!(flight.ticket().fate_of(1 << first), Fate::Failed);
    assert_eq!(flight.ticket().fate_of(1 << other), Fate::Durable);
    // Later answers change nothing.
    assert!(!flight.on_acknowledgement(again, true));
    assert_eq!(flight.ticket().fate_of(1 << first), Fate::Failed);
}

#[test]
fn topics_are_looked_up_once_and_have_a_limit() {
    let topics = Topics::new(2);
    topics.ask("a", None).unwrap();
    topics.ask("a", None).unwrap();
    topics.ask("b", None).unwrap();
    assert_eq!(topics.ask("c", None).unwrap_err().status, 507);
    let asked = || match topics.next(std::time::Duration::ZERO) {
        Task::Find(wanted) => wanted.name.to_string(),
        task => format!("{task:?}"),
    };
    assert_eq!([asked(), asked(), asked()], ["a", "b", "Nothing"]);
    let waker = std::task::Waker::noop();
    assert!(topics.is_looking_up("a", waker) && topics.is_looking_up("b", waker));
    let metadata = TopicMetadata {
        partitions: 2,
        record_max_bytes: 9,
    };
    topics.note("a", "x.a".to_owned(), Ok(metadata));
    topics.note("b", "x.b".to_owned(), Err(Problem::new(503, "no")));
    assert!(!topics.is_looking_up("a", waker) && !topics.is_looking_up("b", waker));
    assert_eq!(topics.ask("b", None).unwrap_err().detail, "no");
    let ready = topics.ready("a").unwrap();
    assert_eq!((&*ready.name, ready.partitions()), ("x.a", 2));
    let topics_asked = Topics::new(2);
    topics_asked.ask("late", None).unwrap();
    topics_asked.refuse_pending(|| Problem::new(503, "away"));
    assert!(!topics_asked.is_looking_up("late", waker));
    assert_eq!(topics_asked.ask("late", None).unwrap_err().detail, "away");
    topics_asked.note("late", "late".to_owned(), Ok(metadata));
    assert!(topics_asked.ready("late").is_some());
    topics.remove("a");
    assert!(ready.is_gone() && topics.ready("a").is_none());
    topics.close();
    assert_eq!(topics.ask("a", None).unwrap_err().status, 503);
    assert_eq!(asked(), "Closed");
}

#[derive(clap::Parser)]
struct Flags {
    #[command(flatten)]
    kafka: KafkaSettings,
}

#[test]
fn a_batch_is_due_when_it_is_large_or_has_waited() {
    let check = |linger: &str, gathering: [usize; 2], waited_us: u64, is_due: bool| {
        let linger = format!("--kafka-linger={linger}");
        let flags = ["", "--kafka-brokers=b:1", &linger];
        let [records, batches_in_flight] = gathering;
        let gathering = Gathering {
            records,
            batches_in_flight,
        };
        let settings = Flags::parse_from(flags).kafka;
        let due = settings.is_due(gathering, || Duration::from_micros(waited_us));
        assert_eq!(due, is_due, "{linger}, {gathering:?}, {waited_us} µs");
    };
    // Nothing is in flight: small batches linger.
    check("1ms", [1, 0], 999, false);
    check("1ms", [1, 0], 1000, true);
    check("1ms", [64, 0], 0, true);
    check("0", [1, 0], 0, true);
    // Few batches are in flight: small ones wait for them, for a while.
    check("1ms", [63, 1], 4999, false);
    check("1ms", [63, 2], 5000, true);
    check("20ms", [63, 2], 19_999, false);
    check("0", [64, 2], 0, true);
    // As many as may be are in flight.
    check("1ms", [9999, 3], 9_999_999, false);
}

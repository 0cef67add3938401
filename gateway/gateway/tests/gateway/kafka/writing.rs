//! Accepted records are in the topic, once, as they were sent; refused ones are not.

use std::{
    collections::HashMap,
    process::{Command, Stdio},
};

use rdkafka::Timestamp;

use super::cluster::{add_partitions, delete, lines, make, messages, partitions, shared_broker};
use crate::support::{Gateway, command, kafka_command, put, store, wait_until};

const PARTITIONS: u64 = 3;

/// A long timeout, because a broker may be slow on a busy machine.
fn gateway(brokers: &str, flags: &[&str]) -> Gateway {
    let patient = [flags, &["--kafka-delivery-timeout=1m"]].concat();
    Gateway::start_by(&mut kafka_command(brokers, &patient))
}

/// The documented partition of a series.
fn partition_of(series: &str) -> i32 {
    let hash = series
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    i32::try_from(hash % PARTITIONS).unwrap()
}

#[test]
fn accepted_records_are_in_their_partition_once_and_in_order() {
    let kafka = shared_broker();
    let flags = [
        "--workers=2",
        "--kafka-partitions=3",
        "--kafka-message-max-records=4",
        "--kafka-compression=zstd",
    ];
    let gateway = gateway(&kafka.brokers(), &flags);
    let write = |writer: usize| {
        let mut client = gateway.client();
        for turn in 0..30 {
            // A request of one line, and one of seven lines of several series.
            let line = |n: usize| format!("m,w={writer},s={} n={n}i {n}\n", n % 5);
            let first = turn * 8;
            let many: String = (first + 1..first + 8).map(line).collect();
            let requests = put("all", &line(first)) + &put("all", &many);
            client.send(requests.as_bytes());
            for _ in 0..2 {
                let answer = client.answer().unwrap();
                assert_eq!(answer.status, 204, "{}", answer.body);
            }
        }
    };
    std::thread::scope(|scope| {
        for writer in 0..3 {
            scope.spawn(move || write(writer));
        }
    });
    let mut series: HashMap<String, Vec<usize>> = HashMap::new();
    for message in messages(&kafka.brokers(), "all") {
        assert!(
            matches!(message.time, Timestamp::LogAppendTime(_)),
            "{message:?}"
        );
        assert!((1..=4).contains(&message.value.lines().count()));
        assert!(!message.value.ends_with('\n'));
        for line in message.value.lines() {
            let [name, fields, time] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("not as it was sent: {line}");
            };
            assert_eq!(fields, format!("n={time}i"));
            assert_eq!(message.partition, partition_of(name), "{line}");
            series
                .entry(name.to_owned())
                .or_default()
                .push(time.parse().unwrap());
        }
    }
    assert_eq!(series.len(), 15);
    for (name, times) in series {
        let s: usize = name.rsplit('=').next().unwrap().parse().unwrap();
        let sent: Vec<usize> = (0..240).filter(|n| n % 5 == s).collect();
        assert_eq!(times, sent, "{name}");
    }
}

#[test]
fn batches_take_turns_with_partitions_if_no_order_is_asked_for() {
    let kafka = shared_broker();
    let flags = ["--kafka-partitions=3", "--kafka-partition-by=batch"];
    let gateway = gateway(&kafka.brokers(), &flags);
    // Each request is a batch, because it waits for the answer to the one before.
    let requests =
        [1, 2, 3, 4, 5].map(|n| [1, 2, 3].map(|s| format!("m,s={s} f={n}i {n}")).join("\n"));
    for request in &requests {
        assert_eq!(gateway.put("turns", request).status, 204);
    }
    let all = messages(&kafka.brokers(), "turns");
    let in_partition = |partition: i32| -> Vec<&str> {
        let messages = all.iter().filter(|message| message.partition == partition);
        messages.map(|message| &*message.value).collect()
    };
    let [first, second, third, fourth, fifth] = &requests;
    assert_eq!(in_partition(0), [first, fourth]);
    assert_eq!(in_partition(1), [second, fifth]);
    assert_eq!(in_partition(2), [third]);
}

#[test]
fn records_gather_until_the_batch_is_large_or_its_linger_ends() {
    let kafka = shared_broker();
    let brokers = kafka.brokers();
    let flags = ["--kafka-partitions=1", "--kafka-linger=20ms"];
    let lingering = gateway(&brokers, &flags);
    assert_eq!(lingering.put("lingering", "m f=1i 1").status, 204);
    // Its linger is longer than any test.
    let patient = [
        "--kafka-linger=1m",
        "--kafka-delivery-timeout=2m",
        "--kafka-batch-min-records=2",
    ];
    let gateway = Gateway::start_by(&mut kafka_command(&brokers, &patient));
    let [mut first, mut second] = [gateway.client(), gateway.client()];
    first.send(put("lingering", "m f=2i 2").as_bytes());
    wait_until("a record gathers", || {
        let page = gateway.get("/metrics").body;
        page.contains("waggle_gateway_kafka_records_gathering 1\n")
    });
    second.send(put("lingering", "m f=3i 3").as_bytes());
    for client in [&mut first, &mut second] {
        assert_eq!(client.answer().unwrap().status, 204);
    }
    let values = messages(&brokers, "lingering");
    let values: Vec<&str> = values.iter().map(|message| &*message.value).collect();
    assert_eq!(values, ["m f=1i 1", "m f=2i 2\nm f=3i 3"]);
}

#[test]
fn topics_are_created_only_if_that_is_allowed() {
    let kafka = shared_broker();
    let brokers = kafka.brokers();
    let mut command = Command::new(env!("CARGO_BIN_EXE_waggle-gateway"));
    command.args(["serve", "--listen=127.0.0.1:0", "--backend=kafka"]);
    command
        .args(["--kafka-brokers", &brokers])
        .stderr(Stdio::null());
    let gateway = Gateway::start_by(&mut command);
    let refused = gateway.put("uncreated", "m f=1");
    assert_eq!(refused.status, 404, "{}", refused.body);
    assert!(refused.body.contains("--kafka-create-topics"));
    assert_eq!(partitions(&brokers, "uncreated"), 0);
    let creating = self::gateway(&brokers, &[]);
    assert_eq!(creating.put("uncreated", "m f=1").status, 204);
    wait_until("the topic is seen", || {
        gateway.put("uncreated", "m f=1").status == 204
    });
}

#[test]
fn a_topic_that_exists_needs_no_right_to_create_it() {
    let kafka = shared_broker();
    let brokers = kafka.brokers();
    let other = gateway(&brokers, &[]);
    assert_eq!(other.put("of-others", "m f=1i 1").status, 204);
    let (folder, file) = store();
    let (clients, said) = (file.with_extension("yaml"), folder.path().join("said"));
    // The SHA-256 of `writer`.
    let digest = "b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5";
    let entry = format!("- name: writer\n  tokens: [{digest}]\n  write: ['*']\n  create: [own]\n");
    std::fs::write(&clients, format!("clients:\n{entry}")).unwrap();
    let mut start = kafka_command(&brokers, &["--kafka-delivery-timeout=1m"]);
    start.arg("--clients").arg(&clients);
    start.stderr(std::fs::File::create(&said).unwrap());
    let gateway = Gateway::start_by(&mut start);
    for (topic, status) in [("absent", 403), ("of-others", 204), ("own", 204)] {
        let answer = gateway.ask(&format!(
            "PUT /api/v1/topics/{topic}/records HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer writer\r\nContent-Length: 8\r\n\r\nm f=2i 2"
        ));
        assert_eq!(answer.status, status, "{topic}: {}", answer.body);
    }
    assert_eq!(partitions(&brokers, "absent"), 0);
    let said = std::fs::read_to_string(said).unwrap();
    let is_created = |topic: &str| {
        said.contains(&format!(
            "\"audit\":\"topic_created\",\"topic\":\"{topic}\""
        ))
    };
    assert!(is_created("own") && !is_created("of-others"), "{said}");
}

#[test]
fn refused_records_are_not_in_the_topic() {
    let kafka = shared_broker();
    let brokers = kafka.brokers();
    let gateway = gateway(&brokers, &["--kafka-partitions=2"]);
    // The first records create the topic.
    assert_eq!(gateway.put("refused", "m f=").status, 400);
    assert_eq!(partitions(&brokers, "refused"), 0);
    for (topic, status) in [
        ("a%20b", 400),
        ("..", 400),
        ("__mine", 403),
        ("_schemas", 403),
    ] {
        assert_eq!(gateway.put(topic, "m f=1").status, status, "{topic}");
    }
    // Kafka has no two topics that differ in these two characters alone.
    for (topic, status) in [("refused.too", 204), ("refused_too", 409)] {
        assert_eq!(gateway.put(topic, "m f=1").status, status, "{topic}");
    }
    let mut client = gateway.client();
    let requests = [
        put("refused", "m,s=1 f=1i 1"),
        put("refused", "m,s=1 f=2i 2\nm,s=2 f=2i 2\nm,s=1 f="),
        put("other", "m f=7i 7"),
        put("refused", "m,s=2 f=3i 3"),
        put("refused", ""),
        put("other", "m f=8i 8"),
    ];
    client.send(requests.concat().as_bytes());
    let statuses: Vec<u16> = (0..6).map(|_| client.answer().unwrap().status).collect();
    assert_eq!(statuses, [204, 400, 204, 204, 400, 204]);
    let mut refused = lines(&brokers, "refused");
    refused.sort();
    assert_eq!(refused, ["m,s=1 f=1i 1", "m,s=2 f=3i 3"]);
    assert_eq!(lines(&brokers, "other"), ["m f=7i 7", "m f=8i 8"]);
}

#[test]
fn other_formats_become_lines_with_times_in_nanoseconds() {
    let kafka = shared_broker();
    let gateway = gateway(&kafka.brokers(), &["--kafka-topic-prefix=lab."]);
    let json = r#"[{"measurement":"m","tags":{"a":"x y"},"fields":{"f":1.5},"time":5}]"#;
    let answer = gateway.ask(&format!(
        "PUT /api/v1/topics/forms/records?precision=s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{json}",
        json.len()
    ));
    assert_eq!(answer.status, 204, "{}", answer.body);
    assert_eq!(gateway.put("forms", "m   f=2i").status, 204);
    let records = lines(&kafka.brokers(), "lab.forms");
    assert_eq!(records[0], "m,a=x\\ y f=1.5 5000000000");
    let time: i64 = records[1].strip_prefix("m f=2i ").unwrap().parse().unwrap();
    assert!(time > 1_600_000_000_000_000_000, "{time}");
}

#[test]
fn a_record_above_the_limit_of_its_topic_is_refused_before_it_is_sent() {
    let kafka = shared_broker();
    let brokers = kafka.brokers();
    make(&brokers, "large", "max.message.bytes", "100000");
    let record = |bytes: usize| format!("m f=\"{}\" 1", "x".repeat(bytes));
    let too_much = gateway(&brokers, &[]).put("large", "m f=1i 1");
    assert_eq!(too_much.status, 503);
    assert!(
        too_much.body.contains("--kafka-request-max-bytes"),
        "{}",
        too_much.body
    );
    let gateway = gateway(&brokers, &["--kafka-request-max-bytes=65536"]);
    let large = record(99_000);
    assert_eq!(gateway.put("large", &large).status, 204);
    let refused = gateway.put("large", &format!("m f=1i 1\n{}", record(99_900)));
    assert_eq!(refused.status, 413);
    assert!(
        refused.body.contains("line 2") && refused.body.contains("large"),
        "{}",
        refused.body
    );
    assert_eq!(gateway.put("large", "m f=2i 2").status, 204);
    assert_eq!(
        lines(&brokers, "large"),
        [&*large, "m f=2i 2"].map(str::to_owned)
    );
}

#[test]
fn a_topic_may_get_partitions_and_may_be_recreated() {
    let kafka = shared_broker();
    let brokers = kafka.brokers();
    // Records to a topic that was just deleted fail after this.
    let flags = [
        "--kafka-metadata-refresh-interval=100ms",
        "--kafka-partitions=1",
        "--kafka-delivery-timeout=5s",
    ];
    let gateway = Gateway::start_by(&mut kafka_command(&brokers, &flags));
    let body: String = (0..20).map(|s| format!("m,s={s} f=1i 1\n")).collect();
    wait_until("a record is taken", || {
        gateway.put("grows", &body).status == 204
    });
    add_partitions(&brokers, "grows", 3);
    let used = || {
        let mut used: Vec<i32> = messages(&brokers, "grows")
            .iter()
            .map(|message| message.partition)
            .collect();
        used.dedup();
        used
    };
    assert_eq!(used(), [0]);
    wait_until("the new partitions are used", || {
        let answer = gateway.put("grows", &body);
        assert!(matches!(answer.status, 204 | 503), "{}", answer.body);
        used() == [0, 1, 2]
    });
    delete(&brokers, "grows");
    wait_until("the topic is created again", || {
        let answer = gateway.put("grows", "m f=1i 1");
        assert!(matches!(answer.status, 204 | 503), "{}", answer.body);
        partitions(&brokers, "grows") == 1
    });
}

#[test]
fn calls_that_need_the_embedded_store_are_refused() {
    let kafka = shared_broker();
    let gateway = gateway(&kafka.brokers(), &[]);
    assert_eq!(gateway.put("advised", "m f=1i 1\nm f=2i 2").status, 204);
    let read = gateway.get("/api/v1/topics/advised/records");
    assert_eq!((read.status, read.header("allow")), (405, Some("POST,PUT")));
    assert!(read.body.contains("Kafka consumer"), "{}", read.body);
    wait_until("it is ready", || gateway.get("/readyz").status == 200);
    let metrics = gateway.get("/metrics").body;
    for line in [
        "waggle_gateway_stored_records_total 2",
        "waggle_gateway_records_accepted_total 2",
        "waggle_gateway_kafka_messages_total 1",
        "waggle_gateway_kafka_batches_in_flight 0",
        "waggle_gateway_kafka_acknowledge_seconds_count 1",
        "waggle_gateway_kafka_failed_records_total{reason=\"timeout\"} 0",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line} in {metrics}"
        );
    }
}

#[test]
fn contradicting_flags_are_refused() {
    let (_folder, file) = store();
    let none = |flags: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_waggle-gateway"));
        command.arg("serve").args(flags);
        command
    };
    for (mut command, expected) in [
        (none(&[]), "--store"),
        (none(&["--backend=kafka"]), "--kafka-brokers"),
        (command(&file, &["--backend=kafka"]), "the backend is kafka"),
        (
            command(&file, &["--kafka-brokers=127.0.0.1:1"]),
            "--backend kafka",
        ),
        (command(&file, &["--kafka-acks=all"]), "--kafka-brokers"),
        (
            kafka_command("127.0.0.1:1", &["--commit-delay=1ms"]),
            "--store",
        ),
        (kafka_command("127.0.0.1", &[]), "HOST:PORT"),
        (
            kafka_command("127.0.0.1:1", &["--kafka-delivery-timeout=1ms"]),
            "50ms",
        ),
        (
            kafka_command("127.0.0.1:1", &["--store=x.db"]),
            "the backend is kafka",
        ),
    ] {
        let output = command
            .stderr(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && said.contains(expected),
            "{said}"
        );
    }
}

//! The real servers: each starts, does what tests need, and keeps its data over a kill.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::Command;

use waggle_testkit::{Influxdb, Kafka, Telegraf, program};

/// One of Kafka's own tools.
fn topics(kafka: &Kafka, arguments: &[&str]) -> String {
    let output = Command::new(program("kafka", "kafka-run-class.sh"))
        .args(["org.apache.kafka.tools.TopicCommand", "--bootstrap-server"])
        .arg(kafka.brokers())
        .args(arguments)
        .env("KAFKA_OPTS", "-XX:TieredStopAtLevel=1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", kafka.log_end());
    text
}

#[test]
fn kafka_keeps_its_log_over_a_kill() {
    let mut kafka = Kafka::start();
    topics(
        &kafka,
        &["--create", "--topic", "plant", "--partitions", "3"],
    );
    kafka.kill();
    kafka.restart();
    let description = topics(&kafka, &["--describe", "--topic", "plant"]);
    assert!(description.contains("PartitionCount: 3"), "{description}");
}

#[test]
fn influxdb_is_set_up_and_keeps_its_records_over_a_kill() {
    let mut influxdb = Influxdb::start();
    let (status, answer) = influxdb.post(
        &format!(
            "/api/v2/write?org={}&bucket={}&precision=ns",
            influxdb.org(),
            influxdb.bucket()
        ),
        "m,host=a value=1.5 1700000000000000001",
    );
    assert_eq!(status, 204, "{answer}");
    influxdb.kill();
    influxdb.restart();
    let rows = influxdb.query(&format!(
        "from(bucket:\"{}\") |> range(start: 0) |> filter(fn: (r) => r._measurement == \"m\")",
        influxdb.bucket()
    ));
    assert!(rows.contains(",1.5,"), "{rows}");
}

#[test]
fn telegraf_writes_to_influxdb_and_tells_what_it_does() {
    let influxdb = Influxdb::start();
    let mut telegraf = Telegraf::start(&format!(
        "[agent]\n  interval = \"200ms\"\n  flush_interval = \"200ms\"\n  omit_hostname = true\n\
         [[inputs.internal]]\n\
         [[outputs.influxdb_v2]]\n  urls = [\"{}\"]\n  organization = \"{}\"\n  bucket = \"{}\"\n  token = \"{}\"\n",
        influxdb.url(),
        influxdb.org(),
        influxdb.bucket(),
        influxdb.token()
    ));
    let query = format!(
        "from(bucket:\"{}\") |> range(start: 0) |> filter(fn: (r) => r._measurement == \"internal_agent\") |> limit(n: 1)",
        influxdb.bucket()
    );
    telegraf.wait_until("write to InfluxDB", || {
        influxdb.query(&query).contains("internal_agent")
    });
    telegraf.kill();
}

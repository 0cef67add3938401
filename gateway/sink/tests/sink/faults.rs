//! Crashes and restarts: nothing is lost, and memory is bounded.

use std::fs;

use waggle_testkit::{Influxdb, Kafka, wait_until};

use crate::{
    lab::{Log, database, keys, log, messages, wait_for_keys},
    process::Sink,
};

#[test]
fn a_killed_sink_loses_nothing() {
    let (log, database) = (log(), database());
    log.make("killed", 2);
    log.put("killed", 2, &messages("killed", 0..60_000, 5));
    log.flush();
    let mut flags = log.flags("killed", database);
    flags.extend([
        "--batch-max-records=200".into(),
        "--group-instance-id=one".into(),
    ]);
    for written in [1.0, 10_000.0, 20_000.0] {
        let mut sink = Sink::start(&flags, database.token());
        wait_until("some written", || {
            sink.metric("waggle_sink_records_written_total") >= written
        });
        sink.kill();
    }
    let _sink = Sink::start(&flags, database.token());
    wait_for_keys(database, "killed", 0..60_000);
    let ends = log.ends("killed", 2);
    wait_until("commit of all", || {
        log.committed_offsets("group-of-killed", "killed", 2) == ends
    });
}

#[test]
fn a_fenced_sink_rejoins_without_its_instance_id() {
    let (log, database) = (log(), database());
    log.make("named", 2);
    let mut flags = log.flags("named", database);
    flags.push("--group-instance-id=one".into());
    let first = Sink::start(&flags, database.token());
    log.put("named", 2, &messages("named", 0..1_000, 1));
    wait_for_keys(database, "named", 0..1_000);
    let second = Sink::start(&flags, database.token());
    wait_until("the first knows that its id is taken", || {
        first.stderr_text().contains("without --group-instance-id")
    });
    log.put("named", 2, &messages("named", 1_000..2_000, 1));
    wait_for_keys(database, "named", 0..2_000);
    first.wait_for_readyz(200, "ready");
    second.wait_for_readyz(200, "ready");
    // Alone it reads all partitions, and releases them when it ends.
    drop(second);
    log.put("named", 2, &messages("named", 2_000..3_000, 1));
    wait_for_keys(database, "named", 0..3_000);
    let ends = log.ends("named", 2);
    wait_until("commit of all", || {
        log.committed_offsets("group-of-named", "named", 2) == ends
    });
}

#[test]
fn waiting_for_a_crashed_database_takes_bounded_memory() {
    let log = log();
    let mut database = Influxdb::start();
    log.make("waits", 2);
    let mut flags = log.flags("waits", &database);
    flags.push("--buffer-max-bytes=65536".into());
    let sink = Sink::start(&flags, database.token());
    log.put("waits", 2, &messages("waits", 0..1_000, 1));
    wait_for_keys(&database, "waits", 0..1_000);
    // The database has them before the sink gets the answer.
    wait_until("commit of the first", || {
        log.committed_offsets("group-of-waits", "waits", 2)
            .iter()
            .sum::<i64>()
            == 1_000
    });
    database.kill();
    log.put("waits", 2, &messages("waits", 1_000..41_000, 2));
    log.flush();
    sink.wait_for_readyz(503, "the database is unavailable");
    wait_until("as much read as may", || {
        sink.metric("waggle_sink_buffered_bytes") >= 65_536.0
    });
    wait_until("a few retries", || {
        sink.metric("waggle_sink_retries_total") > 10.0
    });
    let held = sink.metric("waggle_sink_buffered_bytes");
    assert!(held < 2.0 * 65_536.0, "{held} bytes");
    assert!(sink.metric("waggle_sink_oldest_buffered_seconds") > 0.0);
    // Everything that was sent before, and nothing else.
    let committed: i64 = log
        .committed_offsets("group-of-waits", "waits", 2)
        .iter()
        .sum();
    assert_eq!(committed, 1_000);
    database.restart();
    wait_for_keys(&database, "waits", 0..41_000);
    sink.wait_for_readyz(200, "ready");
    let ends = log.ends("waits", 2);
    wait_until("commit of all", || {
        log.committed_offsets("group-of-waits", "waits", 2) == ends
    });
}

#[test]
fn a_wrong_token_commits_nothing_and_is_reported() {
    let (log, database) = (log(), database());
    log.make("token", 1);
    log.put("token", 1, &messages("token", 0..100, 1));
    log.flush();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "wrong-token\n").unwrap();
    let mut flags = log.flags("token", database);
    flags.push(format!("--influxdb-token-file={}", file.display()));
    let sink = Sink::start(&flags, database.token());
    sink.wait_for_readyz(503, "the database refuses the sink: 401");
    wait_until("a few retries", || {
        sink.metric("waggle_sink_retries_total") > 10.0
    });
    assert_eq!(log.committed_offsets("group-of-token", "token", 1), [0]);
    assert_eq!(sink.metric("waggle_sink_records_dead_lettered_total"), 0.0);
    let refusals = sink.stderr_text().matches("refuses the sink").count();
    assert!(refusals <= 3, "{}", sink.stderr_text());
    assert!(
        !sink.stderr_text().contains("wrong-token"),
        "{}",
        sink.stderr_text()
    );
    fs::write(&file, database.token()).unwrap();
    wait_for_keys(database, "token", 0..100);
    sink.wait_for_readyz(200, "ready");
}

#[test]
fn the_sink_waits_for_a_crashed_broker() {
    let database = database();
    let log = Log::new(Kafka::start());
    log.make("broker", 2);
    let sink = Sink::start(&log.flags("broker", database), database.token());
    log.put("broker", 2, &messages("broker", 0..5_000, 1));
    log.flush();
    wait_until("some written", || !keys(database, "broker").is_empty());
    log.kafka().kill();
    sink.wait_for_readyz(503, "Kafka");
    log.kafka().restart();
    log.put("broker", 2, &messages("broker", 5_000..10_000, 1));
    log.flush();
    wait_for_keys(database, "broker", 0..10_000);
    sink.wait_for_readyz(200, "ready");
    let ends = log.ends("broker", 2);
    wait_until("commit of all", || {
        log.committed_offsets("group-of-broker", "broker", 2) == ends
    });
}

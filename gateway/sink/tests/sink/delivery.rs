//! Every record arrives, and arrived records are committed.

use waggle_testkit::wait_until;

use crate::{
    lab::{database, log, messages, wait_for_keys},
    process::Sink,
};

#[test]
fn everything_arrives_and_is_committed() {
    let (log, database) = (log(), database());
    log.make("all", 4);
    log.put("all", 4, &messages("all", 0..10_000, 1));
    log.put("all", 4, &messages("all", 10_000..30_000, 7));
    log.flush();
    let mut flags = log.flags("all", database);
    flags.push("--gzip-level=1".into());
    let sink = Sink::start(&flags, database.token());
    sink.wait_for_readyz(200, "ready");
    wait_for_keys(database, "all", 0..30_000);
    let ends = log.ends("all", 4);
    wait_until("commit of all", || {
        log.committed_offsets("group-of-all", "all", 4) == ends
    });
    assert_eq!(sink.metric("waggle_sink_records_written_total"), 30_000.0);
    assert_eq!(sink.metric("waggle_sink_records_dead_lettered_total"), 0.0);
    wait_until("lag of 0 in 4 partitions", || {
        sink.series("waggle_sink_lag_messages") == 4
            && sink.metric("waggle_sink_lag_messages") == 0.0
    });
    let sent = sink.metric("waggle_sink_sent_bytes_total");
    assert!(
        sent < sink.metric("waggle_sink_written_bytes_total") / 2.0,
        "{sent} bytes sent"
    );
    assert_eq!(sink.get("/healthz"), (200, "alive\n".into()));
}

#[test]
fn gathered_records_are_written_and_committed_at_sigterm() {
    let (log, database) = (log(), database());
    log.make("drained", 2);
    log.put("drained", 2, &messages("drained", 0..100, 1));
    log.flush();
    let mut flags = log.flags("drained", database);
    flags.extend(["--linger=1h".into(), "--commit-interval=1h".into()]);
    let mut sink = Sink::start(&flags, database.token());
    wait_until("all read", || {
        sink.metric("waggle_sink_records_read_total") == 100.0
    });
    assert_eq!(
        log.committed_offsets("group-of-drained", "drained", 2),
        [0, 0]
    );
    // It asks for files to be read again, and ends nothing.
    sink.hang_up();
    assert_eq!(sink.get("/healthz"), (200, "alive\n".into()));
    sink.stop();
    wait_for_keys(database, "drained", 0..100);
    assert_eq!(
        log.committed_offsets("group-of-drained", "drained", 2),
        [50, 50]
    );
    assert!(
        !sink.stderr_text().contains("not all that was read"),
        "{}",
        sink.stderr_text()
    );
}

#[test]
fn two_sinks_share_the_partitions_and_one_takes_over() {
    let (log, database) = (log(), database());
    log.make("shared", 4);
    let flags = log.flags("shared", database);
    let mut victim = Sink::start(&flags, database.token());
    let other = Sink::start(&flags, database.token());
    wait_until("two partitions for each", || {
        [&victim, &other].map(|sink| sink.series("waggle_sink_lag_messages")) == [2, 2]
    });
    log.put("shared", 4, &messages("shared", 0..10_000, 3));
    log.flush();
    wait_until("work for both", || {
        victim.metric("waggle_sink_records_written_total") > 0.0
            && other.metric("waggle_sink_records_written_total") > 0.0
    });
    victim.kill();
    log.put("shared", 4, &messages("shared", 10_000..20_000, 3));
    log.flush();
    wait_for_keys(database, "shared", 0..20_000);
    wait_until("four partitions for the other", || {
        other.series("waggle_sink_lag_messages") == 4
    });
    let ends = log.ends("shared", 4);
    wait_until("commit of all", || {
        log.committed_offsets("group-of-shared", "shared", 4) == ends
    });
}

#[test]
fn prefix_includes_new_topics_and_excludes_dead_letters() {
    let (log, database) = (log(), database());
    log.make("prefix-a", 1);
    let mut flags = log.flags("prefix-a", database);
    flags.retain(|flag| !flag.starts_with("--topic="));
    flags.push("--topic-prefix=prefix-".into());
    let sink = Sink::start(&flags, database.token());
    log.put("prefix-a", 1, &["nonsense".to_owned()]);
    log.put("prefix-a", 1, &messages("prefix", 0..10, 1));
    log.flush();
    wait_for_keys(database, "prefix", 0..10);
    log.make("prefix-b", 1);
    log.put("prefix-b", 1, &messages("prefix", 10..20, 1));
    log.flush();
    wait_for_keys(database, "prefix", 0..20);
    assert_eq!(log.messages("prefix-a.dead", 1).len(), 1);
    wait_until("the dead letter is counted", || {
        sink.metric("waggle_sink_records_dead_lettered_total") == 1.0
    });
}

//! Lines that cannot be written, among lines that can.

use waggle_testkit::wait_until;

use crate::{
    lab::{database, log, messages, wait_for_keys},
    process::Sink,
};

/// The dead letters of a topic: value, and the wanted headers.
fn check_letters(topic: &str, expected: &[(&str, &str, &str)]) {
    let letters = log().messages(&format!("{topic}.dead"), expected.len());
    assert_eq!(letters.len(), expected.len(), "{letters:?}");
    for (text, origin, reason) in expected {
        let letter = letters.iter().find(|(value, _)| value == text);
        let Some((_, headers)) = letter else {
            panic!("no letter {text:?} in {letters:?}")
        };
        let headers = headers.join(" ");
        assert!(
            headers.contains(&format!("waggle-topic={topic} waggle-partition=0 {origin}")),
            "{headers}"
        );
        assert!(headers.contains(reason), "{headers}");
    }
}

#[test]
fn malformed_lines_become_dead_letters() {
    let (log, database) = (log(), database());
    log.make("unreadable", 1);
    let good = messages("unreadable", 0..300, 100);
    let mixed = format!("{}\nunreadable v=\n# a comment\nunreadable v=1", good[1]);
    log.put(
        "unreadable",
        1,
        &[
            good[0].clone(),
            mixed,
            String::new(),
            "{\"json\": true}".into(),
            good[2].clone(),
        ],
    );
    log.flush();
    let sink = Sink::start(&log.flags("unreadable", database), database.token());
    wait_for_keys(database, "unreadable", 0..300);
    check_letters(
        "unreadable",
        &[
            (
                "unreadable v=",
                "waggle-offset=1 waggle-line=101",
                "waggle-reason=line 101, column 14",
            ),
            (
                "unreadable v=1",
                "waggle-offset=1 waggle-line=103",
                "expected a time",
            ),
            (
                "{\"json\": true}",
                "waggle-offset=3 waggle-line=1",
                "waggle-reason=line 1",
            ),
        ],
    );
    wait_until("commit of all", || {
        log.committed_offsets("group-of-unreadable", "unreadable", 1) == [5]
    });
    assert_eq!(sink.metric("waggle_sink_records_dead_lettered_total"), 3.0);
}

#[test]
fn lines_that_the_database_refuses_become_dead_letters() {
    let (log, database) = (log(), database());
    log.make("refused", 1);
    // Two conflicts of different kinds, so that one reason does not explain all.
    let mut lines = messages("refused", 0..1000, 1);
    lines.insert(500, "refused,host=x v=\"text\" 1700000000000000000".into());
    lines.insert(
        10,
        "refused,host=x waggle_key=true 1700000000000000000".into(),
    );
    let first = lines.remove(0);
    log.put("refused", 1, std::slice::from_ref(&first));
    log.flush();
    // A time of the same shard, so that the types are known before the other lines arrive.
    lines
        .iter_mut()
        .filter(|line| line.ends_with(" 1700000000000000000"))
        .for_each(|line| {
            let time = first.rsplit(' ').next().unwrap();
            *line = line.replace("1700000000000000000", time);
        });
    let sink = Sink::start(&log.flags("refused", database), database.token());
    wait_for_keys(database, "refused", 0..1);
    log.put("refused", 1, &[lines[..600].join("\n")]);
    log.put("refused", 1, &lines[600..]);
    log.flush();
    wait_for_keys(database, "refused", 0..1000);
    let (text, key) = (&lines[500], &lines[9]);
    check_letters(
        "refused",
        &[
            (
                text,
                "waggle-offset=1 waggle-line=501",
                "field type conflict",
            ),
            (key, "waggle-offset=1 waggle-line=10", "field type conflict"),
        ],
    );
    wait_until("commit of all", || {
        log.committed_offsets("group-of-refused", "refused", 1) == log.ends("refused", 1)
    });
    assert_eq!(sink.metric("waggle_sink_records_dead_lettered_total"), 2.0);
}

#[test]
fn lines_beyond_the_retention_need_one_more_write() {
    let (log, database) = (log(), database());
    database.make_bucket("short", 3600);
    log.make("old", 1);
    let old: Vec<String> = (0..500)
        .map(|time| format!("old v=1 {}", 1_700_000_000_000_000_000_u64 + time))
        .collect();
    log.put(
        "old",
        1,
        &[old.join("\n") + "\n" + &messages("old", 0..500, 500)[0]],
    );
    log.flush();
    let flags = log.flags_to("old", &database.url(), "short");
    let sink = Sink::start(&flags, database.token());
    wait_until("commit of all", || {
        log.committed_offsets("group-of-old", "old", 1) == [1]
    });
    assert_eq!(
        sink.metric("waggle_sink_records_dead_lettered_total"),
        500.0
    );
    assert_eq!(sink.metric("waggle_sink_records_written_total"), 500.0);
    assert_eq!(sink.metric("waggle_sink_answers_total"), 2.0);
    assert!(
        log.messages("old.dead", 500)[0]
            .1
            .join(" ")
            .ends_with("waggle-line=1"),
        "in order"
    );
}

#[test]
fn many_large_malformed_lines_become_one_dead_letter_each() {
    const LETTERS: usize = 60;
    let (log, database) = (log(), database());
    log.make("large", 1);
    // Half a megabyte each: together more than the memory for letters in flight.
    let texts: Vec<String> = (0..LETTERS)
        .map(|number| format!("{number}{}", "x".repeat(500_000)))
        .collect();
    log.put("large", 1, &texts);
    log.flush();
    let _sink = Sink::start(&log.flags("large", database), database.token());
    wait_until("commit of all", || {
        log.committed_offsets("group-of-large", "large", 1) == [i64::try_from(LETTERS).unwrap()]
    });
    assert_eq!(log.ends("large.dead", 1), [i64::try_from(LETTERS).unwrap()]);
}

//! The short form of `bench/faults`: every program is killed once.

use std::path::Path;
use std::time::Duration;

use waggle_testkit::faults::{Plan, run, schedule};

#[test]
fn whatever_is_killed_nothing_acknowledged_is_missing() {
    let plan = Plan {
        program: Path::new(env!("CARGO_BIN_EXE_waggle-gateway")).to_owned(),
        kills: schedule(4, 5),
        rate_max: 1_000,
        arrive_within: Duration::from_mins(10),
    };
    let outcome = run(&plan, |_| ());
    for (place, balance) in [
        ("Kafka", &outcome.kafka),
        ("the sink's bucket", &outcome.sink),
        ("Telegraf's bucket", &outcome.telegraf),
    ] {
        assert_eq!(balance.missing, 0, "{place}: {outcome:#?}");
        assert_eq!(balance.refused_found, 0, "{place}: {outcome:#?}");
    }
    // What is twice in the log is once in the database.
    assert_eq!(outcome.sink.duplicates, 0, "{outcome:#?}");
    assert_eq!(outcome.telegraf.duplicates, 0, "{outcome:#?}");
    assert!(outcome.acknowledged > 1_000, "{outcome:#?}");
}

//! The short form of `bench/faults`: every program is killed once.

use std::{path::Path, time::Duration};

use waggle_testkit::faults::{Plan, run, schedule};

#[test]
fn no_acknowledged_record_is_lost_by_any_kill() {
    let plan = Plan {
        program: Path::new(env!("CARGO_BIN_EXE_waggle-gateway")).to_owned(),
        kills: schedule(4, 5),
        rate_max: 1_000,
        arrive_within: Duration::from_mins(10),
    };
    let outcome = run(&plan, |_| ());
    for (store, balance) in [
        ("Kafka", &outcome.kafka),
        ("the sink's bucket", &outcome.sink),
        ("Telegraf's bucket", &outcome.telegraf),
    ] {
        assert_eq!(balance.missing, 0, "{store}: {outcome:#?}");
        assert_eq!(balance.refused_but_stored, 0, "{store}: {outcome:#?}");
    }
    // A duplicate in the log is one point in the database.
    assert_eq!(outcome.sink.duplicates, 0, "{outcome:#?}");
    assert_eq!(outcome.telegraf.duplicates, 0, "{outcome:#?}");
    assert!(outcome.acknowledged > 1_000, "{outcome:#?}");
}

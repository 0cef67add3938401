//! What is done to a system before its load.

use std::{path::Path, time::Duration};

use waggle_spec::{Arrivals, FeedOrder, LoadModel};
use waggle_study::{Cell, FeedRows, Settle, Study, plan, read_study};

use super::{change_text, mistakes::answered_table, source, system};

pub(super) const STUDY: &str = include_str!("../fixtures/prepared.yaml");

fn study(changes: &[(&str, &str)]) -> Study {
    let text = change_text(STUDY, changes);
    read_study(&source("prepared.yaml", text), &system()).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn loads_of_a_preparation_are_read() {
    let study = study(&[]);
    assert_eq!(study.grow.as_deref(), Some("orders"));
    let preparation = study.cells[1].preparation.as_ref().unwrap();
    let [fill, index] = &preparation.loads[..] else {
        panic!("{preparation:?}")
    };
    assert_eq!(
        (fill.name(), fill.sessions, fill.retries),
        ("fill", 100_000, 5)
    );
    assert_eq!(fill.scenario.steps, ["order", "change"]);
    assert_eq!(fill.keep, ["number"]);
    let closed = LoadModel::Closed {
        connections: 16,
        pipelining: 1,
    };
    assert_eq!(fill.model, closed);
    let two_hours = Duration::from_secs(7_200);
    assert_eq!(fill.at_most(), two_hours + Duration::from_secs(60));
    let verify = fill.verify.as_ref().unwrap();
    assert_eq!(
        (&*verify.name, &verify.steps[..]),
        ("fill", &["count".to_owned()][..])
    );
    let open = LoadModel::Open {
        rate_per_s: 5.0,
        arrivals: Arrivals::Uniform,
        connections: 10,
        pipelining: 1,
    };
    assert_eq!(index.model, open);
    assert_eq!(
        index.scenario.feeds[0].order,
        FeedOrder::Recent { skew: 0.9 }
    );
    assert_eq!(
        preparation.settle,
        Some(Settle::Time(Duration::from_secs(2)))
    );
    let feed = &study.cells[1].scenario().unwrap().feeds[0];
    let FeedRows::Kept(rows) = &feed.rows else {
        panic!("{feed:?}")
    };
    assert_eq!((&*rows.load, rows.count), ("fill", 100_000));
    let thresholds: Vec<&str> = study
        .thresholds
        .iter()
        .map(|threshold| &*threshold.text)
        .collect();
    let expected = [
        "prepare.index.duration < 10s",
        "prepare.fill.response_time.p99 < 1s",
        "prepare.fill.error_rate < 1%",
    ];
    assert_eq!(thresholds, expected);
}

#[test]
fn cells_that_share_a_preparation_follow_one_another_smallest_first() {
    let factors = (
        "  orders: [1000, 100000]",
        "  orders: [1000, 10, 100000]\n  readers: [1, 2, 3]",
    );
    let study = study(&[factors, ("connections: 8", "connections: ${readers}")]);
    let cell = |number: u32| {
        study
            .cells
            .iter()
            .find(|cell| cell.number == number)
            .unwrap()
    };
    let level = |cell: &Cell, factor: usize| cell.levels[factor].1.to_string();
    let trials = plan(&study).trials;
    let order: Vec<(String, String)> = trials
        .iter()
        .map(|trial| (level(cell(trial.cell), 1), level(cell(trial.cell), 0)))
        .collect();
    let mut readers: Vec<&String> = order.iter().map(|(readers, _)| readers).collect();
    readers.dedup();
    assert_eq!(readers.len(), 3, "{order:?}");
    for group in order.chunks(9) {
        let orders: Vec<&str> = group.iter().map(|(_, orders)| &**orders).collect();
        let expected = [
            "10", "10", "10", "1000", "1000", "1000", "100000", "100000", "100000",
        ];
        assert_eq!(orders, expected);
    }
}

#[test]
fn deadlines_of_the_preparation_count() {
    let at_most = plan(&study(&[])).at_most;
    let longer = plan(&study(&[("timeout: 2h", "timeout: 3h")])).at_most;
    assert_eq!(longer - at_most, Duration::from_secs(6 * 3_600));
}

#[test]
fn every_mistake_of_a_preparation() {
    let system = system();
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/prepare-mistakes.txt"
    );
    answered_table(Path::new(golden), STUDY, &|text| {
        read_study(&source("prepared.yaml", text), &system).err()
    });
}

//! Loads that run beside the measured one.

use std::{path::Path, time::Duration};

use waggle_spec::{Arrivals, LoadModel};
use waggle_study::{Cell, Study, What, plan, read_study};

use super::{change_text, mistakes::answered_table, source, system};

const STUDY: &str = include_str!("../fixtures/background.yaml");

fn study(changes: &[(&str, &str)]) -> Study {
    let text = change_text(STUDY, changes);
    read_study(&source("background.yaml", text), &system()).unwrap_or_else(|why| panic!("{why}"))
}

fn running_loads(cell: &Cell) -> Vec<(&str, &LoadModel)> {
    let running = cell.running_background();
    running.map(|(load, model)| (load.name(), model)).collect()
}

#[test]
fn background_loads_are_read_and_absent_where_they_send_nothing() {
    let study = study(&[]);
    let closed = |connections| LoadModel::Closed {
        connections,
        pipelining: 1,
    };
    let open = LoadModel::Open {
        rate_per_s: 2.0,
        arrivals: Arrivals::Uniform,
        connections: 50,
        pipelining: 1,
    };
    let [none, changes, lists_cell, _, _, both] = &study.cells[..] else {
        panic!("six cells")
    };
    assert_eq!(running_loads(none), []);
    assert_eq!(running_loads(changes), [("changes", &open)]);
    assert_eq!(running_loads(lists_cell), [("lists", &closed(1))]);
    assert_eq!(
        running_loads(both),
        [("lists", &closed(4)), ("changes", &open)]
    );
    let [lists, changes] = &none.background[..] else {
        panic!("two loads, both absent")
    };
    assert_eq!((lists.name(), &*lists.endpoint), ("lists", "front"));
    assert_eq!(lists.request.timeout, Duration::from_secs(60));
    assert_eq!(lists.request.expect.status, [200]);
    let close = ("Connection".to_owned(), "close".to_owned());
    assert!(lists.request.headers.contains(&close));
    assert!(!changes.request.headers.contains(&close));
    assert_eq!(none.longest_timeout(), Duration::from_secs(5));
    assert_eq!(both.longest_timeout(), Duration::from_secs(60));
    assert_eq!(study.asks[1], ["background", "lists", "goodput"]);
    assert_eq!(study.thresholds.len(), 1);
}

#[test]
fn connections_can_be_closed_whatever_the_version_of_http() {
    for protocol in ["http1", "http2", "auto"] {
        let load = format!("rate: 200/s\n  keep_alive: false\n  protocol: {protocol}");
        let study = study(&[("rate: 200/s", &load)]);
        let close = ("Connection".to_owned(), "close".to_owned());
        let cell = &study.cells[0];
        let What::Request(measured) = &cell.what else {
            panic!("{protocol}: a request")
        };
        for request in [measured, &cell.background[0].request] {
            assert!(request.headers.contains(&close), "{protocol}");
        }
    }
}

#[test]
fn last_answers_of_background_loads_are_awaited() {
    let at_most = plan(&study(&[])).at_most;
    let longer = plan(&study(&[("timeout: 60s", "timeout: 70s")])).at_most;
    // Four cells have the load, each with three trials.
    assert_eq!(longer - at_most, Duration::from_secs(4 * 3 * 10));
}

#[test]
fn every_mistake_of_background_loads() {
    let system = system();
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/background-mistakes.txt"
    );
    answered_table(Path::new(golden), STUDY, &|text| {
        read_study(&source("background.yaml", text), &system).err()
    });
}

//! Components that are killed in mid-trial: which, when, in which cells, and every mistake.

use std::{path::Path, time::Duration};

use waggle_study::{Study, System, plan, read_study, read_system};

use super::{STUDY, SYSTEM, change_text, mistakes::answered_table, source};

const FAULTS: &str = r#"faults:
  - { kill: "${victim}", at: 2s, restart_after: 1500ms }
  - { kill: front, at: 1s, restart_after: 500ms }
  - { kill: front, replica: 1, at: 1s, restart_after: 500ms }
delivery: {"#;

const CACHE: &str = "  cache:
    when: { backend: sqlite }
    ports: [tcp]
    process: { command: [shop-cache] }
    ready: { tcp: { port: tcp } }
endpoints:
";

/// The fixture with a cache that does not exist in the study's configuration.
fn system() -> System {
    let text = change_text(SYSTEM, &[("endpoints:\n", CACHE)]);
    read_system(&source("system.yaml", text)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn text() -> String {
    let changes = [
        ("workers: [1, 2]", "workers: [2]\n  victim: [none, store]"),
        ("delivery: {", FAULTS),
    ];
    change_text(STUDY, &changes)
}

fn study(changes: &[(&str, &str)]) -> Study {
    let text = source("study.yaml", change_text(&text(), changes));
    read_study(&text, &system()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn what_is_killed_is_in_the_order_of_its_instants() {
    let study = study(&[]);
    let killed = |cell: usize| -> Vec<(String, Duration, Duration)> {
        let faults = study.cells[cell].faults.iter();
        faults
            .map(|fault| (fault.name(), fault.at, fault.restart_after()))
            .collect()
    };
    let (first, half) = (Duration::from_secs(1), Duration::from_millis(500));
    let fronts = [
        ("front-0".to_owned(), first, half),
        ("front-1".to_owned(), first, half),
    ];
    let store = (
        "store-0".to_owned(),
        Duration::from_secs(2),
        Duration::from_millis(1500),
    );
    assert_eq!(killed(0), fronts);
    assert_eq!(killed(1)[..2], fronts);
    assert_eq!(killed(1)[2], store);
}

#[test]
fn a_study_without_faults_kills_nothing() {
    let study = read_study(&source("study.yaml", STUDY), &system()).unwrap();
    assert!(study.cells.iter().all(|cell| cell.faults.is_empty()));
    assert_eq!(study.cells[0].last_restart(), None);
}

#[test]
fn the_plan_has_the_time_that_it_takes() {
    let trial = |victim: &str| {
        let victim = format!("victim: [{victim}]");
        let changes = [
            ("connections: [2, 10]", "connections: [2]"),
            ("pipelining: [1, 4]", "pipelining: [1]"),
            ("victim: [none, store]", victim.as_str()),
            ("repeat: 3", "repeat: 1"),
        ];
        plan(&study(&changes))
    };
    let (quiet, with_kill) = (trial("none"), trial("store"));
    // The store is restarted half a second after the measured phase of 3 s.
    let half = Duration::from_millis(500);
    assert_eq!(with_kill.expected - quiet.expected, half);
    assert_eq!(with_kill.at_most - quiet.at_most, half);
}

#[test]
fn every_mistake_of_faults() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/faults-mistakes.txt");
    let system = system();
    answered_table(&path, &text(), &|text| {
        read_study(&source("study.yaml", text), &system).err()
    });
}

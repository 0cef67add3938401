//! Limits of components and the split of CPUs: whose they are in each cell, and every mistake.

use std::path::Path;

use waggle_study::{Limits, Study, System, read_study, read_system};

use super::{STUDY, SYSTEM, change_text, headlines, mistakes::answered_table, source};

const PARAMETERS: &str = "  cpus:
    summary: CPUs of the store
    number: { min: 0.1, max: 8 }
    optional: true
    default: none
  memory:
    summary: memory of the store
    size: { min: 16MiB, max: 4GiB }
    optional: true
    default: 64MiB
components:
";
const LIMITS: &str = r#"    limits: { cpus: "${cpus}", memory: "${memory}" }
    stop_timeout: 2s
"#;

/// The fixture with limits of the store, by two parameters.
fn system() -> System {
    let changes = [
        ("components:\n", PARAMETERS),
        ("    stop_timeout: 2s\n", LIMITS),
    ];
    let text = change_text(SYSTEM, &changes);
    read_system(&source("system.yaml", text)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn text() -> String {
    let system = "  set: { backend: files }\n  limits: { front: { cpus: \"${front}\", memory: 1GiB } }\n  cpuset: [1, 3]";
    let changes = [
        ("  set: { backend: files }", system),
        (
            "  workers: [1, 2]",
            "  front: [none, 0.25]\n  cpus: [0.5, 2]",
        ),
        ("  model: closed", "  model: closed\n  cpuset: [0, 2]"),
    ];
    change_text(STUDY, &changes)
}

fn study(changes: &[(&str, &str)]) -> Study {
    let text = source("study.yaml", change_text(&text(), changes));
    read_study(&text, &system()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[track_caller]
fn check(study: &Study, cell: usize, component: &str, cpus: Option<f64>, memory: Option<u64>) {
    let limits = study.cells[cell].limits.get(component).copied();
    assert_eq!(
        limits.unwrap_or_default(),
        Limits { cpus, memory },
        "{component}"
    );
}

#[test]
fn limits_are_factors() {
    let study = study(&[]);
    assert_eq!(study.cells.len(), 16);
    let (mib, gib) = (1 << 20, 1 << 30);
    check(&study, 0, "front", None, Some(gib));
    check(&study, 0, "store", Some(0.5), Some(64 * mib));
    check(&study, 1, "store", Some(2.0), Some(64 * mib));
    check(&study, 2, "front", Some(0.25), Some(gib));
    assert_eq!(study.load_cpuset, [0, 2]);
    assert_eq!(study.system_cpuset, [1, 3]);
}

#[test]
fn a_study_has_the_last_word() {
    let limits = "{ store: { cpus: none, memory: none }, front: { cpus: \"${front}\" } }";
    let study = study(&[
        ("{ front: { cpus: \"${front}\", memory: 1GiB } }", limits),
        ("\n  cpus: [0.5, 2]", ""),
    ]);
    check(&study, 0, "store", None, None);
    assert!(!study.cells[0].limits.contains_key("store"));
    assert!(study.cells[0].limits.is_empty());
    check(&study, 1, "front", Some(0.25), None);
}

#[test]
fn a_component_that_runs_already_keeps_no_limit_of_its_system() {
    let study = study(&[(
        "  cpuset: [1, 3]",
        "  external: { store: { tcp: \"127.0.0.1:9\" } }",
    )]);
    assert!(
        study
            .cells
            .iter()
            .all(|cell| !cell.limits.contains_key("store"))
    );
}

#[test]
fn every_mistake_of_limits() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/limits-mistakes.txt");
    let system = system();
    answered_table(&path, &text(), &|text| {
        read_study(&source("study.yaml", text), &system).err()
    });
}

#[test]
fn a_parameter_must_be_a_limit_at_every_level() {
    let check = |old: &str, new: &str, expected: &str| {
        let changes = [
            ("components:\n", PARAMETERS),
            ("    stop_timeout: 2s\n", LIMITS),
        ];
        let text = change_text(&change_text(SYSTEM, &changes), &[(old, new)]);
        let mistakes = read_system(&source("system.yaml", text)).expect_err("a mistake");
        let messages = headlines(&mistakes).join("\n");
        assert!(messages.contains(expected), "{messages}");
    };
    let cpus = "components.store.limits.cpus is";
    let memory = "components.store.limits.memory is";
    check("min: 0.1, max: 8", "min: 0, max: 8", cpus);
    check("\"${cpus}\"", "\"${workrs}\"", cpus);
    check("\"${cpus}\"", "0", cpus);
    check("\"${cpus}\"", "\"${cpus} \"", cpus);
    check("min: 16MiB", "min: 8MiB", memory);
    check("\"${memory}\"", "\"${cpus}\"", memory);
    check("\"${memory}\"", "512", memory);
    check(
        "default: none",
        "default: any",
        "a number from 0.1 to 8 or none",
    );
}

//! Every number of the catalogue of metrics can stand in a condition.

use std::collections::HashSet;

use waggle_metrics::{CATALOGUE, Subject, Unit};
use waggle_study::{Mistakes, Study, read_study, read_study_and_files};

use super::{STUDY, change_text, probes, scenarios, source};

/// Subjects, each with what stands before the names of its numbers.
type Subjects = [(Subject, &'static str)];

const OF_RECORDS: &Subjects = &[
    (Subject::Load, "order."),
    (Subject::WholeLoad, "order."),
    (Subject::Delivery, "delivery."),
    (Subject::Probe, "delivery."),
    (Subject::Probe, "delivery.broker."),
    (Subject::Engine, "engine."),
    (Subject::Machine, "machine."),
    (Subject::System, "system."),
    (Subject::Component, "components.front."),
    (Subject::Watch, "watches.depth."),
];

const OF_SCENARIO: &Subjects = &[
    (Subject::Load, "login."),
    (Subject::Load, "shopping."),
    (Subject::WholeLoad, "shopping."),
    (Subject::Sessions, "sessions."),
];

/// A condition on each of their numbers.
fn conditions(subjects: &Subjects) -> Vec<String> {
    let mut all = Vec::new();
    for (subject, before) in subjects {
        for row in CATALOGUE.iter().filter(|row| row.subject == *subject) {
            let least = smallest_value(row.unit);
            all.extend(row.all_statistics().map(|statistic| match statistic {
                Some(statistic) => format!("{before}{}.{} > {least}", row.name, statistic.name()),
                None => format!("{before}{} > {least}", row.name),
            }));
        }
    }
    all
}

fn smallest_value(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "1us",
        Unit::Rate => "1/s",
        Unit::Share | Unit::Cpus => "1%",
        Unit::Count => "1",
        Unit::Bytes => "1B",
        Unit::ByteRate => "1B/s",
    }
}

/// A study is read with these as its conditions.
fn check(
    study: &str,
    changes: &[(&str, &str)],
    subjects: &Subjects,
    read: impl Fn(String) -> Result<Study, Mistakes>,
) {
    let conditions = conditions(subjects);
    let (before, _) = study.split_once("thresholds:\n").expect("it is there");
    let lines: Vec<String> = conditions
        .iter()
        .map(|one| format!("  - {one}\n"))
        .collect();
    let text = change_text(before, changes) + "thresholds:\n" + &lines.concat();
    let study = read(text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let told: Vec<&String> = study.thresholds.iter().map(|one| &one.text).collect();
    assert_eq!(told, conditions.iter().collect::<Vec<_>>());
}

#[test]
fn each_number_can_stand_in_a_condition() {
    let records = |text: String| read_study(&source("study.yaml", text), &probes::system());
    let probes = ("at: store", "at: [broker, store]");
    check(STUDY, &[probes], OF_RECORDS, records);
    check(
        STUDY,
        &[(
            "measure:\n",
            "disturb:\n  - { kill: front, at: 1s, again_after: 500ms }\nmeasure:\n",
        )],
        &[(Subject::Disturbance, "disturb.")],
        records,
    );
    check(
        STUDY,
        &[
            ("connections: [2, 10]", "after: [5/s, 50/s]"),
            ("model: closed", "model: open\n  rate: 100/s"),
            ("  connections: ${connections}\n", ""),
            ("until: steady", "until: time"),
            (
                "measure: 3s",
                "measure: 3s\n  recovery: { rate: \"${after}\", p99: 250ms, at_most: 30s }",
            ),
        ],
        &[(Subject::Recovery, "")],
        records,
    );
    check(scenarios::STUDY, &[], OF_SCENARIO, |text| {
        let text = source("shopping.yaml", text);
        read_study_and_files(&text, &super::system(), &scenarios::files)
    });
    let asked = OF_RECORDS.iter().chain(OF_SCENARIO);
    let asked: HashSet<String> = asked.map(|(subject, _)| format!("{subject:?}")).collect();
    let rows = CATALOGUE.iter().map(|row| format!("{:?}", row.subject));
    let apart = ["Disturbance".to_owned(), "Recovery".to_owned()];
    let left: HashSet<String> = rows
        .filter(|subject| !asked.contains(subject) && !apart.contains(subject))
        .collect();
    assert!(left.is_empty(), "no study has numbers of {left:?}");
}

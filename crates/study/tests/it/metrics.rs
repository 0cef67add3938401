//! Every metric of the catalogue can be in a condition.

use std::collections::HashSet;

use waggle_metrics::{CATALOGUE, Subject, Unit};
use waggle_spec::LoadRole;
use waggle_study::{Mistakes, Study, read_study, read_study_and_files, read_system};

use super::{STUDY, accepted, change_text, headlines, prepare, probes, scenarios, source};

/// Subjects, each with the prefix of the paths of its metrics.
type Subjects = [(Subject, &'static str)];

const OF_RECORDS: &Subjects = &[
    (Subject::Load, "order."),
    (Subject::WholeLoad, "order."),
    (Subject::Delivery, "delivery."),
    (Subject::Probe, "delivery."),
    (Subject::Probe, "delivery.broker."),
    (Subject::Generator, "generator."),
    (Subject::Machine, "machine."),
    (Subject::System, "system."),
    (Subject::Component, "components.front."),
    (Subject::SystemMetric, "metrics.depth."),
];

const OF_SCENARIO: &Subjects = &[
    (Subject::Load, "login."),
    (Subject::Load, "shopping."),
    (Subject::WholeLoad, "shopping."),
    (Subject::Sessions, "sessions."),
];

/// A condition on each of their metrics.
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
        .map(|condition| format!("  - {condition}\n"))
        .collect();
    let text = change_text(before, changes) + "thresholds:\n" + &lines.concat();
    let study = read(text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let texts: Vec<&String> = study
        .thresholds
        .iter()
        .map(|condition| &condition.text)
        .collect();
    assert_eq!(texts, conditions.iter().collect::<Vec<_>>());
}

/// Every subject of the catalogue is that of a study here.
#[track_caller]
fn no_subject_is_left() {
    let asked = OF_RECORDS.iter().chain(OF_SCENARIO);
    let asked: HashSet<String> = asked.map(|(subject, _)| format!("{subject:?}")).collect();
    let rows = CATALOGUE.iter().map(|row| format!("{:?}", row.subject));
    let apart = [
        "Answers",
        "SideLoad(Background)",
        "Fault",
        "Recovery",
        "SideLoad(Preparation)",
        "Clients",
        "Network",
    ]
    .map(str::to_owned);
    let left: HashSet<String> = rows
        .filter(|subject| !asked.contains(subject) && !apart.contains(subject))
        .collect();
    assert!(left.is_empty(), "no study has numbers of {left:?}");
}

#[test]
fn each_metric_can_be_in_a_condition() {
    let records = |text: String| read_study(&source("study.yaml", text), &probes::system());
    let probes = ("probes: store", "probes: [broker, store]");
    check(STUDY, &[probes], OF_RECORDS, records);
    check(
        STUDY,
        &[(
            "delivery: {",
            "faults:\n  - { kill: front, at: 1s, restart_after: 500ms }\ndelivery: {",
        )],
        &[(Subject::Fault, "faults.")],
        records,
    );
    check(
        STUDY,
        &[
            ("connections: [2, 10]", "after: [5/s, 50/s]"),
            ("model: closed", "model: open\n  rate: 100/s"),
            ("  connections: ${connections}\n", ""),
            ("until: steady, timeout: 2s", "duration: 2s"),
            (
                "measure: 3s",
                "measure: 3s\n  recovery: { rate: \"${after}\", p99: 250ms, duration: 30s }",
            ),
        ],
        &[(Subject::Recovery, "")],
        records,
    );
    check(
        STUDY,
        &[("delivery: {", "network: {}\ndelivery: {")],
        &[(Subject::Network, "network.")],
        records,
    );
    let lists = "background:\n  - { name: lists, endpoint: front, connections: 1, request: { get: /all } }\ndelivery: {";
    let of_lists = [(Subject::SideLoad(LoadRole::Background), "background.lists.")];
    check(STUDY, &[("delivery: {", lists)], &of_lists, records);
    let inspects = (
        "    timeout: 5s",
        "    timeout: 5s\n    inspect: { count: $.items }",
    );
    check(STUDY, &[inspects], &[(Subject::Answers, "order.")], records);
    check(
        STUDY,
        accepted::CLIENTS,
        &[(Subject::Clients, "clients.")],
        records,
    );
    check(scenarios::STUDY, &[], OF_SCENARIO, |text| {
        let text = source("shopping.yaml", text);
        read_study_and_files(&text, &super::system(), &scenarios::files)
    });
    // The last list of conditions is the study's own.
    let (before, _) = prepare::STUDY
        .rsplit_once("thresholds:")
        .expect("it is there");
    let without_own = before.replace(
        "      thresholds: [\"response_time.p99 < 1s\", \"error_rate < 1%\"]\n",
        "",
    );
    let of_loads = [
        (Subject::SideLoad(LoadRole::Preparation), "prepare.fill."),
        (Subject::SideLoad(LoadRole::Preparation), "prepare.index."),
    ];
    check(&(without_own + "thresholds:\n"), &[], &of_loads, |text| {
        read_study(&source("prepared.yaml", text), &super::system())
    });
    no_subject_is_left();
}

#[test]
fn only_words_with_which_metrics_begin_are_taken() {
    let read_as = |name: &str| {
        let name = format!("name: {name}");
        let text = change_text(STUDY, &[("name: order", &name)]);
        let (before, _) = text.split_once("thresholds:\n").expect("it is there");
        read_study(&source("study.yaml", before), &probes::system())
    };
    for taken in [
        "delivery",
        "generator",
        "sessions",
        "components",
        "metrics",
        "faults",
    ] {
        let mistakes = read_as(taken).expect_err("it means something else");
        let errors = headlines(&mistakes);
        assert!(
            errors[0].contains(&format!("load.request.name is {taken:?}")),
            "{errors:?}"
        );
    }
    for free in ["engine", "watches", "machine"] {
        read_as(free).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    }
}

/// A metric of the system in this unit has its thresholds in it; `expected`: the value of the condition, or what is expected.
#[track_caller]
fn check_unit(keys: &str, value: &str, expected: Result<f64, &str>) {
    let system = probes::text().replace(
        "metrics:\n",
        &format!("metrics:\n  own: {{ summary: s, component: front, port: http, get: /m, json: $.n{keys} }}\n"),
    );
    let system = read_system(&source("system.yaml", system)).expect("a system");
    let (before, _) = STUDY.split_once("thresholds:\n").expect("it is there");
    let text = format!("{before}thresholds:\n  - metrics.own.max < {value}\n");
    let read = read_study(&source("study.yaml", text), &system);
    match (read, expected) {
        (Ok(study), Ok(value)) => {
            let threshold = study.thresholds[0].value;
            assert!(
                (threshold - value).abs() <= value * 1e-9,
                "{keys} {value}: {threshold}"
            );
        }
        (Err(mistakes), Err(expected)) => {
            assert!(
                mistakes.to_string().contains(expected),
                "{keys}: {mistakes}"
            );
        }
        (read, _) => panic!("{keys} {value}: {read:?}"),
    }
}

#[test]
fn a_metric_of_a_system_has_the_unit_that_its_system_says() {
    check_unit("", "200", Ok(200.0));
    check_unit("", "200MB", Err("expected a count such as 0"));
    check_unit(", unit: count", "200", Ok(200.0));
    check_unit(", unit: bytes", "200MB", Ok(2e8));
    check_unit(", unit: bytes", "4KiB", Ok(4096.0));
    check_unit(", unit: bytes", "200", Err("expected a size such as 4KiB"));
    check_unit(", unit: s", "50ms", Ok(50_000.0));
    check_unit(", unit: ms", "50ms", Ok(50_000.0));
    check_unit(", unit: us", "50ms", Ok(50_000.0));
    check_unit(", unit: /s", "1000/s", Ok(1000.0));
    check_unit(", unit: bytes/s", "10MiB/s", Ok(10_485_760.0));
    check_unit(", unit: share", "5%", Ok(0.05));
    check_unit(", unit: '%'", "5%", Ok(0.05));
    check_unit(
        ", unit: bytes, per_second: true",
        "10MiB/s",
        Ok(10_485_760.0),
    );
    check_unit(", unit: s, per_second: true", "150%", Ok(1.5));
    check_unit(", unit: count, per_second: true", "9/s", Ok(9.0));
    // Without a unit the growth stays a number, as ever.
    check_unit(", per_second: true", "9", Ok(9.0));
}

/// What a number that is read is multiplied by, so that values are in µs, bytes, CPUs or a share of 1.
#[test]
fn values_are_in_the_unit_of_all_metrics() {
    let check = |keys: &str, factor: f64| {
        let system = probes::text().replace(
            "metrics:\n",
            &format!("metrics:\n  own: {{ summary: s, component: front, port: http, get: /m, json: $.n, {keys} }}\n"),
        );
        let system = read_system(&source("system.yaml", system)).unwrap();
        let mut metrics = system.metrics.iter();
        let own_metric = metrics.find(|metric| metric.name == "own").unwrap();
        assert!(
            (own_metric.unit.factor - factor).abs() < 1e-12,
            "{keys}: {own_metric:?}"
        );
    };
    check("unit: s", 1e6);
    check("unit: ms", 1e3);
    check("unit: us", 1.0);
    check("unit: bytes", 1.0);
    check("unit: '%'", 0.01);
    check("unit: s, per_second: true", 1.0);
    check("unit: ms, per_second: true", 1e-3);
    check("unit: us, per_second: true", 1e-6);
}

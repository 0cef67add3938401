//! Files without a mistake, and the values read from them.

use std::time::Duration;

use waggle_spec::{
    Arrivals, Comparison, LoadModel, OnSocketError, Protocol, Think, TrialOrder, WarmUpUntil,
};
use waggle_study::{
    BodyExpect, Cell, Level, Named, Request, Study, Values, What, no_files, read_study,
    read_system, system_of,
};

use super::{STUDY, change_text, read, root, source, system};

/// What a cell without a scenario sends.
pub(super) fn request(cell: &Cell) -> &Request {
    match &cell.what {
        What::Request(request) => request,
        What::Scenario(scenario) => panic!("{} is a scenario", scenario.name),
    }
}

pub(super) fn read_valid_study(changes: &[(&str, &str)]) -> Study {
    let text = source("study.yaml", change_text(STUDY, changes));
    read_study(&text, &system()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn the_published_study_fits_its_system() {
    let system = source(
        "system.yaml",
        read(&root().join("systems/ingest/system.yaml")),
    );
    let system = read_system(&system).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let study = source("ingest.yaml", read(&root().join("studies/ingest.yaml")));
    let study = read_study(&study, &system).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(study.cells.len(), 6);
}

#[test]
fn a_study_names_its_system() {
    assert_eq!(
        system_of(&source("study.yaml", STUDY)).unwrap(),
        Named::System("shop".to_owned())
    );
}

#[test]
fn every_value_arrives() {
    let study = read_valid_study(&[]);
    assert_eq!(study.name, "shop");
    assert_eq!(study.factors, ["connections", "pipelining", "workers"]);
    assert_eq!(
        (study.repeat, study.order, study.max_ci_width),
        (3, TrialOrder::Shuffled, 0.2)
    );
    assert_eq!(study.system_at_most, Duration::from_secs(3 + 10 + 2));
    let cell = &study.cells[5];
    assert_eq!(cell.number, 6);
    let levels: Vec<_> = cell
        .levels
        .iter()
        .map(|(name, level)| format!("{name}={level}"))
        .collect();
    assert_eq!(levels, ["connections=10", "pipelining=1", "workers=2"]);
    assert_eq!(
        cell.load,
        LoadModel::Closed {
            connections: 10,
            pipelining: 1
        }
    );
    assert_eq!(request(cell).method, "PUT");
    assert_eq!(
        request(cell).headers,
        [("X-Shop".to_owned(), "one".to_owned())]
    );
    assert_eq!(request(cell).expect.status, [200, 204]);
    assert_eq!(request(cell).timeout, Duration::from_secs(5));
    assert_eq!(cell.schedule.warm_up_until, WarmUpUntil::Steady);
    assert_eq!(cell.schedule.ready_timeout, Duration::from_secs(30));
    assert_eq!(
        cell.delivery.as_ref().unwrap().poll_interval,
        Duration::from_millis(100)
    );
    assert_eq!(study.thresholds[1].op, Comparison::Less);
    assert_eq!(study.thresholds[1].value, 50_000.0);
}

#[test]
fn a_factor_with_a_parameters_name_sets_it() {
    let check = |changes: &[(&str, &str)], cell: usize, name: &str, expected: Level| {
        assert_eq!(
            read_valid_study(changes).cells[cell].parameters[name],
            expected,
            "{changes:?}"
        );
    };
    check(&[], 0, "workers", Level::Integer(1));
    check(&[], 1, "workers", Level::Integer(2));
    check(&[], 1, "backend", Level::Text("files".into()));
    check(&[], 1, "sync", Level::Boolean(true));
    let by_set = [
        ("backend: files", "workers: \"${threads}\""),
        ("workers: [1, 2]", "threads: [3, 4]"),
    ];
    check(&by_set, 1, "workers", Level::Integer(4));
    let flush = [("workers: [1, 2]", "flush: [10ms, 1s]")];
    check(&flush, 1, "flush", Level::Text("1s".into()));
    let buffer = [("backend: files", "buffer: 1MiB")];
    check(&buffer, 1, "buffer", Level::Text("1MiB".into()));
}

#[test]
fn models() {
    let check = |load: &str, expected: LoadModel| {
        let changes = [
            (
                "model: closed\n  connections: ${connections}\n  pipelining: ${pipelining}",
                load,
            ),
            ("  connections: [2, 10]\n  pipelining: [1, 4]\n", ""),
        ];
        assert_eq!(read_valid_study(&changes).cells[0].load, expected, "{load}");
    };
    let second = Duration::from_secs(1);
    check(
        "model: closed\n  connections: 7",
        LoadModel::Closed {
            connections: 7,
            pipelining: 1,
        },
    );
    check(
        "model: open\n  rate: 1000/s",
        LoadModel::Open {
            rate_per_s: 1000.0,
            arrivals: Arrivals::Poisson,
            connections: 50,
            pipelining: 1,
        },
    );
    check(
        "model: open\n  rate: 2.5\n  arrivals: uniform\n  connections: 3\n  pipelining: 2",
        LoadModel::Open {
            rate_per_s: 2.5,
            arrivals: Arrivals::Uniform,
            connections: 3,
            pipelining: 2,
        },
    );
    check(
        "model: users\n  users: 9\n  think_time: 1s",
        LoadModel::Users {
            users: 9,
            think_time: Think::Fixed(second),
        },
    );
    check(
        "model: users\n  users: 9\n  think_time: { exponential: 1s }",
        LoadModel::Users {
            users: 9,
            think_time: Think::Exponential(second),
        },
    );
    check(
        "model: users\n  users: 9\n  think_time: { uniform: [1s, 3s] }",
        LoadModel::Users {
            users: 9,
            think_time: Think::Uniform {
                from: second,
                to: 3 * second,
            },
        },
    );
}

#[test]
fn the_version_of_http() {
    let check = |change: &str, expected: Protocol| {
        let study = read_valid_study(&[("model: closed", change)]);
        assert_eq!(study.cells[0].protocol, expected, "{change}");
    };
    check("model: closed", Protocol::Http1);
    check("model: closed\n  protocol: http1", Protocol::Http1);
    check("model: closed\n  protocol: http2", Protocol::Http2);
    check("model: closed\n  protocol: auto", Protocol::Auto);
}

#[test]
fn factors_replace_any_scalar() {
    let study = read_valid_study(&[
        (
            "workers: [1, 2]",
            "n: [1, 2]\n  model: [closed]\n  t: [2s, 4s]\n  code: [204]",
        ),
        ("model: closed", "model: ${model}"),
        ("/orders", "/orders?n=${n}&c=${connections}"),
        ("X-Shop: one", "X-Shop: \"${n}\""),
        ("measure: 3s", "measure: ${t}"),
        ("timeout: 10s", "timeout: \"${n}0s\", quiet_period: 1500ms"),
        ("[200, 204]", "\"${code}\""),
    ]);
    let cell = &study.cells[3];
    assert_eq!(request(cell).path, "/orders?n=2&c=2");
    assert_eq!(request(cell).headers[0].1, "2");
    assert_eq!(cell.schedule.measure, Duration::from_secs(4));
    assert_eq!(cell.schedule.drain_timeout, Duration::from_secs(20));
    assert_eq!(
        cell.schedule.drain_quiet_period,
        Duration::from_millis(1500)
    );
    assert_eq!(request(cell).expect.status, [204]);
}

#[test]
fn two_dollars_are_one() {
    let study = read_valid_study(&[(
        "expect: { status: [200, 204] }",
        "expect: { body_contains: \"$${workers}\" }",
    )]);
    assert_eq!(
        request(&study.cells[0]).expect.body,
        BodyExpect::Contains(vec!["${workers}".into()])
    );
}

#[test]
fn cells_row_by_row() {
    let factors = "factors:\n  connections: [2, 10]\n  pipelining: [1, 4]\n  workers: [1, 2]\n";
    let rows =
        "cells:\n  - { connections: 5, pipelining: 2 }\n  - { pipelining: 3, connections: 1 }\n";
    let study = read_valid_study(&[(factors, rows)]);
    assert_eq!(study.factors, ["connections", "pipelining"]);
    let loads: Vec<_> = study.cells.iter().map(|cell| cell.load.clone()).collect();
    assert_eq!(
        loads,
        [
            LoadModel::Closed {
                connections: 5,
                pipelining: 2
            },
            LoadModel::Closed {
                connections: 1,
                pipelining: 3
            }
        ]
    );
}

#[test]
fn a_study_without_factors_has_one_cell() {
    let study = read_valid_study(&[
        (
            "factors:\n  connections: [2, 10]\n  pipelining: [1, 4]\n  workers: [1, 2]\n",
            "",
        ),
        ("${connections}", "3"),
        ("${pipelining}", "1"),
    ]);
    assert_eq!((study.cells.len(), study.cells[0].levels.len()), (1, 0));
}

#[test]
fn thresholds() {
    let check = |text: &str, op: Comparison, value: f64| {
        let study = read_valid_study(&[("delivery.missing == 0", text)]);
        assert_eq!(
            (study.thresholds[0].op, study.thresholds[0].value),
            (op, value),
            "{text}"
        );
    };
    check(
        "order.goodput >= 1000/s",
        Comparison::GreaterOrEqual,
        1000.0,
    );
    check("order.error_rate <= 1%", Comparison::LessOrEqual, 0.01);
    check("order.error_rate < 0.5", Comparison::Less, 0.5);
    check(
        "order.service_time.p99_9 < 1.5 ms",
        Comparison::Less,
        1500.0,
    );
    check("delivery.delay.max < 2s", Comparison::Less, 2_000_000.0);
    check("delivery.delivered > 10", Comparison::Greater, 10.0);
    check("generator.utilization < 80%", Comparison::Less, 0.8);
}

#[test]
fn components_start_after_what_they_need() {
    let names: Vec<_> = system()
        .components
        .into_iter()
        .map(|component| component.name)
        .collect();
    assert_eq!(names, ["store", "front"]);
}

/// Text that only looks like the name of a variable is sent as it is.
#[test]
fn headers_have_values_from_the_environment() {
    let check = |header: &str, expected: &str| {
        let mut study = read_valid_study(&[
            ("X-Shop: one", &format!("X-Shop: '{header}'")),
            ("pipelining: [1, 4]", "pipelining: [1]\n  a: ['{env.B}']"),
        ]);
        let value_of = |name: &str| Some(name.to_lowercase());
        let values = Values {
            variable: &value_of,
            file: &no_files,
        };
        study.take_from_environment(values).unwrap();
        let value = &request(&study.cells[0]).headers[0].1;
        assert_eq!(value, expected, "{header}");
    };
    check("${a} ${env.X}!", "{env.B} x!");
    check("${a}", "{env.B}");
    check("$${a} ${a}", "${a} {env.B}");
    check("$${env.X} ${a} ${env.X}", "${env.X} {env.B} x");
    check("$${env.X ${a}", "${env.X {env.B}");
    check("$ $${env.X} ${a}", "$ ${env.X} {env.B}");
    check("$$${env.X}${a}", "$${env.X}{env.B}");
}

#[test]
fn a_search_has_a_first_level_by_default() {
    let check = |search: &str, expected: [f64; 3]| {
        let search =
            format!("search: {{ {search}, conditions: [order.failed == 0] }}\nthresholds:");
        let study = read_valid_study(&[
            ("model: closed", "model: open"),
            ("  repeat: 3\n", ""),
            ("thresholds:", &search),
        ]);
        let bounds = study.search.unwrap();
        assert_eq!([bounds.start, bounds.min, bounds.max], expected);
    };
    check("maximize: rate", [1_000.0, 10.0, 1_000_000.0]);
    check("maximize: rate, max: 500/s", [500.0, 5.0, 500.0]);
    check(
        "maximize: rate, min: 2000/s",
        [2_000.0, 2_000.0, 2_000_000.0],
    );
}

#[test]
fn a_search_has_its_levels_and_its_conditions() {
    let check = |load: (&str, &str), search: &str, expected: (&str, [f64; 3], LoadModel)| {
        let study = read_valid_study(&[
            load,
            ("  repeat: 3\n", ""),
            (
                "thresholds:",
                &format!("search: {{ {search}, conditions: [order.failed == 0] }}\nthresholds:"),
            ),
        ]);
        let settings = study.search.as_ref().unwrap();
        let levels = [settings.start, settings.min, settings.max];
        assert_eq!((settings.maximize.name(), levels), (expected.0, expected.1));
        assert_eq!(study.cells[0].load, expected.2);
        assert_eq!(study.repeat, settings.max_trials);
        assert_eq!(settings.conditions[0].metric, ["order", "failed"]);
    };
    let open = |rate_per_s| LoadModel::Open {
        rate_per_s,
        arrivals: Arrivals::Poisson,
        connections: 2,
        pipelining: 1,
    };
    let of_rate = ("model: closed", "model: open");
    check(
        of_rate,
        "maximize: rate, start: 1000/s",
        ("rate", [1_000.0, 10.0, 1_000_000.0], open(1_000.0)),
    );
    check(
        of_rate,
        "maximize: rate, start: 90/m, min: 1/s, max: 2.5, precision: 1%, confirmations: 5",
        ("rate", [1.5, 1.0, 2.5], open(1.5)),
    );
    let of_users = (
        "model: closed\n  connections: ${connections}\n  pipelining: ${pipelining}\n",
        "model: users\n  think_time: { exponential: \"${connections}s\" }\n  workers: ${pipelining}\n",
    );
    check(
        of_users,
        "maximize: users, start: 50, min: 4",
        (
            "users",
            [50.0, 4.0, 50_000.0],
            LoadModel::Users {
                users: 50,
                think_time: Think::Exponential(Duration::from_secs(2)),
            },
        ),
    );
    let settings = read_valid_study(&[
        of_rate,
        ("  repeat: 3\n", ""),
        (
            "thresholds:",
            "search: { maximize: rate, start: 10, conditions: [order.achieved_ratio >= 99%] }\nthresholds:",
        ),
    ]);
    let settings = settings.search.unwrap();
    assert_eq!(
        (
            settings.precision,
            settings.confirmations,
            settings.max_trials
        ),
        (0.05, 3, 30)
    );
    assert_eq!(
        (settings.operating_points.as_ref(), settings.trials()),
        (None, 30)
    );
}

/// What makes the load of the fixture one of clients.
pub(super) const CLIENTS: &[(&str, &str)] = &[
    (
        "  model: closed\n",
        "  model: clients\n  clients: 5\n  requests: 20\n",
    ),
    ("  pipelining: ${pipelining}\n", ""),
    ("  pipelining: [1, 4]\n", ""),
    (
        "  warm_up: { until: steady, timeout: 2s }\n  measure: 3s\n",
        "",
    ),
];

#[test]
fn a_load_of_clients_ends_by_itself() {
    let study = read_valid_study(CLIENTS);
    let cell = &study.cells[2];
    let expected = LoadModel::Clients {
        clients: 5,
        connections: 10,
        requests: 20,
        on_socket_error: OnSocketError::EndClient,
    };
    assert_eq!(cell.load, expected);
    assert_eq!(cell.load.connections(), 50);
    assert_eq!(
        (cell.schedule.warm_up, cell.schedule.measure),
        (Duration::ZERO, Duration::from_secs(3600))
    );
    assert_eq!(
        cell.connect_timeout,
        Duration::from_secs(5),
        "that of the request"
    );
}

//! Components that the user runs: how a study names them, what is left to start, and every mistake.

use std::path::Path;

use waggle_study::{
    EnvironmentError, ExternalComponent, Level, MetricSource, ProbeKind, Study, System, Values,
    no_files, read_study, read_system,
};

use super::{STUDY, SYSTEM, change_text, mistakes::answered_table, place, source};

const STORE: &str = "
      command: [\"${program.shop-store}\", \"--dir=${dir}\"]
      environment: { PASSWORD: \"${secret.door}\", ADMIN: \"${secret.admin}\" }
    setup:
      - { name: a shelf, port: tcp, put: \"/shelves/${shelf}\", body: '${secret.door}', expect: { status: 201 } }";

const MORE: &str = r#"  base:
    component: store
    port: tcp
    limit: 5000
    query:
      post: /query?shelf=${shelf}
      headers: { Authorization: 'Token ${secret.door}' }
      body: 'from ${from} to ${to} of ${shelf}'
    extract: { key: { column: _value }, time: { column: _time } }
  topic:
    when: { backend: files }
    component: cache
    port: tcp
    kafka: { topic: "${shelf}" }
    extract:
      run: { after: 'waggle_run=' }
      key: { after: 'waggle_key=' }
metrics:
  lag:
    when: { backend: files }
    summary: messages that wait
    component: cache
    port: tcp
    consumer_lag: { group: "${shelf}-writer", topic: "${shelf}" }
  depth:
    summary: what waits
    component: store
    port: tcp
    get: /metrics/${shelf}
    prometheus: depth
verify:"#;

/// The fixture with a store that has secrets and a setup, and a cache that exists in some configurations.
fn system_text() -> String {
    let command = "\n      command: [\"${program.shop-store}\", \"--dir=${dir}\"]";
    change_text(
        SYSTEM,
        &[
            (command, STORE),
            ("verify:", MORE),
            (
                "endpoints:\n",
                "  cache:\n    when: { backend: files }\n    ports: [tcp, admin]\n    process: { command: [shop-cache, \"${store.port.tcp}\", \"${store.address.tcp}\"] }\n    \
                 ready: { tcp: { port: tcp } }\nendpoints:\n",
            ),
            (
                "components:\n",
                "  shelf:\n    summary: where orders are put\n    text: {}\n    default: main\ncomponents:\n",
            ),
            ("get: /hello", "get: /hello/${shelf}"),
        ],
    )
}

fn system() -> System {
    let text = system_text();
    read_system(&source("system.yaml", text)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The fixture on a store and a cache that run already.
fn study_text() -> String {
    let set = "  set: { backend: files }";
    let external = "  set: { backend: files, shelf: lab-7 }
  external:
    store: { tcp: \"127.0.0.1:7001\" }
    cache: { tcp: [\"cache-0.lab:7002\", \"cache-1.lab:7002\"] }
  secrets: { door: \"${env.SHOP_DOOR}\" }";
    change_text(STUDY, &[(set, external)])
}

fn study() -> Study {
    let read = read_study(&source("study.yaml", study_text()), &system());
    read.unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn what_runs_already_has_addresses_and_nothing_to_start() {
    let study = study();
    let shown: Vec<String> = study.external.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "store (tcp 127.0.0.1:7001)",
            "cache (tcp cache-0.lab:7002, cache-1.lab:7002)"
        ]
    );
    let system = system().with_external(&study.external);
    let component = |name: &str| {
        let entry = system.components.iter().find(|known| known.name == name);
        entry.unwrap()
    };
    let (front, store, cache) = (component("front"), component("store"), component("cache"));
    assert!(front.external.is_none() && !front.process.command.is_empty());
    assert!(store.process.command.is_empty() && store.setup.is_empty());
    assert_eq!(
        (store.replicas.as_str(), cache.replicas.as_str()),
        ("1", "2")
    );
    // Only what is started has to be stopped: the front alone.
    assert_eq!(study.system_at_most, std::time::Duration::from_secs(3 + 10));
}

#[test]
fn what_only_components_that_run_already_need_is_not_started() {
    let component = |name: &str, needs: &str| {
        format!(
            "  {name}:\n    ports: [http]\n    depends_on: [{needs}]\n    process: {{ command: [run] }}\n    \
             ready: {{ tcp: {{ port: http }} }}\n"
        )
    };
    let parts = [
        ("disk", ""),
        ("database", "disk"),
        ("other", ""),
        ("api", "database, other"),
    ];
    let parts = parts.map(|(name, needs)| component(name, needs)).concat();
    let text = format!(
        "system: deep\nsummary: An API over a database.\ncomponents:\n{parts}{}endpoints:\n  \
         api: {{ component: api, port: http }}\n",
        component("page", "api, other")
    );
    let system = read_system(&source("system.yaml", text)).unwrap();
    let names = |external: &[&str]| {
        let external: Vec<_> = external
            .iter()
            .map(|name| ExternalComponent {
                name: (*name).to_owned(),
                has_identity: false,
                ports: Vec::new(),
            })
            .collect();
        let system = system.clone().with_external(&external);
        let names = system.components.iter().map(|known| known.name.clone());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&[]), "disk database other api page");
    assert_eq!(names(&["api"]), "other api page");
    assert_eq!(names(&["database"]), "database other api page");
}

#[test]
fn texts_to_components_have_the_parameters_of_the_cell() {
    let study = study();
    let system = system().configure(&study.cells[0].parameters);
    assert_eq!(system.verify[0].path, "/hello/lab-7");
    let probe = |name: &str| {
        let entry = system.probes.iter().find(|probe| probe.name == name);
        &entry.unwrap().kind
    };
    let ProbeKind::Query { query, .. } = probe("base") else {
        panic!("{:?}", probe("base"));
    };
    assert_eq!(query.path, "/query?shelf=lab-7");
    assert_eq!(query.body, "from ${from} to ${to} of lab-7");
    assert_eq!(query.headers[0].1, "Token ${secret.door}");
    assert_eq!(
        probe("topic"),
        &ProbeKind::Kafka {
            topic: "lab-7".to_owned()
        }
    );
    let ProbeKind::Tail { get, .. } = probe("store") else {
        panic!("{:?}", probe("store"));
    };
    assert_eq!(get, "/records?offset=${offset}&limit=${limit}");
    let sources: Vec<_> = system.metrics.iter().map(|metric| &metric.source).collect();
    let lag = MetricSource::ConsumerLag {
        group: "lab-7-writer".to_owned(),
        topic: "lab-7".to_owned(),
    };
    assert_eq!(sources[0], &lag);
    assert!(matches!(sources[1], MetricSource::Prometheus { get, .. } if get == "/metrics/lab-7"));
    let store = system.components.iter().find(|known| known.name == "store");
    assert_eq!(store.unwrap().setup[0].path, "/shelves/lab-7");
    let shelf = |text: &str| {
        let text = change_text(
            &study_text(),
            &[("shelf: lab-7", &format!("shelf: {text}"))],
        );
        let study = read_study(&source("study.yaml", text), &super::external::system());
        study.map(|study| study.cells[0].parameters["shelf"].clone())
    };
    assert_eq!(shelf("7").unwrap(), Level::Integer(7));
    assert!(shelf("1.5").is_err() && shelf("a/b").is_err() && shelf("''").is_err());
}

#[test]
fn secrets_come_from_the_environment_and_are_not_shown() {
    let taken = |value: Option<&str>| {
        let mut study = study();
        let value_of = |name: &str| match name {
            "SHOP_DOOR" => value.map(str::to_owned),
            _ => None,
        };
        let values = Values {
            variable: &value_of,
            file: &no_files,
        };
        study.take_from_environment(values).map(|()| study)
    };
    let study = taken(Some("open-sesame==")).unwrap();
    assert_eq!(study.secrets[0].value.as_deref(), Some("open-sesame=="));
    assert!(!format!("{study:?}").contains("open-sesame"));
    let missing = taken(None).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "system.secrets.door is the value of the environment variable SHOP_DOOR, which is not set"
    );
    assert_eq!(place(&missing), Some((9, 20)));
    for value in [
        "",
        "with space",
        "quo\"te",
        "quo'te",
        "back\\slash",
        "$HOME",
        "ü",
        "a\nb",
    ] {
        let refused = taken(Some(value)).unwrap_err();
        assert!(matches!(refused, EnvironmentError::UnusableSecret { .. }));
        assert!(
            value.is_empty() || !refused.to_string().contains(value),
            "{refused}"
        );
    }
}

/// A component that waggle does not start can be read while the others are down.
#[test]
fn a_cool_down_waits_for_a_metric() {
    let until = "repeat: 3\n  cool_down: { until: { metric: depth, below: 5 }, poll_interval: 1s, timeout: 9s }";
    let text = change_text(&study_text(), &[("repeat: 3", until)]);
    let study = read_study(&source("study.yaml", text), &system()).unwrap();
    let schedule = &study.cells[0].schedule;
    assert_eq!(schedule.cool_down, std::time::Duration::from_secs(9));
    let until = schedule.cool_down_until.as_ref().unwrap();
    let expected = "until the metric depth is below 5, polled every 1s";
    assert_eq!(until.to_string(), expected);
}

#[test]
fn every_mistake_about_what_runs_already() {
    let system = system();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/external-mistakes.txt");
    answered_table(&golden, &study_text(), &|text| {
        read_study(&source("study.yaml", text), &system).err()
    });
}

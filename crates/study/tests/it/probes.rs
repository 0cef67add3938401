//! Probes and metrics of every kind: what is accepted, and every mistake, from a table of changes to a system.

use std::path::Path;

use waggle_study::{
    Extract, JsonValue, MetricSource, Probe, ProbeKind, Selector, System, Watch, WatchBegin,
    WatchVersions, read_study, read_system,
};

use super::{STUDY, SYSTEM, change_text, headlines, mistakes::answered_table, source};

const MORE: &str = r#"  broker:
    component: store
    port: tcp
    kafka: { topic: plant }
    extract:
      run: { after: 'waggle_run=' }
      key: { after: 'waggle_key=' }
  base:
    component: store
    port: tcp
    backed_by: [front]
    limit: 5000
    query:
      post: /query?org=lab
      headers: { Authorization: 'Token ${secret.base}' }
      body: 'from ${from} to ${to} of ${run}'
    extract: { key: { column: _value }, time: { column: _time } }
metrics:
  depth:
    summary: what waits
    component: front
    port: metrics
    get: /metrics
    prometheus: 'depth{queue="a"}'
  state:
    summary: what the state says
    component: front
    port: metrics
    get: /state
    json: $.queue.depth
  lag:
    summary: messages that wait
    component: store
    port: tcp
    consumer_lag: { group: writer, topic: plant }
verify:"#;

/// The fixture with a probe and a metric of each kind.
pub(super) fn text() -> String {
    change_text(SYSTEM, &[("verify:", MORE)])
}

pub(super) fn system() -> System {
    read_system(&source("system.yaml", text())).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn every_kind_of_probe_is_read() {
    let system = system();
    let probe = |name: &str| -> &Probe {
        let entry = system.probes.iter().find(|probe| probe.name == name);
        entry.unwrap()
    };
    let topic = "plant".to_owned();
    assert_eq!(probe("broker").kind, ProbeKind::Kafka { topic });
    assert_eq!(
        probe("broker").extract,
        Extract::After {
            key: "waggle_key=".to_owned(),
            run: Some("waggle_run=".to_owned()),
            time: None,
        }
    );
    let ProbeKind::Query { query, limit } = &probe("base").kind else {
        panic!("{:?}", probe("base"));
    };
    assert_eq!(
        (query.method.as_str(), query.path.as_str()),
        ("POST", "/query?org=lab")
    );
    assert_eq!(
        (query.body.as_str(), *limit),
        ("from ${from} to ${to} of ${run}", 5000)
    );
    let sources = |name: &str| probe(name).sources().collect::<Vec<_>>().join(" ");
    assert_eq!(
        (sources("base"), sources("broker")),
        ("store front".into(), "store".into())
    );
    assert!(
        matches!(&probe("base").extract, Extract::Columns { key, run: None, .. } if key == "_value")
    );
    assert!(matches!(
        probe("store").kind,
        ProbeKind::Tail { limit: 1000, .. }
    ));
    let sources: Vec<_> = system.metrics.iter().map(|metric| &metric.source).collect();
    let selector = Selector {
        name: "depth".to_owned(),
        labels: vec![("queue".to_owned(), "a".to_owned())],
    };
    assert_eq!(
        sources,
        [
            &MetricSource::Prometheus {
                get: "/metrics".to_owned(),
                selector
            },
            &MetricSource::Json {
                get: "/state".to_owned(),
                path: "$.queue.depth".to_owned()
            },
            &MetricSource::ConsumerLag {
                group: "writer".to_owned(),
                topic: "plant".to_owned()
            },
        ]
    );
}

#[test]
fn delivery_is_followed_at_one_probe_or_several() {
    let system = system();
    let read = |names: &str| {
        let text = change_text(STUDY, &[("probes: store", &format!("probes: {names}"))]);
        read_study(&source("study.yaml", text), &system)
    };
    let probes = |names: &str| {
        let study = read(names).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let delivery = study.cells[0].delivery.clone();
        delivery.unwrap().probes
    };
    assert_eq!(probes("base"), ["base"]);
    assert_eq!(probes("[broker, base]"), ["broker", "base"]);
    let check = |names: &str, expected: &str| {
        let messages = headlines(&read(names).unwrap_err());
        assert!(
            messages.iter().any(|line| line.contains(expected)),
            "{messages:?}"
        );
    };
    check(
        "[broker, bse]",
        "delivery.probes is \"bse\", which is no probe of system shop; expected store, broker, base; did you mean \"base\"?",
    );
    check("[base, base]", "has \"base\" twice");
    check("[]", "has 0 entries");
    check("7", "expected text or a list");
}

#[test]
fn every_mistake_of_a_probe() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/probe-mistakes.txt");
    answered_table(&path, &text(), &|text| {
        read_system(&source("system.yaml", text)).err()
    });
}

#[test]
fn a_tail_may_show_when_its_store_had_a_record() {
    let offset = "offset: { after: '\"offset\":' }";
    let arrival = format!("{offset}\n      arrival: {{ after: at= }}");
    let changed = change_text(SYSTEM, &[(offset, &arrival)]);
    let system = read_system(&source("system.yaml", changed)).unwrap();
    let ProbeKind::Tail { arrival_after, .. } = &system.probes[0].kind else {
        panic!("{:?}", system.probes[0]);
    };
    assert_eq!(arrival_after.as_deref(), Some("at="));
    // The other kinds have none.
    let column = "extract: { key: { column: _value }";
    let changed = column.replace("{ key", "{ arrival: { column: _at }, key");
    assert!(text().contains(column));
    let refused = read_system(&source("system.yaml", text().replace(column, &changed)));
    let mistakes = refused.unwrap_err().to_string();
    assert!(
        mistakes.contains("extract.arrival is not used with query"),
        "{mistakes}"
    );
}

#[test]
fn a_tail_may_have_json_documents() {
    let read = |items: &str, extract: &str, limit: &str| {
        let probe = format!(
            "  list:\n    component: store\n    port: tcp\n    limit: {limit}\n    tail: {{ get: \"/list?from=${{offset}}&limit=${{limit}}\", items: \"{items}\" }}\n    extract: {{ {extract}run: {{ after: r= }}, key: {{ after: k= }}, time: {{ after: t= }} }}\nmetrics:\n"
        );
        let text = change_text(&text(), &[("metrics:\n", &probe)]);
        read_system(&source("system.yaml", text))
    };
    let system = read("$.versions", "", "2").unwrap();
    let probe = system.probes.iter().find(|probe| probe.name == "list");
    assert_eq!(
        probe.unwrap().kind,
        ProbeKind::Items {
            get: "/list?from=${offset}&limit=${limit}".to_owned(),
            items: "$.versions".to_owned(),
            limit: 2,
        }
    );
    let check = |(items, extract, limit): (&str, &str, &str), expected: &str| {
        let mistakes = read(items, extract, limit).unwrap_err().to_string();
        assert!(mistakes.contains(expected), "{mistakes}");
    };
    check(
        ("versions[", "", "2"),
        "probes.list.tail.items is \"versions[\": ",
    );
    check(
        ("$.a", "", "1"),
        "probes.list.limit is 1; expected a whole number from 2",
    );
    let offset = "offset: { after: o= }, ";
    check(
        ("$.a", offset, "2"),
        "probes.list.extract.offset is not used with tail.items",
    );
    let arrival = "arrival: { after: a= }, ";
    check(
        ("$.a", arrival, "2"),
        "probes.list.extract.arrival is not used with tail.items",
    );
}

/// The fixture with a probe that watches.
fn with_watch(watch: &str) -> String {
    let probe = format!(
        "  changes:\n    component: store\n    port: tcp\n    watch: {{ {watch} }}\n    extract: {{ run: {{ after: r= }}, key: {{ after: k= }}, time: {{ after: t= }} }}\nmetrics:\n"
    );
    change_text(&text(), &[("metrics:\n", &probe)])
}

fn read_watch(watch: &str) -> Result<Watch, String> {
    let system = read_system(&source("system.yaml", with_watch(watch)));
    let system = system.map_err(|mistakes| mistakes.to_string())?;
    let probe = system.probes.iter().find(|probe| probe.name == "changes");
    match &probe.expect("the system has it").kind {
        ProbeKind::Watch(watch) => Ok((**watch).clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_watch_goes_on_from_versions_or_has_none() {
    let value = |path: &str, text: &str| JsonValue {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let rest = "where: { $.type: ADDED, $.object.live: true }, gone: { $.object.code: 410 }";
    let begin = "begin: { get: /now, version: $.at }, version: $.object.v";
    let headers = "headers: { Authorization: 'Bearer ${secret.reader}' }";
    let watch = read_watch(&format!(
        "get: '/w?from=${{version}}', {begin}, {headers}, {rest}"
    ));
    let mut expected = Watch {
        get: "/w?from=${version}".to_owned(),
        headers: vec![(
            "Authorization".to_owned(),
            "Bearer ${secret.reader}".to_owned(),
        )],
        versions: Some(WatchVersions {
            begin: WatchBegin::Asked {
                get: "/now".to_owned(),
                path: "$.at".to_owned(),
            },
            path: "$.object.v".to_owned(),
        }),
        conditions: vec![value("$.type", "ADDED"), value("$.object.live", "true")],
        gone: vec![value("$.object.code", "410")],
    };
    assert_eq!(watch.as_ref(), Ok(&expected));
    assert!(!expected.shows_existing());
    let begin = "begin: { at: '' }, version: $.v";
    let watch = read_watch(&format!("get: '/w?from=${{version}}', {begin}"));
    expected.headers.clear();
    expected.conditions.clear();
    expected.gone.clear();
    expected.versions = Some(WatchVersions {
        begin: WatchBegin::At(String::new()),
        path: "$.v".to_owned(),
    });
    assert_eq!(watch.as_ref(), Ok(&expected));
    assert!(expected.shows_existing());
    expected.versions = None;
    expected.get = "/w".to_owned();
    assert_eq!(read_watch("get: /w").as_ref(), Ok(&expected));
    assert!(!expected.shows_existing());
}

#[test]
fn every_mistake_of_a_watch() {
    let base = "get: '/w?from=${version}', begin: { get: /now, version: $.at }, version: $.v, where: { $.type: A }, gone: { $.code: 410 }";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/watch-mistakes.txt");
    answered_table(&path, &with_watch(base), &|text| {
        read_system(&source("system.yaml", text)).err()
    });
}

#[test]
fn a_kill_needs_a_watch_that_shows_again_what_is_there() {
    let check = |begin: &str, expected: Option<&str>| {
        let watch = format!("get: '/w?from=${{version}}', begin: {begin}, version: $.v");
        let system = read_system(&source("system.yaml", with_watch(&watch))).unwrap();
        let faults = "faults: [{ kill: store, at: 1s, restart_after: 1s }]\nload:";
        let text = change_text(
            STUDY,
            &[("probes: store", "probes: changes"), ("load:", faults)],
        );
        let message = read_study(&source("study.yaml", text), &system);
        let message = message
            .err()
            .map(|mistakes| headlines(&mistakes).join("\n"));
        match expected {
            Some(expected) => {
                let message = message.unwrap();
                assert!(message.contains(expected), "{message}");
            }
            None => assert_eq!(message, None),
        }
    };
    check("{ at: '0' }", None);
    check(
        "{ get: /now, version: $.at }",
        Some(
            "faults[1].kill is \"store\", after which probe changes must be read again, and it shows only what comes later; expected a watch that begins at a version (begin.at)",
        ),
    );
}

//! What a system needs besides its processes: read without a mistake, and configured.

use std::collections::BTreeMap;

use waggle_study::{Level, System, parameter_levels, plan, read_study, read_system};

use super::{STUDY, SYSTEM, change_text, headlines, source};

const BOTH: &str = r#"
system: pair
summary: A front that keeps records itself or in a store.
parameters:
  backend: { summary: where, one_of: [own, store], default: own }
  stores: { summary: how many, integer: { min: 1, max: 3 }, default: 2 }
artifacts:
  db: { version: "1.2", programs: [db], fetch: fetch/db, requires: [cc], note: a minute }
components:
  front:
    depends_on: [store]
    ports: [http]
    files: { front.conf: "token=${secret.db} $${kept}" }
    process:
      command: [front, --port, "${port.http}"]
      arguments:
        - { when: { backend: own }, add: [--file, "${dir}/f"] }
        - { when: { backend: store }, add: [--stores, "${store.addresses.tcp}"] }
    ready: { tcp: { port: http } }
    setup:
      - { name: first, port: http, put: /first, headers: { X-Token: "${secret.db}" }, body: "${backend}", expect: { status: 204 } }
      - { name: kept, when: { backend: store }, port: http, put: /kept, expect: { status: 200 }, timeout: 2s }
  store:
    when: { backend: [store] }
    replicas: ${stores}
    ports: [tcp]
    process: { command: ["${program.db}"] }
    ready: { tcp: { port: tcp } }
endpoints:
  front: { component: front, port: http }
  store: { component: store, port: tcp }
probes:
  own:
    when: { backend: own }
    component: front
    port: http
    tail:
      get: /records?offset=${offset}&limit=${limit}
    limit: 10
    extract:
      offset: { after: o }
      time: { after: t }
      run: { after: r }
      key: { after: k }
verify:
  - { name: front, endpoint: front, get: /, headers: { X-Token: "${secret.db}" }, expect: { status: 200 } }
  - { name: store, endpoint: store, get: /, expect: { status: 200 } }
"#;

fn two_backend_system() -> System {
    read_system(&source("system.yaml", BOTH)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn backend(name: &str) -> BTreeMap<String, Level> {
    parameter_levels(
        &two_backend_system(),
        &[("backend".to_owned(), name.to_owned())],
    )
    .expect("levels of the system")
}

/// Names of components, endpoints, probes and checks, what the front needs, its command and the steps of its setup.
fn names_in_system(system: &System) -> Vec<String> {
    let front = &system.components[system.components.len() - 1];
    let names = |names: Vec<&String>| {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        names.join(" ")
    };
    vec![
        names(system.components.iter().map(|part| &part.name).collect()),
        names(system.endpoints.iter().map(|part| &part.name).collect()),
        names(system.probes.iter().map(|part| &part.name).collect()),
        names(system.verify.iter().map(|part| &part.name).collect()),
        names(front.depends_on.iter().collect()),
        names(front.process.command.iter().collect()),
        names(front.setup.iter().map(|part| &part.name).collect()),
    ]
}

#[test]
fn a_configuration_has_what_belongs_to_it() {
    let system = two_backend_system();
    assert_eq!(
        names_in_system(&system.configure(&backend("own"))),
        [
            "front",
            "front",
            "own",
            "front",
            "",
            "front --port ${port.http} --file ${dir}/f",
            "first"
        ]
    );
    assert_eq!(
        names_in_system(&system.configure(&backend("store"))),
        [
            "store front",
            "front store",
            "",
            "front store",
            "store",
            "front --port ${port.http} --stores ${store.addresses.tcp}",
            "first kept"
        ]
    );
    let db = &system.artifacts[0];
    assert_eq!(
        (&*db.name, &*db.version, &*db.fetch),
        ("db", "1.2", "fetch/db")
    );
}

/// A step that captures must be done in every configuration in which its variable is used; the endpoint of a step counts, too.
#[test]
fn a_capture_is_known_in_every_configuration_that_uses_it() {
    let with = |front: &str, store: &str| {
        let changes = [
            (
                "endpoint: front, get: /, headers: { X-Token: \"${secret.db}\" },",
                &*format!("endpoint: front, get: {front}, capture: {{ front: {{ json: $.a }} }},"),
            ),
            (
                "endpoint: store, get: /,",
                &*format!("endpoint: store, get: {store}, capture: {{ store: {{ json: $.a }} }},"),
            ),
        ];
        let last = "  - { name: last, LAST, expect: { status: 200 } }\n";
        change_text(BOTH, &changes) + last
    };
    let check = |last: &str, expected: &[&str]| {
        let text = with("/", "'/{{front}}'").replace("LAST", last);
        let mistake =
            read_system(&source("system.yaml", text)).map_err(|mistakes| headlines(&mistakes));
        assert_eq!(mistake.err().unwrap_or_default(), expected, "{last}");
    };
    check("endpoint: store, get: '/{{front}}{{store}}'", &[]);
    check(
        "when: { backend: store }, endpoint: front, get: '/{{store}}'",
        &[],
    );
    let what = "system.yaml:48:41: \"store\" is captured only if backend is store; expected the same condition (when) around it";
    check("endpoint: front, get: '/{{store}}'", &[what]);
}

#[test]
fn levels_of_a_command_line_are_checked() {
    let check = |given: &[(&str, &str)], expected: Result<&[&str], &str>| {
        let given: Vec<_> = given
            .iter()
            .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()))
            .collect();
        let levels = parameter_levels(&two_backend_system(), &given).map(|levels| {
            let shown = |(name, level): (&String, &Level)| format!("{name}={level}");
            levels.iter().map(shown).collect::<Vec<_>>()
        });
        let expected = expected.map(|levels| levels.iter().map(ToString::to_string).collect());
        let levels = levels.map_err(|problem| problem.to_string());
        assert_eq!(levels, expected.map_err(str::to_owned));
    };
    check(&[], Ok(&["backend=own", "stores=2"]));
    check(
        &[("stores", "3"), ("backend", "store")],
        Ok(&["backend=store", "stores=3"]),
    );
    check(
        &[("stors", "3")],
        Err(
            "system pair has no parameter \"stors\"; expected backend, stores; did you mean \"stores\"?",
        ),
    );
    check(
        &[("stores", "4")],
        Err("parameter stores is \"4\"; expected a whole number from 1 to 3"),
    );
}

#[test]
fn a_study_cannot_ask_for_what_its_configuration_lacks() {
    let when = "  front: { when: { backend: sqlite }, component: front, port: http }";
    let system = change_text(
        SYSTEM,
        &[("  front: { component: front, port: http }", when)],
    );
    let system = read_system(&source("system.yaml", system)).unwrap();
    let mistakes = read_study(&source("study.yaml", STUDY), &system).unwrap_err();
    let expected = "study.yaml:17:15: load.request.endpoint is \"front\", which is no endpoint of system shop; expected metrics";
    assert_eq!(headlines(&mistakes), [expected]);
}

#[test]
fn a_system_that_is_kept_up_has_its_trials_cell_by_cell() {
    let text = change_text(
        STUDY,
        &[("  repeat: 3\n", "  repeat: 3\n  restart: every_cell\n")],
    );
    let study = read_study(&source("study.yaml", text), &super::system()).unwrap();
    let cells: Vec<u32> = plan(&study).trials.iter().map(|trial| trial.cell).collect();
    let mut distinct = cells.clone();
    distinct.dedup();
    assert_eq!((cells.len(), distinct.len()), (24, 8));
}

#[test]
fn load_goes_to_the_endpoint_of_every_configuration() {
    let text = "study: pair\nquestion: Which?\nsystem: { use: pair }\n\
        load: { model: closed, connections: 1, request: { name: get, get: / } }\n\
        schedule: { warm_up: 1s, measure: 4s, interval: 250ms }\n";
    let study = read_study(
        &source("study.yaml", text.to_owned()),
        &two_backend_system(),
    );
    let study = study.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(study.cells[0].endpoint, "front");
}

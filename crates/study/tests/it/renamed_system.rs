//! Keys of system files of earlier versions: each is refused with an error that says what it is called now, and with no other.

use waggle_study::read_system;

use super::{check_renamed, headlines, source};

/// Each line with an old key has its new key behind `#`.
const OLD: &str = r#"
system: shop
summary: A shop with a store behind it.
servers: # artifacts
  db:
    version: "1"
    programs: [db]
    fetch: fetch/db
    needs: [cc] # requires
    takes: a minute # note
components:
  front:
    needs: [store] # depends_on
    ports: [http]
    process:
      command: [front, "${store.port.tcp}"]
      version: [--version] # version_arguments
    ready: { tcp: { port: http } }
    setup:
      - name: first
        port: http
        put: /first
        status: 204 # expect: { status: NUMBER }
        within: 2s # timeout
  store:
    ports: [tcp]
    process: { command: [store] }
    ready: { tcp: { port: tcp } }
    stop_within: 2s # stop_timeout
endpoints:
  front: { component: front, port: http }
probes:
  store:
    component: store
    port: tcp
    limit: 1000
    get: /records?offset=${offset}&limit=${limit} # tail: { get: PATH }
    offset_after: a # extract: { offset: { after: TEXT } }
    key_after: b # extract: { key: { after: TEXT } }
    run_after: c # extract: { run: { after: TEXT } }
    time_after: d # extract: { time: { after: TEXT } }
  base:
    component: store
    port: tcp
    limit: 1000
    shows: [front] # backed_by
    by_time: { post: "/query?from=${from}&to=${to}" } # query
    csv: { key: a, time: b } # extract: { key: { column: NAME }, time: { column: NAME } }
watch: # metrics
  depth:
    summary: what waits
    component: front
    port: http
    get: /metrics
    metric: depth # prometheus
  lag:
    summary: what lags
    component: store
    port: tcp
    kafka_lag: { group: a, topic: b } # consumer_lag
verify:
  - name: it answers
    endpoint: front
    get: /hello
    expect:
      status: 200
      contains: [hello] # body_contains
    within: 3s # timeout
"#;

#[test]
fn each_old_key_of_a_system_names_the_new_one() {
    let text = source("system.yaml", OLD);
    let mistakes = read_system(&text).expect_err("its keys are old");
    check_renamed(&text, &mistakes);
}

#[test]
fn the_old_placeholder_of_the_folder_names_the_new_one() {
    let text = OLD.replace("command: [store]", "command: ['${system}/store']");
    let mistakes = read_system(&source("system.yaml", text)).expect_err("it is old");
    let errors = headlines(&mistakes);
    let is_expected = |error: &String| {
        error.contains("${system} is not defined here")
            && error.ends_with("did you mean \"system_dir\"?")
    };
    assert!(errors.iter().any(is_expected), "{errors:#?}");
}

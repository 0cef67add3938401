//! The real gateway with its embedded store, of whose records a probe follows a sample.

use hdrhistogram::Histogram;
use waggle_results::TrialEnd;

use super::{Bench, study};

/// Delays that say something.
const ENOUGH: u64 = 200;

/// Delays that both have: at least as many as have the same instant at both ends.
fn values_in_both(earliest: &Histogram<u64>, latest: &Histogram<u64>) -> u64 {
    let values = earliest.iter_recorded();
    values
        .map(|value| {
            let here = value.count_since_last_iteration();
            here.min(latest.count_at(value.value_iterated_to()))
        })
        .sum()
}

/// The gateway, whose reads show when records were committed.
fn system() -> String {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("waggle-gateway");
    assert!(
        program.exists(),
        "{} is missing: cargo build -p waggle-gateway",
        program.display()
    );
    let command = format!(
        "[{}, serve, '--listen=127.0.0.1:${{port.http}}', --workers=1, '--store=${{dir}}/store.db']",
        program.display()
    );
    format!(
        "
system: gateway
summary: A gateway with its embedded store.
components:
  gateway:
    ports: [http]
    process: {{ command: {command} }}
    ready: {{ http: {{ port: http, path: /readyz }} }}
    stop_timeout: 20s
endpoints:
  records: {{ component: gateway, port: http }}
probes:
  store:
    component: gateway
    port: http
    tail:
      get: /api/v1/topics/plant/records?offset=${{offset}}&limit=${{limit}}&select=waggle_run,waggle_key&committed=true
    limit: 50000
    extract:
      offset: {{ after: '\"offset\":' }}
      arrival: {{ after: '\"committed\":' }}
      time: {{ after: '\"time\":' }}
      run: {{ after: '\"waggle_run\":\"' }}
      key: {{ after: '\"waggle_key\":' }}
verify:
  - {{ name: it is ready, endpoint: records, get: /readyz, expect: {{ status: 200 }} }}
"
    )
}

#[test]
fn of_a_sample_the_account_is_complete_and_delays_come_from_commit_instants() {
    let delivery = "delivery: { probes: store, poll_interval: 20ms, late_threshold: 60s }\n";
    let mut study = study("gateway", delivery);
    for (old, new) in [
        ("put: /records", "put: /api/v1/topics/plant/records"),
        ("drain: { timeout: 6s }", "drain: { timeout: 60s }"),
    ] {
        assert!(study.contains(old), "{study}");
        study = study.replace(old, new);
    }
    let run = Bench::new(&system(), &study).results_in(&["sample"]);
    let trial = &run.trials[0];
    assert_eq!(trial.info.end, TrialEnd::Completed);
    let ledger = trial.info.ledger.as_ref().unwrap();
    assert!(ledger.accepted > 0);
    assert_eq!(
        (ledger.delivered, ledger.missing, ledger.duplicates),
        (ledger.accepted, 0, 0),
        "{ledger:?}"
    );
    assert_eq!((ledger.unexpected, ledger.late), (0, 0), "{ledger:?}");
    let delivery = trial.info.delivery.as_ref().unwrap();
    let sample = delivery.sample.expect("a sample was followed");
    assert!(!delivery.unread);
    assert_eq!(sample.of, ledger.delivered + ledger.unknown_delivered);
    assert!(
        sample.followed > 0 && sample.followed < sample.of,
        "{sample:?}"
    );
    let latest = trial.delivery_delay.as_ref().unwrap();
    let earliest = trial.earliest_delay.as_ref().unwrap();
    assert!(latest.len() <= sample.followed);
    assert_eq!(earliest.len(), latest.len());
    // The gateway remembers the commits of this load, so both ends of a delay are the commit instant. A record that is read
    // between its commit and the note of it lacks the instant; a machine without time may preempt the gateway just there. It may
    // also leave few windows, or none, in the measured phase, which say nothing.
    if latest.len() >= ENOUGH {
        let exact = values_in_both(earliest, latest);
        assert!(exact * 10 >= latest.len(), "{exact} of {}", latest.len());
    }
    let arrival = trial.arrival_delay.as_ref().unwrap();
    assert!(arrival.len() >= latest.len());
}

//! Stores that lose, double or delay one record among many: each is found by key.

use waggle_load::worker_and_sequence;
use waggle_results::{LedgerInfo, PhaseName, Run, TrialEnd};

use super::{Bench, DELIVERY, log, one_store, study};

/// The record that the store mistreats, in the middle of those that are sent.
const NTH: u64 = 1_000;

/// The run's folder exists as long as the bench.
fn run(fault: &str) -> (Bench, Run, LedgerInfo) {
    let mut study = study("one-store", DELIVERY);
    for (old, new) in [
        ("  warm_up: 200ms\n", ""),
        ("measure: 2s", "measure: { requests: 100 }"),
    ] {
        assert!(study.contains(old), "{study}");
        study = study.replace(old, new);
    }
    let bench = Bench::new(
        &one_store(&format!("[STORE, '${{port.http}}'{fault}]")),
        &study,
    );
    let run = bench.results();
    assert_eq!(run.trials[0].info.end, TrialEnd::Completed);
    let ledger = run.trials[0].info.ledger.clone().unwrap();
    assert_eq!(ledger.sent, 2 * NTH);
    assert_eq!(
        ledger.sent,
        ledger.accepted + ledger.rejected + ledger.unknown
    );
    assert_eq!(
        (ledger.rejected, ledger.unknown, ledger.unexpected),
        (0, 0, 0)
    );
    (bench, run, ledger)
}

/// The key of the record that the store mistreated, from its log.
fn key_in(log: &str) -> u64 {
    let (_, rest) = log.split_once("\"key\":").unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_good_store_has_every_record_once() {
    let (_bench, run, ledger) = run("");
    assert_eq!(
        (ledger.delivered, ledger.missing, ledger.duplicates),
        (ledger.sent, 0, 0)
    );
    let trial = &run.trials[0];
    let delivery = trial.info.delivery.clone().unwrap();
    assert!(delivery.drain_time_s.is_some() && delivery.resolution_ms >= 50.0);
    assert_eq!(delivery.negative_delays, 0);
    let measured = trial.delivery_delay.as_ref().unwrap().len();
    assert!(measured > 0 && measured <= ledger.sent);
    assert!(
        trial
            .resources
            .iter()
            .any(|row| row.component == "store-0" && row.rss_bytes > 0)
    );
    assert!(trial.resources.iter().any(|row| row.component == "waggle"));
    let visible: Vec<u64> = trial.backlog.iter().map(|row| row.visible).collect();
    assert!(visible.is_sorted() && visible.last() == Some(&ledger.sent));
    let order: Vec<PhaseName> = trial.info.phases.iter().map(|phase| phase.phase).collect();
    assert!(order.is_sorted() && order.len() == 9, "{order:?}");
}

#[test]
fn a_dropped_record_is_missing_by_its_key() {
    let (_bench, run, ledger) = run(&format!(", drop={NTH}"));
    assert_eq!((ledger.missing, ledger.delivered), (1, ledger.accepted - 1));
    assert_eq!(ledger.missing_keys, [key_in(&log(&run, "store-0"))]);
    assert!(worker_and_sequence(ledger.missing_keys[0]).is_some());
    assert_eq!(
        run.trials[0].info.delivery.as_ref().unwrap().drain_time_s,
        None
    );
}

#[test]
fn a_doubled_record_is_a_duplicate() {
    let (_bench, _, ledger) = run(&format!(", double={NTH}"));
    assert_eq!(
        (ledger.missing, ledger.delivered, ledger.duplicates),
        (0, ledger.accepted, 1)
    );
}

#[test]
fn a_delayed_record_is_late_and_out_of_order_but_not_missing() {
    let (_bench, run, ledger) = run(&format!(", late={NTH}"));
    assert_eq!(ledger.missing, 0);
    // On a busy machine other records may be late as well.
    assert!(ledger.late >= 1 && ledger.out_of_order >= 1);
    assert!(
        run.trials[0]
            .info
            .delivery
            .as_ref()
            .unwrap()
            .drain_time_s
            .is_some()
    );
}

//! Which phase runs when, over all trials, and what a good run leaves on disk.

use waggle_analysis::Decision;
use waggle_results::{PhaseName, TrialEnd, TrialKey};
use waggle_spec::TimeKind;

use super::{
    Bench, STUDY, SYSTEM, Then, phases, world,
    world::{Fault, PER_INTERVAL},
};
use crate::{event::Event, run::request::Ended};

const WHOLE: &str = "Up Ready Verify WarmUp Measure Finish Drain Collect Down CoolDown";
const LAST: &str = "Up Ready Verify WarmUp Measure Finish Drain Collect Down";

#[tokio::test(start_paused = true)]
async fn every_trial_goes_through_every_phase_in_order() {
    let (bench, world) = (Bench::new(), world(None));
    let (ended, events) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let expected = [
        format!("c1 r1: {WHOLE}"),
        format!("c2 r1: {WHOLE}"),
        format!("c1 r2: {WHOLE}"),
        format!("c2 r2: {LAST}"),
    ];
    assert_eq!(phases(&events), expected);
    let of_one = ["up", "ready", "verify", "load", "joined", "down"];
    assert_eq!(world.borrow().done, of_one.repeat(4));
}

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "one run, with all that it writes")]
async fn a_good_run_is_reported_and_written() {
    let bench = Bench::new();
    let (_, events) = bench.run(&world(None), Then::Nothing).await;
    assert!(matches!(
        events[0],
        Event::RunStarted {
            trials: 4,
            already_done: 0,
            ..
        }
    ));
    let ended = events
        .iter()
        .filter(|event| matches!(event, Event::TrialEnded { failure: None, .. }));
    assert_eq!(ended.count(), 4);
    let shown = |wanted: PhaseName| {
        let counts = events.iter().filter_map(|event| match event {
            Event::Interval { phase, interval } if *phase == wanted => {
                Some(interval.counts.succeeded)
            }
            _ => None,
        });
        counts.sum::<u64>()
    };
    // Of four trials, each with a warm-up of one second and a measured phase of two.
    assert_eq!(shown(PhaseName::WarmUp), 4 * 4 * PER_INTERVAL);
    assert_eq!(shown(PhaseName::Measure), 4 * 8 * PER_INTERVAL);

    let run = bench.results();
    assert_eq!(run.trials.len(), 4);
    for trial in &run.trials {
        let info = &trial.info;
        assert_eq!(info.end, TrialEnd::Completed);
        assert_eq!(
            (info.measured.seconds, info.measured.succeeded),
            (2.0, 8 * PER_INTERVAL)
        );
        let measure = info
            .phases
            .iter()
            .find(|phase| phase.phase == PhaseName::Measure)
            .unwrap();
        assert_eq!((measure.start_s, measure.end_s), (1.0, 3.0));
        let ledger = info.ledger.as_ref().unwrap();
        let sent = 12 * PER_INTERVAL;
        assert_eq!(
            (
                ledger.sent,
                ledger.accepted,
                ledger.delivered,
                ledger.missing
            ),
            (sent, sent, sent, 0)
        );
        assert_eq!(
            (ledger.unexpected, ledger.duplicates, ledger.out_of_order),
            (0, 0, 0)
        );
        let delivery = info.delivery.as_ref().unwrap();
        assert!(delivery.drain_time_s.is_some());
        // Each poll reached the end of the store.
        assert_eq!(delivery.measured_probe_lag_s, Some(0.0));
        let resolution_ms = delivery.measured_resolution_ms.unwrap();
        assert!((100.0..=delivery.resolution_ms).contains(&resolution_ms));
        // A closed load has no due instants of its own.
        assert!(trial.end_to_end_delay.is_none());
        let earliest = trial.earliest_delay.as_ref().unwrap();
        let latest = trial.delivery_delay.as_ref().unwrap();
        assert_eq!(earliest.len(), latest.len());
        for quantile in [0.0, 0.5, 0.99, 1.0] {
            let [low, high] = [earliest, latest].map(|delays| delays.value_at_quantile(quantile));
            // The store is polled every 100 ms.
            assert!((low..=low + 102_000).contains(&high), "{low} {high}");
        }
        let generator = info.generator.as_ref().unwrap();
        assert_eq!(generator.in_flight_asked, Some(f64::from(info.key.cell)));
        let lag = generator.lag.unwrap();
        assert_eq!((lag.p50_us, lag.p999_us, lag.max_us), (10.0, 10.0, 10.0));
        assert_eq!(lag.p99_us.to_bits(), generator.lag_p99_us.to_bits());
        // Only records that were sent in the measured phase have their delay counted.
        assert_eq!(
            trial.delivery_delay.as_ref().unwrap().len(),
            8 * PER_INTERVAL
        );
        assert_eq!(
            trial.measured_histograms()[TimeKind::Response].len(),
            8 * PER_INTERVAL
        );
        assert!(!trial.resources.is_empty() && !trial.backlog.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn answers_after_the_measured_phase_are_in_its_times() {
    let bench = Bench::new();
    // The last of four intervals of warm-up and eight that are measured.
    let fake = world(Some(Fault::StallsAt(11, 20)));
    bench.run(&fake, Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        assert_eq!(trial.info.measured.succeeded, 8 * PER_INTERVAL - 20);
        let times = trial.measured_histograms();
        for times in [&times[TimeKind::Response], &times[TimeKind::Service]] {
            assert_eq!(times.len(), 8 * PER_INTERVAL);
            assert!(times.value_at_quantile(0.97) < 6_000);
            assert!(times.value_at_quantile(0.98) > 249_000);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn delays_from_due_are_known_in_open_load() {
    let open = "model: open\n  rate: 400/s\n  arrivals: uniform\n  connections: ${connections}";
    let closed = "model: closed\n  connections: ${connections}\n  pipelining: 1";
    let bench = Bench::new_with_study(&STUDY.replace(closed, open));
    bench.run(&world(None), Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        let sent = trial.delivery_delay.as_ref().unwrap();
        let due = trial.end_to_end_delay.as_ref().unwrap();
        assert_eq!(
            (sent.len(), due.len()),
            (8 * PER_INTERVAL, 8 * PER_INTERVAL)
        );
        // The fake sends what falls due within an interval of 250 ms at its end.
        let waited = due.mean() - sent.mean();
        assert!((120_000.0..130_000.0).contains(&waited), "{waited}");
    }
    // A request that was skipped makes it unknown which one fell due when.
    let bench = Bench::new_with_study(&STUDY.replace(closed, open));
    let fault = world(Some(Fault::Skips));
    bench.run(&fault, Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        assert!(trial.delivery_delay.is_some() && trial.end_to_end_delay.is_none());
    }
}

#[track_caller]
fn check_ledger(bench: &Bench, missing: u64, duplicates: u64, drained: bool) {
    for trial in &bench.results().trials {
        let ledger = trial.info.ledger.as_ref().unwrap();
        assert_eq!((ledger.missing, ledger.duplicates), (missing, duplicates));
        assert_eq!(ledger.missing_keys.len() as u64, missing);
        assert_eq!(
            trial.info.delivery.as_ref().unwrap().drain_time_s.is_some(),
            drained
        );
    }
}

#[tokio::test(start_paused = true)]
async fn lost_and_doubled_records_are_found() {
    let bench = Bench::new();
    bench
        .run(&world(Some(Fault::Loses(500))), Then::Nothing)
        .await
        .0
        .unwrap();
    check_ledger(&bench, 2, 0, false);
    let bench = Bench::new();
    bench
        .run(&world(Some(Fault::Doubles(500))), Then::Nothing)
        .await
        .0
        .unwrap();
    check_ledger(&bench, 0, 2, true);
    // Complete long before its end: the copies after that are found as well.
    let bench = Bench::new();
    bench
        .run(&world(Some(Fault::ShowsAgain)), Then::Nothing)
        .await
        .0
        .unwrap();
    check_ledger(&bench, 0, 12 * PER_INTERVAL, true);
}

/// The records of three requests without an answer come one after the other, `each_ms` apart. Returns how many are found and how
/// long the drain takes, with its limit of 20 s.
async fn run_unanswered(each_ms: u64, drain: &str) -> (u64, f64) {
    let study = STUDY
        .replace("connections: [1, 2]", "connections: [1]")
        .replace("repeat: 2", "repeat: 1")
        .replace("drain: { timeout: 2s }", &format!("drain: {{ {drain} }}"));
    let bench = Bench::new_with_study(&study);
    let fault = Fault::LeavesUnanswered(400, each_ms);
    bench
        .run(&world(Some(fault)), Then::Nothing)
        .await
        .0
        .unwrap();
    let info = &bench.results().trials[0].info;
    let ledger = info.ledger.as_ref().unwrap();
    assert_eq!((ledger.unknown, ledger.missing), (3, 0));
    let delivery = info.delivery.as_ref().unwrap();
    // The time at which all accepted records were there.
    assert!(delivery.drain_time_s.unwrap() < 0.5, "{delivery:?}");
    let drain = info.phase(PhaseName::Drain).unwrap();
    (ledger.unknown_delivered, drain.end_s - drain.start_s)
}

#[tokio::test(start_paused = true)]
async fn the_drain_waits_for_open_records_until_the_quiet_period_ends() {
    let check = |(count, took): (u64, f64), expected: u64, seconds: f64| {
        assert_eq!(count, expected);
        // With the time for measuring the cost of polling.
        assert!((seconds..seconds + 1.0).contains(&took), "{took}");
    };
    // The pauses between them are shorter than the quiet period, and the drain ends when all are there.
    check(run_unanswered(1_500, "timeout: 20s").await, 3, 4.5);
    // None comes, which takes no longer than the quiet period.
    check(run_unanswered(60_000, "timeout: 20s").await, 0, 2.0);
    check(run_unanswered(3_000, "timeout: 20s").await, 0, 2.0);
    check(
        run_unanswered(3_000, "timeout: 20s, quiet_period: 4s").await,
        3,
        9.0,
    );
    // The drain's limit applies as well.
    check(
        run_unanswered(3_000, "timeout: 7s, quiet_period: 4s").await,
        2,
        7.0,
    );
    check(run_unanswered(0, "timeout: 20s").await, 3, 0.0);
}

/// A probe that cannot keep up: records that it did not read count as missing, and the result blames the probe.
async fn check_unread(fault: Fault, behind_s: f64, at_most_s: f64) {
    let bench = Bench::new();
    let (ended, _) = bench.run(&world(Some(fault)), Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    for trial in &bench.results().trials {
        let info = &trial.info;
        assert_eq!(info.end, TrialEnd::Completed, "{fault:?}");
        assert!(info.ledger.as_ref().unwrap().missing > 0, "{fault:?}");
        let delivery = info.delivery.as_ref().unwrap();
        assert_eq!(delivery.drain_time_s, None);
        assert!(delivery.probe_lag_s >= behind_s, "{fault:?}: {delivery:?}");
        assert!(delivery.resolution_ms >= 1e3 * behind_s, "{delivery:?}");
        let remark = "the drain ended before the store was read to its end; records that were not read count as missing";
        assert!(info.remarks.iter().any(|found| found == remark), "{info:?}");
        let drain = info.phase(PhaseName::Drain).unwrap();
        assert!(drain.end_s - drain.start_s <= at_most_s, "{drain:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn records_that_a_slow_probe_did_not_read_do_not_blame_the_store() {
    check_unread(Fault::ReadsSlowly, 4.0, 4.0).await;
    check_unread(Fault::Trickles, 10.0, 13.0).await;
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_keeps_up_is_never_behind() {
    let bench = Bench::new();
    bench.run(&world(None), Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        let delivery = trial.info.delivery.as_ref().unwrap();
        assert!(
            delivery.probe_lag_s <= 0.01 && (100.0..200.0).contains(&delivery.resolution_ms),
            "{delivery:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn several_probes_have_a_ledger_each_and_metrics_are_read() {
    let early = SYSTEM.split_once("probes:\n").unwrap().1;
    let (early, _) = early.split_once("verify:").unwrap();
    let system = SYSTEM.replace(
        "verify:",
        &format!(
            "{}metrics:\n  first: {{ summary: the first offset, component: fake, port: http, get: /store/0/1, json: $.offset }}\nverify:",
            early.replace("  store:", "  early:")
        ),
    );
    let study = STUDY.replace("probes: store", "probes: [early, store]");
    let bench = Bench::with_system(&system, &study);
    let fault = Some(Fault::Loses(500));
    bench.run(&world(fault), Then::Nothing).await.0.unwrap();
    let run = bench.results();
    assert_eq!(run.info.intermediate_probes, ["early"]);
    assert_eq!(run.info.delivery_probe.as_deref(), Some("store"));
    assert_eq!(run.info.metrics[0].name, "first");
    for trial in &run.trials {
        let [early] = &trial.info.intermediate_probes[..] else {
            panic!("{:?}", trial.info);
        };
        assert_eq!(early.delivery.probe, "early");
        assert_eq!(Some(&early.ledger), trial.info.ledger.as_ref());
        assert_eq!(early.ledger.missing, 2);
        let logs = &trial.intermediate_probes[0];
        assert_eq!(
            logs.delivery_delay.as_ref().unwrap().len(),
            trial.delivery_delay.as_ref().unwrap().len()
        );
        assert!(!logs.backlog.is_empty() && logs.arrival_delay.is_none());
        assert!(
            trial
                .metrics
                .iter()
                .all(|row| row.metric == "first" && row.value == 0.0)
        );
        assert!(trial.metrics.len() > 4, "{:?}", trial.metrics);
        // Once more when all is over.
        let mut phases = trial.info.phases.iter();
        let drain = phases.find(|phase| phase.phase == PhaseName::Drain);
        let last = trial.metrics.last().unwrap();
        assert!(last.at_s >= drain.unwrap().end_s, "{last:?} {drain:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_metric_is_judged_and_shown_in_its_unit() {
    let metric = "{ summary: the seventh offset, component: fake, port: http, get: /store/7/1, json: $.offset, unit: ms }";
    let system = SYSTEM.replace("verify:", &format!("metrics:\n  own: {metric}\nverify:"));
    let study =
        format!("{STUDY}\nthresholds:\n  - metrics.own.max <= 7ms\n  - metrics.own.max < 7ms\n");
    assert!(!STUDY.contains("thresholds:"), "it has some already");
    let bench = Bench::with_system(&system, &study);
    bench.run(&world(None), Then::Nothing).await.0.unwrap();
    let run = bench.results();
    let mut values = run.trials.iter().flat_map(|trial| &trial.metrics);
    assert!(values.all(|row| (row.value - 7_000.0).abs() < 1e-9));
    let model = waggle_analysis::model(&run);
    let [met, failed] = &model.thresholds[..] else {
        panic!("{:?}", model.thresholds);
    };
    assert_eq!(met.unit, waggle_study::Unit::Time);
    let held = (met.held, failed.held);
    assert_eq!(held, (Decision::Holds, Decision::Fails));
}

#[tokio::test(start_paused = true)]
async fn a_number_that_is_not_read_before_the_load_is_not_compared() {
    let metric = "{ summary: the first offset, component: fake, port: http, get: /store/0/1, json: $.offset, compare_with: succeeded }";
    let system = SYSTEM.replace("verify:", &format!("metrics:\n  first: {metric}\nverify:"));
    let bench = Bench::with_system(&system, STUDY);
    bench.run(&world(None), Then::Nothing).await.0.unwrap();
    let run = bench.results();
    // The store is empty before the load, so that it has no first offset.
    let model = waggle_analysis::model(&run);
    let [compared] = &model.count_comparisons[..] else {
        panic!("{:?}", model.count_comparisons);
    };
    for cell in &compared.cells {
        assert_eq!((cell.trials, cell.different), (0, 0), "{cell:?}");
        assert!(cell.of_trials > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_is_resumed() {
    let bench = Bench::new();
    let (ended, events) = bench
        .run(&world(None), Then::Shutdown(PhaseName::CoolDown))
        .await;
    assert_eq!(ended.unwrap(), Ended::Interrupted);
    assert_eq!(phases(&events), [format!("c1 r1: {WHOLE}")]);
    let (ended, events) = bench.run(&world(None), Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    assert!(matches!(
        events[0],
        Event::RunStarted {
            trials: 4,
            already_done: 1,
            ..
        }
    ));
    let expected = [
        format!("c2 r1: {WHOLE}"),
        format!("c1 r2: {WHOLE}"),
        format!("c2 r2: {LAST}"),
    ];
    assert_eq!(phases(&events), expected);
    let keys: Vec<TrialKey> = bench
        .results()
        .trials
        .iter()
        .map(|trial| trial.info.key)
        .collect();
    assert_eq!(keys, bench.results().info.order);
    let (ended, events) = bench.run(&world(None), Then::Nothing).await;
    assert_eq!((ended.unwrap(), events.len()), (Ended::Finished, 1));
}

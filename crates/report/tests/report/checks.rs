//! Every check of a trial at its limits, in the words in which it is told, from a healthy trial with one thing changed at a time.
// long: one table of facts and what is found in them, so that each check is seen beside the others.

use waggle_report::wording::findings;
use waggle_stats::{
    Aspect, Bias, Counts, Finding, Generator, GeneratorPart, InjectedFault, Ledger, LoadModel,
    LoadProfile, Machine, RunningTotals, Served, SteadinessTest, SteadyBins, TrialFacts, Verdict,
    check, verdict_of,
};

const AT_S: [f64; 6] = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0];
const ASKED: [f64; 6] = [0.0, 2e4, 4e4, 6e4, 8e4, 1e5];
const LEVEL: [f64; 10] = [1e4, 1.01e4, 0.99e4, 1e4, 1e4, 1.01e4, 1e4, 0.99e4, 1e4, 1e4];

/// 10,000/s for 10 s over 50 connections at 5 ms, all delivered.
fn healthy() -> TrialFacts<'static> {
    let measured = Counts {
        seconds: 10.0,
        due: 100_000,
        sent: 100_000,
        succeeded: 100_000,
        records_succeeded: 100_000,
        ..Counts::default()
    };
    TrialFacts {
        model: LoadModel::Closed,
        measured,
        totals: measured,
        generator: Generator {
            workers: 1,
            utilization: 0.30,
            utilization_wanted: 0.31,
            run_queue_wait_mean_us: 2.0,
            cpu_us_per_request: 2.0,
            lag_p99_us: 60.0,
            capacity_per_s: None,
            connections_asked: 50,
            connections_open_min: 50,
            connections_open_median: 50,
            in_flight_mean: 50.0,
            in_flight_sending: Some(50.0),
            in_flight_unexplained: 0.0,
            in_flight_asked: None,
            in_flight_max: None,
            is_system_narrow: false,
        },
        response_p50_us: Some(4_900.0),
        service_mean_us: Some(5_000.0),
        ledger: Some(Ledger {
            sent: 100_000,
            accepted: 100_000,
            delivered: 100_000,
            ..Ledger::default()
        }),
        delivery: RunningTotals {
            at_s: &AT_S,
            asked: &ASKED,
            done: &ASKED,
        },
        bins: SteadyBins {
            throughput: &LEVEL,
            p50: &LEVEL,
            p99: &LEVEL,
            cpu: &LEVEL,
            min_time_change: 0.0,
        },
        bin_s: 1.0,
        warm_up_steady: Some(true),
        ..TrialFacts::default()
    }
}

/// The same in open load.
fn open() -> TrialFacts<'static> {
    TrialFacts {
        model: LoadModel::Open,
        offered_per_s: Some(10_000.0),
        ..healthy()
    }
}

/// The facts must give this verdict, with these reasons, in order; `remark` must be the only remark, or there is none.
fn expect(facts: &TrialFacts<'_>, verdict: Verdict, reasons: &[&str], remark: Option<&str>) {
    let outcome = check(facts);
    let texts: Vec<String> = outcome.reasons.iter().map(findings::reason).collect();
    assert_eq!(texts, reasons);
    assert_eq!(verdict_of(&outcome.reasons), verdict);
    assert_eq!(
        remark_texts(&outcome.remarks),
        remark.into_iter().collect::<Vec<_>>()
    );
}

fn remark_texts(remarks: &[Finding]) -> Vec<String> {
    remarks.iter().map(findings::sentence).collect()
}

fn valid(facts: &TrialFacts<'_>) {
    expect(facts, Verdict::Valid, &[], None);
}

fn with_generator(
    base: TrialFacts<'static>,
    change: impl Fn(&mut Generator),
) -> TrialFacts<'static> {
    let mut facts = base;
    change(&mut facts.generator);
    facts
}

#[test]
fn a_healthy_trial_is_valid() {
    valid(&healthy());
    valid(&open());
}

/// 10,000/s were sent.
#[test]
fn what_the_engine_can_send_bounds_what_a_trial_tells_of_the_system() {
    let sent_of = |possible| {
        with_generator(healthy(), |generator| {
            generator.capacity_per_s = Some(possible)
        })
    };
    valid(&sent_of(20_000.0));
    valid(&sent_of(0.0));
    let facts = sent_of(12_000.0);
    let sent = "the load generator sent 10.0k/s";
    let by = "for such a load on this machine";
    let remark = format!(
        "{sent}, 83.3 % of its calibrated capacity of 12.0k/s {by}; above 95 % the trial would not count"
    );
    expect(&facts, Verdict::Valid, &[], Some(&remark));
    let reason = format!(
        "{sent}, 99.01 % of its calibrated capacity of 10.1k/s {by}, so the load generator, not the system, was the limit"
    );
    let facts = sent_of(10_100.0);
    expect(&facts, Verdict::InstrumentLimited, &[&reason], None);
    let remark = format!(
        "{sent}, 111 % of its calibrated capacity of 9.00k/s {by}; the calibration is wrong and is not used"
    );
    expect(&sent_of(9_000.0), Verdict::Valid, &[], Some(&remark));
}

#[test]
fn a_failed_trial_is_failed_and_nothing_else() {
    let facts = TrialFacts {
        failed: Some("gateway-0 did not become ready in 5 s".into()),
        ..TrialFacts::default()
    };
    expect(
        &facts,
        Verdict::Failed,
        &["gateway-0 did not become ready in 5 s"],
        None,
    );
}

#[test]
fn nothing_observed_is_nothing_to_complain_about() {
    let remark = "steadiness was not tested: it needs at least 4 intervals";
    expect(&TrialFacts::default(), Verdict::Valid, &[], Some(remark));
}

#[test]
fn cpu_of_the_generator() {
    let busy = |share| with_generator(healthy(), |generator| generator.utilization = share);
    valid(&busy(0.799));
    let remark = "the load generator's busiest worker used 80.0 % of its CPU; from 95 % the trial would not count";
    expect(&busy(0.80), Verdict::Valid, &[], Some(remark));
    let reason = "the load generator's busiest worker used 95.0 % of its CPU, so the load generator, not the system, was the limit";
    expect(&busy(0.95), Verdict::InstrumentLimited, &[reason], None);
}

#[test]
fn the_worst_of_several_generators_is_judged_and_named() {
    let part = GeneratorPart {
        utilization: 0.30,
        utilization_wanted: 0.31,
        run_queue_wait_mean_us: 2.0,
        lag_p99_us: 60.0,
    };
    let third = |change: &dyn Fn(&mut GeneratorPart)| {
        let mut generators = vec![part; 4];
        change(&mut generators[2]);
        TrialFacts {
            generators,
            ..healthy()
        }
    };
    valid(&third(&|_| {}));
    let check_one = |change: &dyn Fn(&mut GeneratorPart), reason| {
        expect(&third(change), Verdict::InstrumentLimited, &[reason], None);
    };
    check_one(
        &|part| part.utilization = 0.97,
        "the busiest worker of load generator 3 of 4 used 97.0 % of its CPU, so the load generator, not the system, was the limit",
    );
    check_one(
        &|part| part.lag_p99_us = 5_100.0,
        "load generator 3 of 4 was late: its lag p99 is 5.10 ms, 104 % of the median response time of 4.90 ms (490 µs allowed)",
    );
    check_one(
        &|part| part.run_queue_wait_mean_us = 735.0,
        "load generator 3 of 4 waited 735 µs on average for a CPU (run queue), 14.7 % of the mean service time of 5.00 ms (500 µs allowed)",
    );
    let remark = "the busiest worker of load generator 3 of 4 used 80.0 % of its CPU; from 95 % the trial would not count";
    let busy = third(&|part| part.utilization = 0.80);
    expect(&busy, Verdict::Valid, &[], Some(remark));
}

#[test]
fn a_generator_kept_off_its_cpu_is_not_idle() {
    let wanted =
        |share| with_generator(healthy(), |generator| generator.utilization_wanted = share);
    valid(&wanted(0.79));
    let remark = "the load generator's busiest worker used 30.0 % of its CPU and waited for it another 50.0 % of the time; from 95 % \
        the trial would not count";
    expect(&wanted(0.80), Verdict::Valid, &[], Some(remark));
    let reason = "the load generator's busiest worker used 30.0 % of its CPU and waited for it another 67.0 % of the time, so the load \
        generator, not the system, was the limit";
    expect(&wanted(0.97), Verdict::InstrumentLimited, &[reason], None);
    // Little to do, and each time late for it.
    let late = |wait| {
        with_generator(healthy(), |generator| {
            generator.run_queue_wait_mean_us = wait
        })
    };
    valid(&late(490.0));
    let reason = "the load generator waited 735 µs on average for a CPU (run queue), 14.7 % of the \
        mean service time of 5.00 ms (500 µs allowed)";
    expect(&late(735.0), Verdict::InstrumentLimited, &[reason], None);
    // The queue that a starved generator lets grow hides nothing.
    let queue = TrialFacts {
        response_p50_us: Some(1_700_000.0),
        ..late(735.0)
    };
    expect(&queue, Verdict::InstrumentLimited, &[reason], None);
}

#[test]
fn a_greedy_host_is_told_and_what_may_help_a_late_generator() {
    let took = "CPU steal: the hypervisor took 25.0 % of this machine's CPU time";
    let check_one = |cpu_steal: f64, cpu_idle, idle_poll, late: bool, remark: Option<&str>| {
        let late_by = if late { 735.0 } else { 2.0 };
        let base = with_generator(healthy(), |generator| {
            generator.run_queue_wait_mean_us = late_by
        });
        let facts = TrialFacts {
            machine: Some(Machine {
                cpu_steal,
                cpu_idle,
                idle_poll,
                cpus: 2,
                ..Machine::default()
            }),
            ..base
        };
        let outcome = check(&facts);
        let is_stolen = cpu_steal >= 0.02;
        assert_eq!(
            remark_texts(&outcome.remarks),
            remark.into_iter().collect::<Vec<_>>()
        );
        let contended = outcome.reasons.iter();
        let contended = contended.filter(|reason| reason.verdict == Verdict::Contended);
        let contended: Vec<String> = contended.map(findings::reason).collect();
        assert_eq!(contended.iter().any(|text| text == took), is_stolen);
        assert_eq!(
            outcome.reasons.len(),
            usize::from(late) + usize::from(is_stolen)
        );
        let advised = remark.is_some() || (late && is_stolen && !idle_poll);
        assert_eq!(outcome.idle_poll_may_help, advised);
    };
    check_one(0.0, 0.9, false, false, None);
    check_one(0.019, 0.9, false, false, None);
    check_one(0.25, 0.5, false, false, None);
    check_one(0.25, 0.5, true, true, None);
    check_one(0.25, 0.1, false, true, None);
    let idle =
        "the load generator was late although the CPUs were 62.0 % idle; --idle-poll may help";
    check_one(0.01, 0.62, false, true, Some(idle));
    check_one(0.01, 0.62, true, true, None);
    // Work kept it off, and not the want of a CPU.
    check_one(0.01, 0.2, false, true, None);
}

#[test]
fn lag_of_the_generator() {
    let lag = |base: TrialFacts<'static>, p50, lag| {
        let facts = with_generator(base, |generator| generator.lag_p99_us = lag);
        TrialFacts {
            response_p50_us: Some(p50),
            ..facts
        }
    };
    valid(&lag(open(), 10_000.0, 1_000.0));
    let reason = "the load generator was late: its lag p99 is 1.01 ms, 10.1 % of the median response time of 10.0 ms \
                  (1.00 ms allowed)";
    expect(
        &lag(open(), 10_000.0, 1_010.0),
        Verdict::InstrumentLimited,
        &[reason],
        None,
    );
    // Below the kernel's timer slack nobody can do better: said, but no reason.
    let remark = "the load generator's lag p99 is 90.0 µs, 60.0 % of the median response time of 150 µs: \
                  within the resolution of its timers";
    expect(&lag(open(), 150.0, 90.0), Verdict::Valid, &[], Some(remark));
    let reason = "the load generator was late: its lag p99 is 101 µs, 67.3 % of the median response time of 150 µs \
                  (100 µs allowed)";
    expect(
        &lag(open(), 150.0, 101.0),
        Verdict::InstrumentLimited,
        &[reason],
        None,
    );
}

/// Nothing was in flight when the measured phase began, as in a load without a warm-up: what is under way for the first
/// time is no backlog.
#[test]
fn a_load_that_begins_with_the_measured_phase_fills_up_first() {
    let filling = |in_flight_mean, answered, in_flight_change| {
        let mut facts = with_generator(open(), |generator| {
            generator.in_flight_mean = in_flight_mean
        });
        (facts.measured.succeeded, facts.totals.succeeded) = (answered, answered);
        facts.measured.in_flight_change = in_flight_change;
        let reasons = check(&facts).reasons;
        reasons
            .iter()
            .any(|reason| reason.verdict == Verdict::Overloaded)
    };
    // 10,000/s at a constant 300 ms.
    assert!(!filling(2_900.0, 97_000, 3_000));
    // As many answers too few, and nothing that is under way explains them.
    assert!(filling(2_900.0, 97_000, 0));
    // What is in flight grows all the time: its mean is half of where it ends.
    assert!(filling(5_000.0, 90_000, 10_000));
}

#[test]
fn a_phase_in_which_nothing_was_sent_is_failed() {
    let mut facts = healthy();
    facts.measured = Counts {
        seconds: 10.0,
        ..Counts::default()
    };
    let reason = "no request was sent in the measured phase";
    expect(&facts, Verdict::Failed, &[reason], None);
}

#[test]
fn lateness_is_little_beside_the_time_that_a_search_asks_about() {
    let late = |bound, lag| {
        let facts = with_generator(open(), |generator| generator.lag_p99_us = lag);
        TrialFacts {
            response_p50_us: Some(150.0),
            time_bound_us: bound,
            ..facts
        }
    };
    let remark = "the load generator's lag p99 is 2.50 ms, 1667 % of the median response time of 150 µs: \
                  small compared with the time in the conditions";
    let asked = Some(25_000.0);
    expect(&late(asked, 2_500.0), Verdict::Valid, &[], Some(remark));
    for (bound, lag) in [(asked, 2_510.0), (None, 2_500.0)] {
        let reasons = check(&late(bound, lag)).reasons;
        assert!(
            matches!(&*reasons, [reason] if reason.verdict == Verdict::InstrumentLimited),
            "{reasons:?}"
        );
    }
}

#[test]
fn times_that_change_by_little_of_what_a_search_asks_about_are_steady() {
    let times: Vec<f64> = (0..40)
        .map(|bin| if bin < 20 { 131.0 } else { 180.0 })
        .collect();
    let with = |time_bound_us| TrialFacts {
        bins: SteadyBins {
            p50: &times,
            ..SteadyBins::default()
        },
        time_bound_us,
        ..open()
    };
    let verdict = |facts: &TrialFacts<'_>| verdict_of(&check(facts).reasons);
    assert_eq!(verdict(&with(None)), Verdict::Unsteady);
    assert_eq!(verdict(&with(Some(400.0))), Verdict::Unsteady);
    assert_eq!(verdict(&with(Some(25_000.0))), Verdict::Valid);
}

#[test]
fn a_batch_of_a_pipeline_is_not_lateness() {
    // 50 connections × pipelining 50 on a fast server: 2,500 in flight at 2 µs each are a turn of 5 ms.
    let pipelined = |lag| {
        let mut facts = with_generator(healthy(), |generator| {
            generator.lag_p99_us = lag;
            generator.in_flight_mean = 2_500.0;
        });
        facts.measured.seconds = 1.0;
        facts.service_mean_us = Some(25_000.0);
        TrialFacts {
            response_p50_us: Some(24_000.0),
            ..facts
        }
    };
    valid(&pipelined(2_400.0));
    let remark = "the load generator's lag p99 is 5.00 ms, 20.8 % of the median response time of 24.0 ms: \
                  within one cycle over all requests in flight";
    expect(&pipelined(5_000.0), Verdict::Valid, &[], Some(remark));
    let reason = "the load generator was late: its lag p99 is 5.10 ms, 21.2 % of the median response time of 24.0 ms \
                  (5.00 ms allowed)";
    expect(
        &pipelined(5_100.0),
        Verdict::InstrumentLimited,
        &[reason],
        None,
    );
}

#[test]
fn connections_asked_against_open() {
    let open = |least, typical| {
        with_generator(healthy(), |generator| {
            generator.connections_asked = 100;
            generator.connections_open_min = least;
            generator.connections_open_median = typical;
        })
    };
    valid(&open(100, 100));
    expect(
        &open(97, 100),
        Verdict::Valid,
        &[],
        Some("at least once only 97 of 100 connections were open"),
    );
    expect(
        &open(97, 99),
        Verdict::Valid,
        &[],
        Some("at least once only 97 of 100 connections were open"),
    );
    let reason = "100 connections configured, 98 open in the median interval";
    expect(&open(97, 98), Verdict::Inconsistent, &[reason], None);
}

#[test]
fn a_probe_that_is_slower_than_the_store_is_the_limit() {
    let behind = |seconds| TrialFacts {
        probe_lag_s: Some(seconds),
        ..healthy()
    };
    valid(&behind(1.0));
    let reason = "the probe lagged behind the store for 1.50 s (1.00 s allowed), so delay and backlog \
        are those of the probe";
    expect(&behind(1.5), Verdict::InstrumentLimited, &[reason], None);
}

#[test]
fn littles_law() {
    let in_flight = |mean| with_generator(healthy(), |generator| generator.in_flight_mean = mean);
    valid(&in_flight(51.5));
    valid(&in_flight(48.5));
    let reason = "Little's law: 52.0 in flight on average, but 10.0k/s × 5.00 ms + 0 failed or unfinished = 50.0 (difference 3.85 %; 3.02 % allowed)";
    expect(&in_flight(52.0), Verdict::Inconsistent, &[reason], None);
    let reason = "Little's law: 40.0 in flight on average, but 10.0k/s × 5.00 ms + 0 failed or unfinished = 50.0 (difference 20.0 %; 3.02 % allowed)";
    expect(&in_flight(40.0), Verdict::Inconsistent, &[reason], None);
    // A microsecond of resolution is a tenth of ten microseconds.
    let fast = with_generator(healthy(), |generator| {
        generator.in_flight_mean = 0.108;
        generator.lag_p99_us = 1.0;
    });
    valid(&TrialFacts {
        service_mean_us: Some(10.0),
        response_p50_us: Some(10.0),
        ..fast
    });
    // A stall at the end of the phase, and failures: neither is in the mean service time of the successes.
    let unexplained = |mean, unexplained| {
        with_generator(healthy(), |generator| {
            (generator.in_flight_mean, generator.in_flight_unexplained) = (mean, unexplained);
        })
    };
    valid(&unexplained(70.0, 20.0));
    valid(&unexplained(30.0, -20.0));
    let reason = "Little's law: 70.0 in flight on average, but 10.0k/s × 5.00 ms + 10.0 failed or unfinished = 60.0 (difference 14.3 %; 3.02 % allowed)";
    expect(
        &unexplained(70.0, 10.0),
        Verdict::Inconsistent,
        &[reason],
        None,
    );
}

#[test]
fn account_of_requests() {
    let mut facts = healthy();
    facts.measured.failed = 1;
    let reason = "measured phase: 100,000 requests sent, but 100,000 succeeded + 1 failed + 0 in flight = 100,001";
    expect(&facts, Verdict::Inconsistent, &[reason], None);
    facts.measured.in_flight_change = -1;
    valid(&facts);
    let mut facts = healthy();
    facts.totals.sent = 99_998;
    let reason = "whole load: 99,998 requests sent, but 100,000 succeeded + 0 failed + 0 in flight = 100,000";
    expect(&facts, Verdict::Inconsistent, &[reason], None);
    let mut facts = open();
    facts.totals.skipped = 3;
    let reason = "whole load: 100,000 requests fell due, but 100,000 sent + 3 skipped = 100,003";
    expect(&facts, Verdict::Inconsistent, &[reason], None);
    facts.totals.due = 100_003;
    valid(&facts);
}

#[test]
fn account_of_records() {
    let with = |change: fn(&mut Ledger)| {
        let mut facts = healthy();
        facts.ledger.iter_mut().for_each(change);
        facts
    };
    expect(
        &with(|ledger| ledger.sent += 1),
        Verdict::Inconsistent,
        &["records: 100,001 sent, but 100,000 accepted + 0 rejected + 0 unknown = 100,000"],
        None,
    );
    expect(
        &with(|ledger| ledger.delivered -= 1),
        Verdict::Inconsistent,
        &["records: 100,000 accepted, but 99,999 delivered + 0 missing = 99,999"],
        None,
    );
    expect(
        &with(|ledger| (ledger.accepted, ledger.delivered, ledger.unknown) = (99_999, 99_999, 1)),
        Verdict::Inconsistent,
        &["records: 100,000 in requests that succeeded, but 99,999 accepted by key = 99,999"],
        None,
    );
    expect(
        &with(|ledger| ledger.unexpected = 2),
        Verdict::Inconsistent,
        &["records: 2 in the store that were never sent"],
        None,
    );
    let denied = |unexpected: u64| {
        let mut facts = healthy();
        facts.ledger.iter_mut().for_each(|ledger| {
            ledger.sent += 5;
            ledger.rejected = 5;
            ledger.rejected_delivered = 2;
            ledger.unexpected = unexpected;
        });
        facts
    };
    let remark = "2 of 5 rejected records are in the store";
    expect(&denied(2), Verdict::Valid, &[], Some(remark));
    expect(
        &denied(3),
        Verdict::Inconsistent,
        &["records: 1 in the store that were never sent"],
        Some(remark),
    );
    expect(
        &with(|ledger| {
            (ledger.delivered, ledger.missing) = (99_998, 2);
            ledger.missing_keys = vec![100_000_000_000_000_007, 100_000_000_000_000_042];
        }),
        Verdict::Incomplete,
        &["2 of 100,000 accepted records are not in the store; \
           first keys: 100000000000000007, 100000000000000042"],
        None,
    );
}

/// A loss is one, however good the instrument was; but a probe that did not read everything does not know of one.
#[test]
fn what_is_missing_outranks_a_late_generator_and_not_what_was_not_read() {
    let mut facts = with_generator(open(), |generator| generator.lag_p99_us = 1_010.0);
    facts.response_p50_us = Some(10_000.0);
    let ledger = facts
        .ledger
        .get_or_insert_with(|| healthy().ledger.unwrap());
    (ledger.delivered, ledger.missing) = (ledger.accepted - 2, 2);
    let of_both = |facts: &TrialFacts<'_>| {
        let outcome = check(facts);
        let is_incomplete = |reason: &waggle_stats::Reason| reason.verdict == Verdict::Incomplete;
        (
            verdict_of(&outcome.reasons),
            outcome.reasons.iter().any(is_incomplete),
        )
    };
    assert_eq!(of_both(&facts), (Verdict::Incomplete, true));
    // Slow while the load ran, but it came to the end.
    facts.probe_lag_s = Some(9.0);
    assert_eq!(of_both(&facts), (Verdict::Incomplete, true));
    facts.store_unread = true;
    assert_eq!(of_both(&facts), (Verdict::InstrumentLimited, false));
}

#[test]
fn open_load_that_is_not_kept_up_with() {
    let answered = |count: u64| {
        let mut facts = open();
        facts.measured.succeeded = count;
        facts.measured.in_flight_change = i64::try_from(100_000 - count).unwrap();
        facts.service_mean_us = Some(5_000.0);
        facts
    };
    // 1 %, four standard deviations of 50 in flight, and those 50 themselves.
    valid(&answered(98_930));
    let reason = "100,000 requests fell due and 98,910 were answered (98.91 %; at least 99 % required), 0 were skipped";
    expect(&answered(98_910), Verdict::Overloaded, &[reason], None);
    let mut facts = answered(98_910);
    facts.generator.in_flight_max = Some(56);
    expect(&facts, Verdict::Overloaded, &[reason], None);
    facts.generator.in_flight_max = Some(52);
    let full = "the connections had nearly always as many requests in flight as they may (52): 50.0 ÷ 5.06 ms for each answer is \
                9.89k/s (Little's law), and more connections may reach more";
    expect(&facts, Verdict::Overloaded, &[reason], Some(full));
    // What the warm-up left is answered in the measured phase.
    let surplus = "2,000 more requests were answered than fell due: the warm-up had left them, and goodput is above the offered load";
    let mut facts = open();
    facts.measured.succeeded = 102_000;
    facts.measured.in_flight_change = -2_000;
    expect(&facts, Verdict::Valid, &[], Some(surplus));
    // Closed load has no rate to keep up with.
    let mut facts = answered(98_910);
    facts.model = LoadModel::Closed;
    valid(&facts);
}

#[test]
fn a_generator_that_does_not_hold_its_rate() {
    let offered = |per_s| TrialFacts {
        offered_per_s: Some(per_s),
        ..open()
    };
    valid(&offered(10_220.0));
    let reason = "10,250/s over 10.0 s is an offered load of 102,500 requests, but 100,000 requests fell due";
    expect(
        &offered(10_250.0),
        Verdict::InstrumentLimited,
        &[reason],
        None,
    );
}

#[test]
fn backlogs() {
    let done = ASKED.map(|asked| 0.9 * asked);
    let totals = RunningTotals {
        at_s: &AT_S,
        asked: &ASKED,
        done: &done,
    };
    expect(
        &TrialFacts {
            delivery: totals,
            ..healthy()
        },
        Verdict::Overloaded,
        &[
            "records accepted but not yet in the store grew from 0 to 10.0k, by 1.00k/s at a load of 10.0k/s",
        ],
        None,
    );
    expect(
        &TrialFacts {
            answers: totals,
            ..open()
        },
        Verdict::Overloaded,
        &["unanswered requests grew from 0 to 10.0k, by 1.00k/s at a load of 10.0k/s"],
        None,
    );
}

#[test]
fn steadiness() {
    let halved = [
        1e4, 1.01e4, 0.99e4, 1e4, 1e4, 0.51e4, 0.5e4, 0.49e4, 0.5e4, 0.5e4,
    ];
    let bins = SteadyBins {
        throughput: &halved,
        ..healthy().bins
    };
    let facts = TrialFacts {
        bins,
        bin_s: 0.25,
        ..healthy()
    };
    let reason = "throughput changed from 10.0k/s to 5.00k/s at 1.25 s of the measured phase";
    expect(&facts, Verdict::Unsteady, &[reason], None);

    let limit = "the warm-up reached its timeout before the system was steady";
    let steady_after = TrialFacts {
        warm_up_steady: Some(false),
        ..healthy()
    };
    expect(
        &steady_after,
        Verdict::Valid,
        &[],
        Some(&format!("{limit}; the measured phase was steady")),
    );
    let untested = TrialFacts {
        bins: SteadyBins::default(),
        ..steady_after
    };
    let reason = format!("{limit}, and the measured phase is too short to test");
    expect(&untested, Verdict::Unsteady, &[&reason], None);
}

/// Ten seconds by quarters, of which those in `silent` had no success.
fn ten_seconds_served(silent: &[(usize, usize)]) -> Vec<Served> {
    let interval = |place: usize| Served {
        seconds: 0.25,
        succeeded: if silent
            .iter()
            .any(|(from, to)| (*from..*to).contains(&place))
        {
            0
        } else {
            2_500
        },
        waited: true,
    };
    (0..40).map(interval).collect()
}

#[test]
fn silences() {
    let facts = |served: &'static [Served], model| TrialFacts {
        served,
        ..match model {
            LoadModel::Open => open(),
            _ => healthy(),
        }
    };
    let check = |silent: &[(usize, usize)], verdict, text: Option<&str>| {
        let served: &'static [Served] = ten_seconds_served(silent).leak();
        for model in [LoadModel::Closed, LoadModel::Open] {
            let facts = facts(served, model);
            match (verdict, text) {
                // Nobody arrives in a stall of a closed load.
                (Verdict::Valid, Some(text)) if model == LoadModel::Closed => {
                    let omitted = "; nobody arrives meanwhile, so times are at least those measured (coordinated omission)";
                    expect(
                        &facts,
                        Verdict::Unsteady,
                        &[&format!("{text}{omitted}")],
                        None,
                    );
                    let doubts = check(&facts).reasons[0].finding.doubts();
                    let doubts: Vec<_> = doubts
                        .iter()
                        .map(|doubt| (doubt.aspect, doubt.bias))
                        .collect();
                    assert_eq!(doubts, [(Aspect::Times, Bias::AtLeast)]);
                }
                (Verdict::Valid, _) => expect(&facts, verdict, &[], text),
                _ => expect(&facts, verdict, &[text.unwrap_or_default()], None),
            }
        }
    };
    let for_s = |text: &str| format!("no request succeeded for {text}");
    check(&[], Verdict::Valid, None);
    // A stall of 1 s is what the system does; it is named.
    let second = for_s(
        "1.00 s of 10.0 s, from 2.50 s of the measured phase, although requests were waiting",
    );
    check(&[(10, 14)], Verdict::Valid, Some(&second));
    let often = for_s(
        "1.00 s of 10.0 s, from 2.50 s of the measured phase, although requests were waiting; 1.75 s in total",
    );
    check(&[(10, 14), (20, 23)], Verdict::Valid, Some(&often));
    let at_end = for_s(
        "1.75 s of 10.0 s, from 8.25 s of the measured phase until its end, although requests were waiting",
    );
    check(&[(33, 40)], Verdict::Valid, Some(&at_end));
    let fifth = for_s(
        "2.00 s of 10.0 s, from 5.00 s of the measured phase, although requests were waiting",
    );
    check(&[(20, 28)], Verdict::Unsteady, Some(&fifth));
    let hung = for_s(
        "9.75 s of 10.0 s, from 250 ms of the measured phase until its end, although requests were waiting",
    );
    check(&[(1, 40)], Verdict::Unsteady, Some(&hung));
    let half = for_s(
        "1.75 s of 10.0 s, from 1.25 s of the measured phase, although requests were waiting; 5.25 s in total",
    );
    check(
        &[(5, 12), (13, 20), (21, 28)],
        Verdict::Unsteady,
        Some(&half),
    );
}

fn test_killed(name: &str) -> InjectedFault {
    InjectedFault {
        kind: "kill",
        name: name.to_owned(),
        at_s: 5.0,
    }
}

#[test]
fn a_system_that_is_disturbed_on_purpose_is_not_asked_to_be_steady() {
    let killed = [test_killed("orders-0")];
    let halved = [
        1e4, 1.01e4, 0.99e4, 1e4, 1e4, 0.51e4, 0.5e4, 0.49e4, 0.5e4, 0.5e4,
    ];
    let served = ten_seconds_served(&[(20, 28)]);
    let mut facts = TrialFacts {
        bins: SteadyBins {
            throughput: &halved,
            ..healthy().bins
        },
        served: &served,
        warm_up_steady: Some(false),
        faults: &killed,
        ..healthy()
    };
    // Most of its connections were gone for most of the time.
    facts.generator.connections_open_min = 0;
    facts.generator.connections_open_median = 20;
    let outcome = check(&facts);
    assert_eq!(outcome.reasons, []);
    let remarks = [
        "at least once only 0 of 50 connections were open",
        "steadiness and backlogs were not judged: kill of orders-0 at 5.00 s of the measured phase",
        "no request succeeded for 2.00 s of 10.0 s, from 5.00 s of the measured phase, although requests were waiting",
    ];
    assert_eq!(remark_texts(&outcome.remarks), remarks);
    // What it lost is a finding as ever.
    let lost = TrialFacts {
        ledger: Some(Ledger {
            delivered: 99_999,
            missing: 1,
            missing_keys: vec![7],
            ..healthy().ledger.unwrap()
        }),
        ..facts
    };
    assert_eq!(verdict_of(&check(&lost).reasons), Verdict::Incomplete);
}

#[test]
fn a_load_that_changes_by_stages_is_not_asked_to_be_steady() {
    let rising: Vec<f64> = (1..=10).map(|bin| 1e3 * f64::from(bin)).collect();
    let outcome = |profile| {
        check(&TrialFacts {
            bins: SteadyBins {
                throughput: &rising,
                ..healthy().bins
            },
            profile,
            ..healthy()
        })
    };
    let staged = outcome(LoadProfile::Stages);
    assert_eq!(staged.reasons, []);
    assert_eq!(staged.steadiness, SteadinessTest::StagedLoad);
    assert_eq!(
        remark_texts(&staged.remarks),
        ["steadiness was not tested: the load changes in stages"]
    );
    let constant = outcome(LoadProfile::Constant);
    assert_eq!(verdict_of(&constant.reasons), Verdict::Unsteady);
    assert_eq!(constant.steadiness, SteadinessTest::Tested);
    let failed = TrialFacts {
        failed: Some("no".to_owned()),
        ..healthy()
    };
    assert_eq!(check(&failed).steadiness, SteadinessTest::NotReached);
}

#[test]
fn what_piles_up_while_something_is_down_is_no_overload() {
    let at_s: Vec<f64> = (0..40).map(|look| f64::from(look) / 4.0).collect();
    let asked: Vec<f64> = at_s.iter().map(|time| 1_000.0 * time).collect();
    // Nothing is done from the fifth second on.
    let done: Vec<f64> = at_s.iter().map(|time| 1_000.0 * time.min(5.0)).collect();
    let totals = RunningTotals {
        at_s: &at_s,
        asked: &asked,
        done: &done,
    };
    let outcome = |faults: &[InjectedFault]| {
        check(&TrialFacts {
            delivery: totals,
            answers: totals,
            faults,
            ..healthy()
        })
    };
    let growing = outcome(&[]).reasons;
    assert_eq!(growing.len(), 2, "{growing:?}");
    assert!(
        growing
            .iter()
            .all(|reason| reason.verdict == Verdict::Overloaded)
    );
    let killed = outcome(&[test_killed("store-0")]);
    assert_eq!(killed.reasons, []);
    let remark =
        "steadiness and backlogs were not judged: kill of store-0 at 5.00 s of the measured phase";
    assert_eq!(remark_texts(&killed.remarks), [remark]);
}

/// One connection and 400 ms an answer: gaps of a second and more are how it works.
#[test]
fn few_and_slow_answers_are_no_silence() {
    let slow = |silent: &[(usize, usize)]| {
        let served: &'static [Served] = ten_seconds_served(silent).leak();
        let mut facts = with_generator(healthy(), |generator| {
            generator.in_flight_mean = 1.0;
            generator.connections_asked = 1;
            generator.connections_open_min = 1;
            generator.connections_open_median = 1;
        });
        let counts = Counts {
            seconds: 10.0,
            due: 25,
            sent: 25,
            succeeded: 25,
            records_succeeded: 25,
            ..Counts::default()
        };
        (facts.measured, facts.totals) = (counts, counts);
        (facts.ledger, facts.delivery) = (None, RunningTotals::default());
        facts.service_mean_us = Some(400_000.0);
        TrialFacts { served, ..facts }
    };
    let check = |silent, expected| {
        let silences = check(&slow(silent)).reasons.len();
        assert_eq!(silences, expected, "{:?}", check(&slow(silent)));
    };
    check(&[(3, 6), (10, 17)], 0);
    check(&[(3, 6), (10, 18)], 1);
}

#[test]
fn every_reason_is_told_and_the_worst_decides() {
    let mut facts = with_generator(healthy(), |generator| generator.utilization = 1.0);
    facts.measured.failed = 1;
    let outcome = check(&facts);
    assert_eq!(outcome.reasons.len(), 2);
    assert_eq!(verdict_of(&outcome.reasons), Verdict::Inconsistent);
}

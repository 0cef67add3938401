//! What is wrong with a system or with the measurement is found in the numbers, and what is well is left alone.
// long: a test a verdict

use crate::{
    seeded::{Seeded, Wrong},
    seeded_model,
};
use waggle_analysis::{
    AnswerOf, CellModel, Conclusion, Decision, Model, Shortcoming, ThresholdCell, TrialModel,
    is_contended,
};
use waggle_report::{
    csv, html, markdown,
    wording::{answer, delivery, findings, warnings},
};
use waggle_results::FailureKind;
use waggle_spec::ExpectedVerdict;
use waggle_stats::{Cause, MetricVerdict, Recovery, Verdict};

/// One cell with something wrong in it.
fn model_with_fault(wrong: Option<Wrong>) -> Model {
    let factors: &[(&str, &[&str])] = &[("connections", &["50"]), ("pipelining", &["10"])];
    seeded_model(&Seeded {
        wrong: wrong.map(|wrong| (1, wrong)).into_iter().collect(),
        ..Seeded::plain(factors, 3)
    })
}

fn remarks(trial: &TrialModel) -> Vec<String> {
    trial.remarks.iter().map(findings::remark).collect()
}

fn check(wrong: Option<Wrong>, verdict: Verdict, reason: &str) -> CellModel {
    let model = model_with_fault(wrong);
    let cell = model.cells[0].clone();
    let reasons: Vec<String> = cell.reasons.iter().map(findings::cell_reason).collect();
    assert_eq!(cell.verdict, Some(verdict), "{wrong:?}: {reasons:?}");
    assert!(
        reasons.iter().any(|text| text.contains(reason)) || reason.is_empty(),
        "{wrong:?}: {reasons:?}"
    );
    cell
}

#[test]
fn each_fault_gets_its_verdict() {
    check(None, Verdict::Valid, "");
    // How wide an interval is, it says itself.
    check(Some(Wrong::Scatters), Verdict::Valid, "");
    check(Some(Wrong::Slows), Verdict::Unsteady, "repetition 1");
    check(
        Some(Wrong::FallsBehind),
        Verdict::Overloaded,
        "not yet in the store grew",
    );
    check(
        Some(Wrong::Starved),
        Verdict::InstrumentLimited,
        "busiest worker used 98.50 %",
    );
    check(
        Some(Wrong::Miscounts),
        Verdict::Inconsistent,
        "requests sent, but",
    );
    let loses = check(
        Some(Wrong::Loses),
        Verdict::Incomplete,
        "first keys: 4711, 4712, 4713",
    );
    assert_eq!(loses.ledger.unwrap().missing, 3);
    let fails = check(
        Some(Wrong::Fails),
        Verdict::Failed,
        "was not ready within 10 s",
    );
    assert_eq!(
        (fails.ran, fails.counted),
        (3, 2),
        "a failed trial has no part in the estimates"
    );
}

#[test]
fn what_is_counted_is_not_a_verdict() {
    let doubles = check(Some(Wrong::Doubles), Verdict::Valid, "");
    assert_eq!(
        doubles.ledger.unwrap().duplicates,
        3,
        "one in each repetition"
    );
    let errors = check(Some(Wrong::Errors), Verdict::Valid, "");
    assert_eq!(
        errors.failures,
        [(FailureKind::Status(503), 48), (FailureKind::Reset, 12)]
    );
    assert_eq!(errors.failed, 60);
}

#[test]
fn a_generator_that_came_late_beside_a_greedy_host_is_told_what_may_help() {
    let model = model_with_fault(Some(Wrong::Stolen));
    let cell = &model.cells[0];
    assert_eq!(cell.verdict, Some(Verdict::Contended));
    assert_eq!(cell.cpu_steal, Some(0.25));
    let note = "In 3 of 3 trials the load generator was late while CPUs were idle or taken by the hypervisor: --idle-poll may help.";
    assert!(
        warnings::sentences(&model).contains(&note.to_owned()),
        "{:?}",
        model.warnings
    );
    assert!(model.trials.iter().all(is_contended));
    let causes: Vec<(Cause, usize)> = cell
        .causes
        .iter()
        .map(|cause| (cause.cause, cause.trials))
        .collect();
    let steal = Cause::CpuSteal {
        share: 0.25,
        idle_poll: false,
    };
    assert_eq!(causes, [(steal, 3)]);
    let page = markdown(&model);
    for text in [
        "CPU steal",
        "generator lag p99",
        "| 40.0 ms | 25.0 % |",
        "- **CPU steal**: at most 25.0 % of the CPU time in a measured phase",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("Idle polling"));
    let table = csv(&model);
    assert!(table.contains(",cpu_steal,cpu_idle,"), "{table}");
    assert!(table.contains(",0.25,0.5,"), "{table}");

    // With idle polling already: then it is no advice.
    let awake = seeded_model(&Seeded {
        idle_poll: true,
        wrong: vec![(1, Wrong::Stolen)],
        ..Seeded::plain(&[("connections", &["50"]), ("pipelining", &["10"])], 3)
    });
    let warned = warnings::sentences(&awake);
    let remarks = awake.trials.iter().flat_map(remarks);
    let mut advice = warned.into_iter().chain(remarks);
    assert!(advice.all(|text| !text.contains("--idle-poll")));
    assert!(markdown(&awake).contains("- **Idle polling**: "));
}

#[test]
fn a_threshold_is_decided_by_what_concerns_its_metric() {
    use Decision::{Fails, Holds, Undecided};
    let check = |wrong, expected: [Decision; 2], conclusion| {
        let model = model_with_fault(wrong);
        let held: Vec<Decision> = model
            .thresholds
            .iter()
            .map(|threshold| threshold.held)
            .collect();
        assert_eq!(held, expected, "{wrong:?}");
        assert_eq!(model.conclusion(false), conclusion, "{wrong:?}");
        model
    };
    check(None, [Holds, Holds], Conclusion::Answered);
    check(Some(Wrong::Scatters), [Holds, Holds], Conclusion::Answered);
    // Records are missing; the response time is what it is.
    check(Some(Wrong::Loses), [Fails, Holds], Conclusion::Failed);
    // The generator was late: the times are what was measured or less.
    let model = check(Some(Wrong::Starved), [Holds, Holds], Conclusion::Answered);
    assert_eq!(model.cells[0].verdict, Some(Verdict::InstrumentLimited));
    assert_eq!(model.conclusion(true), Conclusion::Open);
    assert_eq!(model.doubtful().cells, 1);
    let model = check(
        Some(Wrong::Fails),
        [Holds, Undecided],
        Conclusion::TrialFailed,
    );
    // A failure is no doubt, which more trials would help against.
    assert_eq!(model.doubtful().cells, 0);
    assert_eq!(
        model.thresholds[1].cells[0].reason,
        Some(Shortcoming::Doubtful(vec![waggle_stats::Bias::Unknown]))
    );
}

#[test]
fn a_run_without_a_success_comes_to_the_same_as_a_failed_trial() {
    let mut model = seeded_model(&Seeded::plain(&[("connections", &["10", "50"])], 3));
    assert_eq!(model.conclusion(false), Conclusion::Answered);
    model.cells[0].succeeded = 0;
    assert_eq!(model.conclusion(false), Conclusion::Answered);
    model.cells[1].succeeded = 0;
    assert_eq!(model.conclusion(false), Conclusion::TrialFailed);
    let held = std::mem::replace(&mut model.thresholds[0].held, Decision::Fails);
    assert_eq!(model.conclusion(false), Conclusion::Failed);
    model.thresholds[0].held = held;
    // What the study expects is no failure.
    model.info.expect_verdict = Some(ExpectedVerdict::Overloaded);
    model.cells[1].verdict = Some(Verdict::Overloaded);
    assert_eq!(model.conclusion(false), Conclusion::Answered);
}

#[test]
fn recovery_has_a_time_only_where_every_trial_recovered() {
    let model = seeded_model(&Seeded::overload());
    let verdicts: Vec<Option<Verdict>> = model.cells.iter().map(|cell| cell.verdict).collect();
    let overloaded = Some(Verdict::Overloaded);
    let valid = Some(Verdict::Valid);
    assert_eq!(verdicts, [valid, overloaded, overloaded, overloaded]);
    let cell_recovery = |cell: usize| model.cells[cell].recovery.clone().unwrap();
    let point = |cell: usize| cell_recovery(cell).after.map(|after| after.point);
    assert_eq!((cell_recovery(0).recovered, point(0)), (3, Some(0.0)));
    let mean = point(1).unwrap();
    // Three, four and five intervals of 250 ms: their geometric mean.
    assert!((mean - 978_717.0).abs() < 1_000.0, "{mean}");
    assert_eq!((cell_recovery(2).recovered, point(2)), (2, None));
    assert_eq!((cell_recovery(3).recovered, point(3)), (0, None));
    assert_eq!(
        cell_recovery(2).trials,
        [
            Recovery::After(1.5),
            Recovery::NotWithin(3.0),
            Recovery::After(1.5)
        ]
    );
    // It is overload that a system recovers from. Records wait, requests do not: that says nothing against the response time.
    let [recovery, _, response] = &model.thresholds[..] else {
        panic!("{:?}", model.thresholds);
    };
    use Decision::{Fails, Holds};
    let held = |cells: &[ThresholdCell]| cells.iter().map(|cell| cell.held).collect::<Vec<_>>();
    assert_eq!(held(&recovery.cells), [Holds, Holds, Fails, Fails]);
    assert_eq!(held(&response.cells), [Holds; 4]);
    assert_eq!(
        recovery.cells[2].reason,
        Some(Shortcoming::NotRecovered {
            trials: 1,
            of: 3,
            within_s: 3.0
        })
    );
}

/// Two replicas of a broker use 0.1 cores each, whatever comes; the gateway uses more than both where more is sent.
#[test]
fn the_busiest_component_is_named_with_its_share() {
    let model = seeded_model(&Seeded {
        has_broker: true,
        ..Seeded::plain(&[("writer", &["sink"]), ("connections", &["10", "100"])], 3)
    });
    let bottleneck = |cell: usize| {
        model.cells[cell]
            .bottleneck
            .clone()
            .expect("CPU was sampled")
    };
    let (few, many) = (bottleneck(0), bottleneck(1));
    assert_eq!(few.component, "kafka", "{few:?}");
    assert_eq!(many.component, "gateway", "{many:?}");
    assert_eq!(many.next.as_ref().map(|(name, _)| &**name), Some("kafka"));
    assert!((few.cores.point - 0.2).abs() < 0.001, "{few:?}");
    assert_eq!((few.trials, many.trials), (3, 3));
    // The system was pinned to one CPU.
    assert!((many.share.unwrap() - many.cores.point).abs() < 1e-9);
    let next = many.next.as_ref().map_or(0.0, |(_, cores)| cores.point);
    assert!((many.of_all - many.cores.point / (many.cores.point + next)).abs() < 1e-9);
    assert!(html(&model).contains("id=\"table-bottlenecks\""));
    let text = markdown(&model);
    assert!(text.contains("| 10 | kafka | 0.200 "), "{text}");
    let table = csv(&model);
    let (heads, rows) = table.split_once('\n').expect("there are rows");
    let place = heads
        .split(',')
        .position(|head| head == "busiest_component");
    let named: Vec<&str> = rows
        .lines()
        .filter_map(|row| row.split(',').nth(place?))
        .collect();
    assert_eq!(
        named,
        ["kafka", "kafka", "kafka", "gateway", "gateway", "gateway"]
    );
}

/// What ran already has no CPU that is known.
#[test]
fn nobody_is_busiest_where_no_cpu_is_known() {
    let model = seeded_model(&Seeded {
        ran: Some(0),
        ..Seeded::ingest()
    });
    let page = html(&model);
    assert!(!page.contains("table-bottlenecks"));
    assert!(!csv(&model).contains("busiest_component"));
}

/// What a study demands of its records, each by its name.
#[test]
fn a_study_can_demand_that_nothing_is_lost_or_doubled() {
    let counts = ["missing", "duplicates", "rejected_delivered", "unexpected"];
    let demands = |wrong| {
        let study = Seeded {
            thresholds: counts
                .map(|count| format!("delivery.{count} == 0"))
                .to_vec(),
            wrong: vec![(1, wrong)],
            ..Seeded::plain(&[("connections", &["50"])], 3)
        };
        let all = seeded_model(&study).thresholds;
        let cells = all.into_iter().take(counts.len());
        cells
            .map(|mut threshold| threshold.cells.remove(0))
            .collect::<Vec<_>>()
    };
    let holds = |cells: &[ThresholdCell]| -> Vec<bool> {
        let held = cells.iter().map(|cell| cell.held);
        held.map(|held| held == Decision::Holds).collect()
    };
    let doubled = demands(Wrong::Doubles);
    assert_eq!(holds(&doubled), [true, false, true, true]);
    assert_eq!(doubled[1].observed, Some(3.0));
    let lost = demands(Wrong::Loses);
    assert_eq!(lost[0].observed, Some(3.0));
    // The other counts are exact, whatever else was lost.
    assert_eq!(holds(&lost), [false, true, true, true]);
}

/// What was lost behind the broker is not missing there.
#[test]
fn each_probe_has_an_account_of_its_own() {
    let numbers = [
        "delivery.broker.missing",
        "delivery.store.missing",
        "delivery.missing",
        "delivery.broker.loss_rate",
    ];
    let study = Seeded {
        has_broker: true,
        thresholds: numbers.map(str::to_owned).to_vec(),
        wrong: vec![(1, Wrong::Loses)],
        ..Seeded::plain(&[("connections", &["50"])], 3)
    };
    let value = |number: &str| {
        let all = seeded_model(&study).thresholds;
        let threshold = all
            .into_iter()
            .find(|threshold| threshold.text.starts_with(number));
        threshold.unwrap().cells.remove(0).observed.unwrap()
    };
    assert_eq!(numbers.map(value), [0.0, 3.0, 3.0, 0.0]);
}

/// Lost, doubled, done although refused, without an answer: each has its sentence and its place in a table that adds up.
#[test]
fn the_account_says_what_became_of_every_record() {
    let model = seeded_model(&Seeded::with_kill());
    let account = delivery::sentences(&model);
    assert_eq!(
        account,
        [
            "Missing: 51 of 168,590 accepted records (at victim=gateway).",
            "Duplicates: 3 extra copies (at victim=gateway).",
            "Rejected but delivered: 6 of 72 rejected records (at victim=gateway).",
            "Unknown: 18 records without a clear answer (at victim=gateway), of which 12 were delivered and 6 were not.",
        ]
    );
    for cell in &model.cells {
        let ledger = cell.ledger.as_ref().expect("an account was kept");
        assert_eq!(
            ledger.sent,
            ledger.accepted + ledger.rejected + ledger.unknown
        );
        assert_eq!(ledger.accepted, ledger.delivered + ledger.missing);
    }
    let page = html(&model);
    let text = markdown(&model);
    for sentence in &account {
        assert!(
            page.contains(sentence) && text.contains(sentence),
            "{sentence}"
        );
    }
    for name in [
        "missing",
        "duplicates",
        "rejected_delivered",
        "unknown_delivered",
    ] {
        let name = format!("delivery.{name}");
        assert!(page.contains(&name) && text.contains(&name), "{name}");
    }
    let well = seeded_model(&Seeded::plain(&[("connections", &["50"])], 3));
    let accepted = well.cells[0].ledger.as_ref().map(|ledger| ledger.accepted);
    let account = delivery::sentences(&well);
    assert_eq!(account.len(), 2, "{accepted:?} {account:?}");
    assert!(account[0].starts_with("Missing: none of ") && account[1] == "Duplicates: none.");
    assert_eq!(seeded_model(&Seeded::shopping_study()).account, None);
}

/// The study's check lets these names through; a condition on a number that the report does not know would fail
/// whatever is measured.
#[test]
fn every_number_that_a_study_can_name_has_a_value() {
    let statistics = ["p50", "p90", "p99", "p99_9", "max", "mean"];
    let times = [
        "put-readings.response_time",
        "put-readings.service_time",
        "delivery.delay",
    ];
    let mut names: Vec<String> = times
        .iter()
        .flat_map(|time| statistics.map(|statistic| format!("{time}.{statistic}")))
        .collect();
    let counts = "sent accepted rejected rejected_delivered unknown unknown_delivered delivered missing duplicates late \
         out_of_order unexpected";
    names.extend(counts.split(' ').map(|count| format!("delivery.{count}")));
    names.extend(
        [
            "goodput",
            "throughput",
            "error_rate",
            "failed",
            "client_wait_time.mean",
            "bytes_received_per_answer",
            "bytes_received_per_s",
            "bytes_sent_per_s",
        ]
        .map(|number| format!("put-readings.{number}")),
    );
    names.extend(["generator.utilization", "generator.lag_p99"].map(str::to_owned));
    let study = Seeded {
        thresholds: names.clone(),
        ..Seeded::plain(&[], 3)
    };
    for (name, threshold) in names.iter().zip(seeded_model(&study).thresholds) {
        let cell = &threshold.cells[0];
        assert!(
            cell.held == Decision::Holds && cell.observed.is_some() && cell.reason.is_none(),
            "{name}: {cell:?}"
        );
    }
}

/// Each answer of the seeded trials has 90 bytes, each request 260.
#[test]
fn conditions_on_bytes_and_on_the_wait_in_the_client_hold_or_fail() {
    let waiting = || Seeded {
        waits: true,
        ..Seeded::plain(&[], 3)
    };
    let outcome = |number: &str, limit: f64| {
        let study = Seeded {
            thresholds: vec![format!("put-readings.{number} < {limit}")],
            ..waiting()
        };
        let mut model = seeded_model(&study);
        let cell = model.thresholds.remove(0).cells.remove(0);
        let per_s = model.cells[0].throughput.unwrap().point;
        (cell.held == Decision::Holds, cell.observed.unwrap(), per_s)
    };
    let (is_below_90, observed, per_s) = outcome("bytes_received_per_answer", 90.0);
    assert_eq!((is_below_90, observed), (false, 90.0));
    assert!(outcome("bytes_received_per_answer", 90.5).0);
    for (number, bytes) in [("bytes_received_per_s", 90.0), ("bytes_sent_per_s", 260.0)] {
        assert!(!outcome(number, per_s * bytes * 0.8).0, "{number}");
        assert!(outcome(number, per_s * bytes * 1.2).0, "{number}");
    }
    let response_us = seeded_model(&waiting()).cells[0]
        .response
        .mean
        .unwrap()
        .point;
    assert!(!outcome("client_wait_time.mean", response_us * 0.49).0);
    assert!(outcome("client_wait_time.mean", response_us * 0.51).0);
}

#[test]
fn the_answer_is_of_every_cell_of_which_something_is_known() {
    let model = seeded_model(&Seeded::ingest());
    let AnswerOf::Metrics(metrics) = &model.answer.of else {
        panic!("{:?}", model.answer);
    };
    let goodput = &metrics[0];
    let unknown: Vec<u32> = model
        .cells
        .iter()
        .filter(|cell| cell.asked[0].verdict == MetricVerdict::Unknown)
        .map(|cell| cell.cell)
        .collect();
    let of_known = model
        .cells
        .iter()
        .filter(|cell| !unknown.contains(&cell.cell));
    let highest = of_known
        .filter_map(|cell| cell.goodput)
        .map(|goodput| goodput.point)
        .fold(0.0, f64::max);
    assert_eq!(goodput.best.number.point(), highest);
    assert_eq!(goodput.of - goodput.known, unknown.len());
    let overloaded = model_with_fault(Some(Wrong::FallsBehind));
    assert_eq!(overloaded.answer.verdict, Some(Verdict::Overloaded));
    let text = &answer::sentences(&overloaded)[0];
    assert!(
        text.starts_with("Goodput is ") && text.contains("verdict: overloaded"),
        "{text}"
    );
    let single = seeded_model(&Seeded::plain(&[], 1));
    assert!(answer::sentences(&single)[0].contains("single trial, no interval"));
}

/// A full worker of the generator makes a goodput a bound, and takes no cell out of the answer.
#[test]
fn a_bound_is_said_as_one() {
    let factors: &[(&str, &[&str])] = &[("connections", &["10", "50"])];
    let study = |wrong| {
        seeded_model(&Seeded {
            wrong,
            ..Seeded::plain(factors, 3)
        })
    };
    let said = |wrong: Vec<(u32, Wrong)>| answer::sentences(&study(wrong)).join(" ");
    let best = said(vec![(2, Wrong::Starved)]);
    assert!(best.contains("The highest goodput is at least "), "{best}");
    let worst = said(vec![(1, Wrong::Starved)]);
    assert!(
        worst.contains("; the lowest measured is at least "),
        "{worst}"
    );
    let page = html(&study(vec![(2, Wrong::Starved)]));
    assert!(page.contains(">≥ "), "the tile");
}

#[test]
fn nothing_that_ran_is_nothing_to_say() {
    let model = seeded_model(&Seeded {
        ran: Some(0),
        ..Seeded::ingest()
    });
    assert!(
        model
            .cells
            .iter()
            .all(|cell| cell.verdict.is_none() && cell.goodput.is_none())
    );
    assert!(
        model
            .thresholds
            .iter()
            .all(|threshold| threshold.held != Decision::Holds)
    );
    assert_eq!(
        answer::sentences(&model),
        ["No trial was completed, so the study has no answer."]
    );
    assert!(crate::html(&model).contains("not run"));
}

//! Results of generated loads: text, JSON and exit code.
// long: every test reads a result of the same generated load.

mod written_load;

use std::time::Duration;

use clap::Parser;
use waggle_analysis::EndedLoad;
use waggle_convert::Target;
use waggle_load::Interval;
use waggle_results::{FailureKind, TrialEnd, TrialInfo};

use self::written_load::{phase, written_load};
use super::{
    exit,
    follow::outcome::{self, ResultInputs},
    result::{
        conditions,
        render::{Colours, text},
        summary::LoadResult,
    },
    study::{
        planned::{self, PlanInputs},
        run_folders::RunFolders,
    },
};
use crate::{
    arguments::{load::Load, target::ReachedServer},
    output::golden::golden,
    process::exit::Exit,
    trial::{
        generated::{CALM, IntervalSpec, interval},
        so_far::SoFar,
    },
};

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    load: Load,
}

pub(crate) use super::{follow::view::title, study::planned::Planned};

pub(crate) fn plan_of_flags(flags: &[&str]) -> (Load, Planned) {
    let flags = [
        &[
            "load",
            "http://127.0.0.1:8080/hello",
            "--seed",
            "7",
            "-t",
            "1",
        ],
        flags,
    ]
    .concat();
    let flags = Flags::parse_from(flags).load;
    let target = Target::parse(&flags.url).unwrap();
    let reached = ReachedServer {
        address: "127.0.0.1:8080".parse().unwrap(),
        remark: None,
    };
    let inputs = PlanInputs {
        target: &target,
        reached: &reached,
        thresholds: &[],
        search: None,
        folders: &RunFolders::new(None),
    };
    let planned = planned::make_plan(&flags, inputs).unwrap();
    (flags, planned)
}

/// The sums of a load with these intervals.
pub(crate) fn replay(planned: &Planned, intervals: &[Interval]) -> SoFar {
    let mut so_far = SoFar::new(planned.shape.clone());
    for interval in intervals {
        so_far.add(interval, phase(planned, interval));
    }
    so_far
}

/// A generated load that may have ended in another way than it would.
#[derive(Default)]
struct Case<'a> {
    flags: &'a [&'a str],
    intervals: &'a [IntervalSpec],
    interrupted: bool,
    failure: Option<&'a str>,
}

impl Case<'_> {
    fn load(&self, planned: &Planned) -> EndedLoad {
        let mut waiting = 0;
        let intervals: Vec<Interval> = (0..)
            .zip(self.intervals)
            .map(|(index, made)| interval(index, *made, &mut waiting))
            .collect();
        let change = |info: &mut TrialInfo| {
            // Requests that wait at the end are skipped.
            info.totals.skipped = waiting;
            if let Some(reason) = self.failure {
                info.end = TrialEnd::Failed {
                    phase: waggle_results::PhaseName::Measure,
                    reason: reason.to_owned(),
                    log_tail: Vec::new(),
                };
            }
        };
        written_load(planned, &intervals, self.interrupted, change)
    }

    fn result(&self) -> LoadResult {
        let (flags, planned) = plan_of_flags(self.flags);
        let load = self.load(&planned);
        let thresholds =
            conditions::conditions("--threshold", &flags.judged.thresholds, &[]).unwrap();
        let inputs = ResultInputs {
            url: "http://127.0.0.1:8080/hello",
            settings: planned.settings.clone(),
            thresholds: &thresholds,
            remarks: Vec::new(),
            interrupted: self.interrupted,
            intervals: None,
        };
        let mut result = outcome::result(&planned, &load, inputs);
        result.generator.memory_peak_bytes = Some(24 << 20);
        result
    }
}

fn load_result(flags: &[&str], intervals: &[IntervalSpec]) -> LoadResult {
    let case = Case {
        flags,
        intervals,
        ..Case::default()
    };
    case.result()
}

#[test]
fn a_calm_load_is_valid() {
    let flags = [
        "-c",
        "4",
        "-d",
        "3s",
        "--threshold",
        "response_time.p99 < 5ms",
        "--threshold",
        "failed == 0",
    ];
    let result = load_result(&flags, &[CALM; 12]);
    assert_eq!(exit(&result), Exit::Fine, "{:?}", result.verdict_reasons);
    golden("load-closed.txt", &text(&result, Colours::Off));
    let json = serde_json::to_string_pretty(&result).unwrap() + "\n";
    golden("load-closed.json", &json);
}

#[test]
fn a_threshold_that_does_not_hold_is_code_3() {
    let flags = [
        "-c",
        "4",
        "-d",
        "3s",
        "--threshold",
        "response_time.p50 < 100us",
        "--threshold",
        "error_rate < 1%",
        "--threshold",
        "goodput > 5000/s",
    ];
    let failing = IntervalSpec {
        failures: 100,
        ..CALM
    };
    let result = load_result(&flags, &[failing; 12]);
    assert_eq!(
        exit(&result),
        Exit::Threshold,
        "{:?}",
        result.verdict_reasons
    );
    assert_eq!(result.failures[&FailureKind::Status(503)], 1_200);
    assert_eq!(result.statuses["2xx"], 24_000);
    golden("load-thresholds.txt", &text(&result, Colours::Off));
}

#[test]
fn a_server_that_falls_behind_is_overloaded_and_code_4() {
    let flags = [
        "-R",
        "9000",
        "--arrivals",
        "uniform",
        "-c",
        "4",
        "-d",
        "3s",
        "--threshold",
        "failed == 0",
    ];
    let behind = IntervalSpec {
        answers: 2_000,
        late: 250,
        ..CALM
    };
    let result = load_result(&flags, &[behind; 12]);
    assert_eq!(result.verdict, "overloaded", "{:?}", result.verdict_reasons);
    assert_eq!(exit(&result), Exit::NotValid);
    golden("load-overloaded.txt", &text(&result, Colours::Off));
}

#[test]
fn result_without_a_success_has_no_nan() {
    let refused = IntervalSpec {
        answers: 0,
        failures: 40,
        ..CALM
    };
    let result = load_result(&["-c", "4", "-n", "160"], &[refused; 4]);
    assert_eq!(
        (exit(&result), result.verdict.as_str()),
        (Exit::TrialFailed, "failed")
    );
    golden("load-failed.txt", &text(&result, Colours::Off));
    assert!(serde_json::to_string(&result).is_ok_and(|json| !json.contains("NaN")));
}

#[test]
fn interrupt_takes_precedence() {
    let mut result = load_result(&["-c", "4", "-d", "3s"], &[CALM; 3]);
    result.interrupted = true;
    assert_eq!(exit(&result), Exit::Interrupted);
    assert!((result.seconds - 0.75).abs() < 1e-9, "{}", result.seconds);
}

#[test]
fn warm_up_is_left_out() {
    let slow = IntervalSpec { us: 50_000, ..CALM };
    let intervals: Vec<IntervalSpec> = [slow; 4].into_iter().chain([CALM; 8]).collect();
    let result = load_result(&["-c", "4", "-d", "2s", "--warm-up", "1s"], &intervals);
    assert_eq!((result.sent, result.totals.sent), (16_000, 24_000));
    assert_eq!(result.response_time_us.max, Some(5_003));
    assert!((result.goodput_per_s - 8_000.0).abs() < 1e-6);
}

#[test]
fn the_measured_time_is_the_one_asked_for() {
    let check = |asked: &str, seconds: f64| {
        let (_, planned) = plan_of_flags(&["-c", "4", "-d", asked, "--warm-up", "500ms"]);
        let length = planned.study.cells[0].schedule.interval;
        let at_most = planned.warm_up + planned.measure.unwrap();
        // Until the load stops, and one with the last answers.
        let starts = (0..).map(|index| length * index);
        let mut starts: Vec<Duration> = starts.take_while(|start| *start < at_most).collect();
        starts.push(at_most);
        let intervals = (0..).zip(&starts).map(|(index, start)| Interval {
            start: *start,
            length: length
                .min(at_most.saturating_sub(*start))
                .max(Duration::from_nanos(1)),
            ..interval(index, CALM, &mut 0)
        });
        let observed = replay(&planned, &intervals.collect::<Vec<_>>());
        let measured = observed.measured.counts().seconds;
        assert!((measured - seconds).abs() < 1e-6, "{asked}: {measured}");
    };
    check("700ms", 0.7);
    check("1s", 1.0);
    check("1.3s", 1.3);
    check("3.1s", 3.1);
    check("10.1s", 10.1);
}

#[test]
fn intervals_divide_the_measured_time() {
    let check = |flags: &[&str], expected: Duration| {
        let (_, planned) = plan_of_flags(flags);
        let interval = planned.study.cells[0].schedule.interval;
        assert_eq!(interval, expected, "{flags:?}");
    };
    let us = Duration::from_micros;
    check(&["-d", "10s"], us(250_000));
    check(&["-d", "1.1s"], us(220_000));
    check(&["-d", "10s", "--interval", "100ms"], us(100_000));
    check(&["-d", "10ms"], us(10_000));
    // More parts would be shorter than 10 ms.
    check(&["-d", "1.005s", "--interval", "10ms"], us(10_050));
    check(&["-d", "15ms", "--interval", "10ms"], us(15_000));
    check(&["-n", "100"], us(250_000));
}

#[test]
fn a_long_load_has_longer_intervals() {
    let check = |flags: &[&str], expected_ms: u64| {
        let (_, planned) = plan_of_flags(flags);
        let interval = planned.study.cells[0].schedule.interval;
        assert_eq!(interval, Duration::from_millis(expected_ms), "{flags:?}");
    };
    check(&["-d", "40m"], 250);
    check(&["-d", "1h"], 500);
    check(&["-d", "2h"], 1_000);
    check(&["-d", "24h"], 1_000);
    check(&["-d", "24h", "--interval", "10s"], 1_000);
    check(&["-d", "2h", "--interval", "100ms"], 100);
}

#[test]
fn count_that_is_not_reached_is_a_failure() {
    let why = "no connection stood for 20 s, so the load ended after 16000 of 100000 requests";
    let case = Case {
        flags: &["-n", "100000"],
        intervals: &[CALM; 8],
        failure: Some(why),
        ..Case::default()
    };
    let result = case.result();
    assert_eq!(result.verdict_reasons, [format!("failed: {why}")]);
}

#[test]
fn reasons_of_failed_loads() {
    let nothing = IntervalSpec { answers: 0, ..CALM };
    let check = |flags: &[&str], intervals: &[IntervalSpec], interrupted: bool, expected: &str| {
        let case = Case {
            flags,
            intervals,
            interrupted,
            failure: None,
        };
        let expected = format!("failed: {expected}");
        assert_eq!(case.result().verdict_reasons, [expected]);
    };
    let warm = ["-c", "4", "-d", "2s", "--warm-up", "1s"];
    check(
        &warm,
        &[CALM; 2],
        true,
        "the load was ended in its warm-up, nothing was measured",
    );
    let then_nothing = [CALM, CALM, CALM, CALM, nothing, nothing];
    check(
        &warm,
        &then_nothing,
        false,
        "no request was sent in the measured time",
    );
    check(
        &["-R", "1", "-d", "1s"],
        &[nothing; 4],
        false,
        "no request fell due",
    );
    check(
        &["-d", "1s"],
        &[nothing; 4],
        false,
        "no request could be sent",
    );
    let refused = IntervalSpec {
        failures: 3,
        ..nothing
    };
    check(
        &["-d", "1s"],
        &[refused; 1],
        false,
        "no request succeeded: 3 × status 503",
    );
}

#[test]
fn bytes_per_second_are_those_of_the_measured_time() {
    let flags = ["-c", "4", "-d", "1s"];
    // Two intervals after the end, with answers.
    let result = load_result(&flags, &[CALM; 6]);
    assert_eq!(result.bytes_received, 6 * 2_000 * 80);
    assert!((result.bytes_received_per_s - 4.0 * 2_000.0 * 80.0).abs() < 1e-6);
    assert!((result.bytes_sent_per_s - 4.0 * 2_000.0 * 60.0).abs() < 1e-6);
    assert!(text(&result, Colours::Off).contains("(625 KiB/s)"));
}

#[test]
fn conditions_on_bytes_and_client_wait_time() {
    let late = IntervalSpec { late: 20, ..CALM };
    let conditions = [
        ("bytes_received_per_answer < 80B", false),
        ("bytes_received_per_answer < 80.5B", true),
        ("bytes_received_per_s > 600KiB/s", true),
        ("bytes_received_per_s > 10MiB/s", false),
        ("bytes_sent_per_s > 450KiB/s", true),
        ("bytes_sent_per_s > 600KiB/s", false),
        ("client_wait_time.mean > 0us", true),
        ("client_wait_time.mean > 1h", false),
        ("offered > 8000/s", true),
        ("measured_time < 2s", false),
        ("bytes_sent > 1MB", true),
        ("generator.cpu_per_request < 1s", true),
    ];
    let case = Case {
        flags: &["-R", "9000", "-c", "4", "-d", "3s"],
        intervals: &[late; 12],
        ..Case::default()
    };
    let mut load = case.load(&plan_of_flags(case.flags).1);
    load.model.reasons.clear();
    for (text, holds) in conditions {
        let condition = waggle_study::read_threshold(text, &[]).unwrap();
        let outcome = conditions::threshold(&condition, &load);
        assert_eq!((outcome.holds, outcome.reason), (holds, None), "{text}");
    }
}

#[test]
fn the_table_of_times_fits_a_terminal() {
    let flags = ["-R", "9000", "-c", "4", "-d", "3s"];
    let slow = IntervalSpec {
        answers: 15,
        failures: 1,
        us: 12_345_678,
        ..CALM
    };
    let text = text(&load_result(&flags, &[slow; 1]), Colours::Off);
    let rows = text.lines().skip_while(|line| !line.contains("p99.99"));
    for row in rows.take(4) {
        assert!(row.chars().count() <= 80, "{row}");
    }
}

#[test]
fn colours_are_for_terminals() {
    let result = load_result(&["-c", "4", "-d", "3s"], &[CALM; 12]);
    let (on, off) = (text(&result, Colours::On), text(&result, Colours::Off));
    assert!(on.contains("\x1b[") && !off.contains('\x1b'));
}

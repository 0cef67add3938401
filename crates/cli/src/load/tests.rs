//! Results of loads that were made up from a seed: what reaches the screen and what the exit code is.

use std::{
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use clap::Parser;
use waggle_load::{Counts, Failure, Failures, Interval};

use super::{
    arguments::Load,
    exit,
    gather::histogram,
    job::{self, Planned},
    result::{self, Beside},
    summary::{HostFacts, LoadResult},
    target::Target,
    text::{Colours, text},
    watch,
};
use crate::exit::Exit;

const LENGTH: Duration = Duration::from_millis(250);

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    load: Load,
}

/// Requests of one interval.
#[derive(Clone, Copy)]
pub(super) struct Made {
    pub(super) answers: u64,
    pub(super) failures: u64,
    /// Fell due and were not sent in time.
    pub(super) late: u64,
    /// Mean response time in µs.
    pub(super) us: u64,
}

pub(super) const CALM: Made = Made {
    answers: 2_000,
    failures: 0,
    late: 0,
    us: 500,
};

pub(super) fn planned(flags: &[&str]) -> (Load, Planned) {
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
    let planned = job::planned(&flags, &target, "127.0.0.1:8080".parse().unwrap()).unwrap();
    (flags, planned)
}

/// An interval whose books are right.
pub(super) fn interval(index: u64, made: Made, waiting: &mut u64) -> Interval {
    let (mut times, mut lag, mut failed_time) = (histogram(), histogram(), histogram());
    let mut service = histogram();
    let mut sum_us = 0;
    for answer in 0..made.answers {
        // Half of the mean to one and a half of it, and now and then ten times of it.
        let spread = made.us / 2 + (answer * 7_919 + index * 31) % made.us.max(1);
        let us = if answer % 500 == 499 {
            10 * made.us
        } else {
            spread
        };
        sum_us += us;
        times.record(us + *waiting / 10).unwrap();
        service.record(us).unwrap();
        lag.record(2 + answer % 9).unwrap();
    }
    failed_time.record_n(made.us, made.failures).unwrap();
    *waiting += made.late;
    let beside = Duration::from_micros(made.failures * made.us);
    let mut failures = Failures::default();
    if made.failures > 0 {
        failures.add(Failure::Status(503), made.failures);
    }
    let ended = made.answers + made.failures;
    let cpu = Duration::from_micros(5 * ended);
    let mut connect_time = histogram();
    connect_time
        .record_n(90, if index == 0 { 4 } else { 0 })
        .unwrap();
    Interval {
        index,
        start: LENGTH * u32::try_from(index).unwrap(),
        length: LENGTH,
        counts: Counts {
            due: ended + made.late,
            sent: ended,
            succeeded: made.answers,
            failed: made.failures,
            failures,
            connections_open: 4,
            connects: if index == 0 { 4 } else { 0 },
            bytes_sent: 60 * ended,
            bytes_received: 80 * ended,
            engine_cpu: cpu,
            engine_cpu_busiest: cpu,
            engine_wanted_busiest: cpu,
            engine_turns: ended,
            in_flight_time: Duration::from_micros(sum_us) + beside,
            in_flight_beside_ns: i64::try_from(beside.as_nanos()).unwrap(),
            ..Counts::default()
        },
        response_time: times,
        service_time: service,
        failed_time,
        lag,
        steps: Vec::new(),
        connect_time,
        handshake_time: histogram(),
    }
}

fn made(flags: &[&str], intervals: &[Made]) -> LoadResult {
    let (flags, planned) = planned(flags);
    let mut waiting = 0;
    let intervals: Vec<Interval> = (0..)
        .zip(intervals)
        .map(|(index, made)| interval(index, *made, &mut waiting))
        .collect();
    let mut watched = watch::replayed(&planned, &intervals);
    watched.started = UNIX_EPOCH + Duration::from_secs(1_767_323_045);
    // What waited at the end is given up.
    watched.totals.skipped = waiting;
    let beside = Beside {
        url: "http://127.0.0.1:8080/hello",
        thresholds: &flags.judged.thresholds,
        remarks: Vec::new(),
        with_series: false,
        time_bound_us: None,
    };
    let mut result = result::result(&planned, watched, beside);
    result.engine.memory_peak_bytes = Some(24 << 20);
    result.host = HostFacts {
        name: "desk".to_owned(),
        kernel: "6.1.0".to_owned(),
        cpu_model: "A CPU".to_owned(),
        cpus: 4,
        memory_bytes: 8 << 30,
        open_files_max: 1024,
    };
    result
}

/// Compares with a golden file, or writes it where UPDATE_GOLDEN is set.
pub(super) fn golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, expected, "{}", file.display());
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
    let result = made(&flags, &[CALM; 12]);
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
        "error_share < 1%",
        "--threshold",
        "goodput > 5000/s",
    ];
    let failing = Made {
        failures: 100,
        ..CALM
    };
    let result = made(&flags, &[failing; 12]);
    assert_eq!(
        exit(&result),
        Exit::Threshold,
        "{:?}",
        result.verdict_reasons
    );
    assert_eq!(result.failures["status_503"], 1_200);
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
    let behind = Made {
        answers: 2_000,
        late: 250,
        ..CALM
    };
    let result = made(&flags, &[behind; 12]);
    assert_eq!(result.verdict, "overloaded", "{:?}", result.verdict_reasons);
    assert_eq!(exit(&result), Exit::NotValid);
    golden("load-overloaded.txt", &text(&result, Colours::Off));
}

#[test]
fn without_a_success_nothing_is_a_number_that_is_not_one() {
    let refused = Made {
        answers: 0,
        failures: 40,
        ..CALM
    };
    let result = made(&["-c", "4", "-n", "160"], &[refused; 4]);
    assert_eq!(
        (exit(&result), result.verdict.as_str()),
        (Exit::NotValid, "failed")
    );
    golden("load-failed.txt", &text(&result, Colours::Off));
    assert!(serde_json::to_string(&result).is_ok_and(|json| !json.contains("NaN")));
}

#[test]
fn an_interrupt_wins_over_everything() {
    let mut result = made(&["-c", "4", "-d", "3s"], &[CALM; 3]);
    result.interrupted = true;
    assert_eq!(exit(&result), Exit::Interrupted);
    assert!((result.seconds - 0.75).abs() < 1e-9, "{}", result.seconds);
}

#[test]
fn warm_up_is_left_out() {
    let slow = Made { us: 50_000, ..CALM };
    let intervals: Vec<Made> = [slow; 4].into_iter().chain([CALM; 8]).collect();
    let result = made(&["-c", "4", "-d", "2s", "--warm-up", "1s"], &intervals);
    assert_eq!((result.sent, result.totals.sent), (16_000, 24_000));
    assert_eq!(result.response_time_us.max, Some(5_003));
    assert!((result.rate_per_s - 8_000.0).abs() < 1e-6);
}

#[test]
fn colours_are_for_terminals() {
    let result = made(&["-c", "4", "-d", "3s"], &[CALM; 12]);
    let (on, off) = (text(&result, Colours::On), text(&result, Colours::Off));
    assert!(on.contains("\x1b[") && !off.contains('\x1b'));
}

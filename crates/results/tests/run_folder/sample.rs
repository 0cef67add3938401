//! A small run from seeded data, for the tests of this folder.
// long: a value for every field of a run

use std::path::{Path, PathBuf};

use hdrhistogram::Histogram;
use rand::{Rng, SeedableRng, rngs::StdRng};
use waggle_results::{
    AtStartInfo, BacklogRow, CellInfo, ComponentInfo, ConnectingInfo, CountsRow, DelayHistograms,
    DeliveryInfo, FORMAT, FailureCount, FailureKind, FeedInfo, FlowInfo, GeneratorInfo, Host,
    IntervalHistograms, IntervalRow, LedgerInfo, LoadStart, NamedText, PhaseInfo, PhaseName,
    ResourceRow, RunFolder, RunInfo, ScenarioInfo, ScheduleInfo, SessionCounts, SessionsInfo,
    StepCounts, StepInfo, Trial, TrialInfo, TrialKey, TrialWriter,
};
use waggle_spec::{
    Comparison, FeedOrder, LevelKind, LoadKind, Protocol, Restart, Search, Threshold, TimeKind,
    Times, TrialOrder, WarmUpUntil,
};

pub(crate) const STUDY: &str = "study: ingest\n";
pub(crate) const SYSTEM: &str = "system: ingest\n";
pub(crate) const STARTED_UNIX_NS: u64 = 1_767_225_600_250_000_000;
pub(crate) const REQUEST: &str = "put readings, all";
pub(crate) const TAG: &str = "put_readings__all";
pub(crate) const INTERVALS: u32 = 6;
pub(crate) const INTERVAL_S: f64 = 0.25;

pub(crate) fn key(cell: u32, repetition: u32) -> TrialKey {
    TrialKey { cell, repetition }
}

pub(crate) fn run_info() -> RunInfo {
    let level = |value: &str| vec![("connections".to_owned(), value.to_owned())];
    RunInfo {
        format: FORMAT,
        waggle_version: "0.1.0".into(),
        study: "ingest".into(),
        question: "How many readings per second?".into(),
        study_file: "studies/ingest.yaml".into(),
        seed: u64::MAX,
        started_utc: "2026-01-01T00:00:00Z".into(),
        system: "ingest".into(),
        system_summary: "a gateway over its own store".into(),
        components: vec![ComponentInfo {
            name: "gateway".into(),
            version: "waggle-gateway 0.1.0".into(),
            external: Vec::new(),
        }],
        cells: vec![
            CellInfo {
                cell: 1,
                levels: level("1"),
                derived: Vec::new(),
                name: None,
                expect_verdict: None,
                is_sentinel: false,
            },
            CellInfo {
                cell: 2,
                levels: level("10"),
                derived: Vec::new(),
                name: None,
                expect_verdict: None,
                is_sentinel: false,
            },
        ],
        order: vec![key(2, 1), key(1, 1), key(1, 2), key(2, 2)],
        schedule: ScheduleInfo {
            repeat: 2,
            order: TrialOrder::Shuffled,
            warm_up_until: WarmUpUntil::Steady,
            warm_up_timeout_s: 2.0,
            measure_s: 1.0,
            drain_timeout_s: 10.0,
            interval_s: INTERVAL_S,
            max_ci_width: 0.1,
            restart: Restart::EveryTrial,
            ..ScheduleInfo::default()
        },
        thresholds: vec![Threshold {
            text: "delivery.missing == 0".into(),
            metric: vec!["delivery".into(), "missing".into()],
            op: Comparison::Equal,
            value: 0.0,
        }],
        load_model: LoadKind::Closed,
        host: host(),
        records_file: Some("data/host-metrics.lp (1,000 records)".into()),
        delivery_probe: Some("store".into()),
        at_start: Some(AtStartInfo::new("how soon?", &[], [], STUDY)),
        ..RunInfo::default()
    }
}

fn host() -> Host {
    Host {
        name: "bench".into(),
        kernel: "Linux 6.1".into(),
        cpu_model: "Example \"CPU\" µ".into(),
        cpus: 2,
        memory_bytes: 8 << 30,
        open_files_max: 1 << 20,
        load_cpus: vec![0],
        system_cpus: vec![1],
        shared_with_system: true,
        idle_poll: false,
    }
}

pub(crate) fn trial_info(key: TrialKey, position: u32) -> TrialInfo {
    let measured = CountsRow {
        seconds: 1.0,
        ..counts(900)
    };
    TrialInfo {
        phases: vec![
            PhaseInfo {
                phase: PhaseName::Up,
                start_s: -1.5,
                end_s: -0.25,
            },
            PhaseInfo {
                phase: PhaseName::WarmUp,
                start_s: 0.0,
                end_s: 0.5,
            },
            PhaseInfo {
                phase: PhaseName::Measure,
                start_s: 0.5,
                end_s: 1.5,
            },
        ],
        warm_up_steady: Some(true),
        measured,
        totals: CountsRow {
            seconds: 1.5,
            ..counts(1_350)
        },
        generator: Some(GeneratorInfo {
            workers: 1,
            connections_asked: 10,
            connections_open_min: 10,
            ..GeneratorInfo::default()
        }),
        ledger: Some(LedgerInfo {
            sent: 1_350,
            accepted: 1_347,
            unknown: 3,
            delivered: 1_346,
            missing: 1,
            missing_keys: vec![100_000_000_000_000_042],
            ..LedgerInfo::default()
        }),
        delivery: Some(DeliveryInfo {
            probe: "store".into(),
            resolution_ms: 100.0,
            probe_lag_s: 0.0,
            unread: false,
            polls: 15,
            ..DeliveryInfo::default()
        }),
        remarks: vec!["CPU of the generator's busiest worker: 82 %".into()],
        ..TrialInfo::new(key, position, "2026-01-01T00:00:10Z".into())
    }
}

fn counts(sent: u64) -> CountsRow {
    CountsRow {
        seconds: INTERVAL_S,
        due: sent,
        sent,
        succeeded: sent - 3,
        failed: 3,
        in_flight_change: 0,
        records_succeeded: sent - 3,
        bytes_sent: 200 * sent,
        bytes_received: 80 * sent,
        failures: vec![FailureCount {
            kind: FailureKind::Status(503),
            count: 3,
        }],
        ..CountsRow::default()
    }
}

/// The histograms that were written, by interval.
pub(crate) struct Written {
    pub(crate) response_time: Vec<Histogram<u64>>,
    pub(crate) delivery_delay: Histogram<u64>,
}

/// Writes all rows of a trial but does not finish it.
pub(crate) fn write_rows(writer: &mut TrialWriter, seed: u64) -> Written {
    let mut random = StdRng::seed_from_u64(seed);
    writer
        .load_started(&LoadStart {
            name: REQUEST,
            steps: &[],
            intermediate_probes: &[],
            started_unix_ns: STARTED_UNIX_NS,
        })
        .unwrap();
    let mut response_time = Vec::new();
    for index in 0..INTERVALS {
        let start_s = INTERVAL_S * f64::from(index);
        let row = IntervalRow {
            start_s,
            counts: counts(225),
            connections_open: 10,
            ..IntervalRow::default()
        };
        let times: Times<_> = Times::from_fn(|kind| match kind {
            TimeKind::Response => histogram(&mut random, 222, 50_000),
            TimeKind::Service => histogram(&mut random, 222, 40_000),
            TimeKind::Failed => histogram(&mut random, 3, 3_000_000_000),
            _ => histogram(&mut random, 0, 2),
        });
        writer
            .interval(
                &row,
                IntervalHistograms {
                    times: Times::from_fn(|kind| kind.is_of_every_load().then_some(&times[kind])),
                    steps: &[],
                },
            )
            .unwrap();
        response_time.push(times[TimeKind::Response].clone());
        let at_s = start_s + INTERVAL_S;
        let component = "gateway-0".to_owned();
        writer
            .resource(&ResourceRow {
                at_s,
                component,
                cpu_cores: 0.5,
                rss_bytes: 1 << 24,
                threads: 4,
            })
            .unwrap();
        writer
            .backlog(&BacklogRow {
                at_s,
                visible: 200 * u64::from(index + 1),
            })
            .unwrap();
    }
    let delivery_delay = histogram(&mut random, 1_346, 200_000);
    writer.delays(&delays(&delivery_delay)).unwrap();
    Written {
        response_time,
        delivery_delay,
    }
}

/// The delays of a probe that knows only when it saw a record.
pub(crate) fn delays(delivery: &Histogram<u64>) -> DelayHistograms<'_> {
    DelayHistograms {
        delivery,
        earliest: None,
        earliest_end_to_end: None,
        end_to_end: None,
        arrival: None,
    }
}

fn histogram(random: &mut StdRng, count: u32, below: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000, 3).unwrap();
    for _ in 0..count {
        histogram.record(random.random_range(1..below)).unwrap();
    }
    histogram
}

pub(crate) fn create(path: &Path) -> RunFolder {
    RunFolder::create(path, &run_info(), STUDY, SYSTEM).unwrap()
}

/// Writes a whole trial and returns its folder.
pub(crate) fn write_trial(run: &RunFolder, key: TrialKey) -> PathBuf {
    let mut writer = run.begin(key).unwrap();
    write_rows(&mut writer, u64::from(key.cell));
    writer
        .finish(&trial_info(key, run.info().position(key).unwrap()))
        .unwrap()
}

/// Writes a run in which two of four trials are done.
pub(crate) fn write_run(path: &Path) {
    let run = create(path);
    for key in [key(2, 1), key(1, 1)] {
        write_trial(&run, key);
    }
}

/// Names of the steps; the second one is no name of a folder.
pub(crate) const STEPS: [&str; 2] = ["login", "list/orders, all"];

pub(crate) fn scenario_run_info() -> RunInfo {
    RunInfo {
        records_file: None,
        delivery_probe: None,
        scenario: Some(ScenarioInfo {
            name: "shopping".into(),
            file: Some(NamedText {
                name: "shopping.yaml".into(),
                text: "name: shopping\n".into(),
            }),
            steps: STEPS.map(str::to_owned).to_vec(),
            flows: vec![FlowInfo {
                name: "buy".into(),
                weight: 3,
            }],
            feeds: vec![FeedInfo {
                name: "users".into(),
                order: FeedOrder::Once,
                rows: 1_000,
                from: Some("users.csv".into()),
            }],
        }),
        search: Some(Search {
            maximize: LevelKind::Rate,
            conditions: vec![Threshold {
                text: "login.response_time.p99 < 50ms".into(),
                metric: ["login", "response_time", "p99"]
                    .map(str::to_owned)
                    .to_vec(),
                op: Comparison::Less,
                value: 50_000.0,
            }],
            start: 1_000.0,
            min: 0.1,
            max: 1e6,
            precision: 0.05,
            confirmations: 3,
            max_trials: 30,
            max_connections: None,
            operating_points: None,
        }),
        ..run_info()
    }
}

fn step_counts(sent: u64) -> StepCounts {
    StepCounts {
        sent,
        succeeded: sent - 1,
        failed: 1,
        failures: vec![FailureCount {
            kind: FailureKind::NotCaptured,
            count: 1,
        }],
    }
}

fn session_counts(started: u64) -> SessionCounts {
    SessionCounts {
        started,
        completed: started - 2,
        failed: 2,
    }
}

pub(crate) fn scenario_trial_info() -> TrialInfo {
    let step = |name: &str| StepInfo {
        name: name.to_owned(),
        measured: step_counts(400),
        totals: step_counts(600),
    };
    TrialInfo {
        ledger: None,
        delivery: None,
        level: Some(1_410.0),
        steps: STEPS.map(step).to_vec(),
        sessions: Some(SessionsInfo {
            measured: session_counts(400),
            totals: session_counts(600),
        }),
        connecting: Some(ConnectingInfo {
            connects: 60,
            handshakes: 60,
            handshakes_resumed: 50,
            resent: 0,
            protocol: Some(Protocol::Auto),
            http2_connections: Some(40),
            narrow_connections: Some(3),
        }),
        intermediate_probes: Vec::new(),
        ..trial_info(key(2, 1), 1)
    }
}

/// Writes a run of a scenario with one trial; returns the steps' response times by interval.
pub(crate) fn write_scenario_run(path: &Path) -> Vec<[Histogram<u64>; 2]> {
    let run = RunFolder::create(path, &scenario_run_info(), STUDY, SYSTEM).unwrap();
    let mut writer = run.begin(key(2, 1)).unwrap();
    let mut random = StdRng::seed_from_u64(3);
    writer
        .load_started(&LoadStart {
            name: "shopping",
            steps: &STEPS.map(str::to_owned),
            intermediate_probes: &[],
            started_unix_ns: STARTED_UNIX_NS,
        })
        .unwrap();
    let mut written = Vec::new();
    for index in 0..INTERVALS {
        let row = IntervalRow {
            start_s: INTERVAL_S * f64::from(index),
            counts: counts(200),
            connections_open: 10,
            steps: vec![step_counts(100); 2],
            sessions: Some(session_counts(100)),
            ..IntervalRow::default()
        };
        let times = [99, 99].map(|count| histogram(&mut random, count, 50_000));
        let (failed, connect) = (
            histogram(&mut random, 1, 50_000),
            histogram(&mut random, 10, 500),
        );
        let steps = times.each_ref().map(|response_time| {
            Times::from_fn(|kind| match kind {
                TimeKind::Failed => &failed,
                _ => response_time,
            })
        });
        let histograms = IntervalHistograms {
            times: Times::from_fn(|kind| match kind {
                TimeKind::Response => Some(&times[0]),
                TimeKind::Service => Some(&times[0]),
                TimeKind::Failed => Some(&failed),
                TimeKind::Lag => Some(&failed),
                TimeKind::Connect => Some(&connect),
                TimeKind::Handshake => Some(&connect),
                TimeKind::FirstByte => None,
                TimeKind::Session => None,
            }),
            steps: &steps,
        };
        writer.interval(&row, histograms).unwrap();
        written.push(times);
    }
    writer.finish(&scenario_trial_info()).unwrap();
    written
}

pub(crate) fn assert_same_logs(actual: &Trial, expected: &Trial) {
    let all = |trial: &Trial| -> Vec<(f64, Histogram<u64>)> {
        let steps = trial.steps.iter();
        let steps = steps.flat_map(|step| step.iter().map(|(_, log)| log));
        let whole = trial.times.iter().map(|(_, log)| log);
        whole
            .chain(steps)
            .flat_map(|log| log.iter().map(|entry| (entry.start_s, entry.histogram)))
            .collect()
    };
    assert_eq!(all(actual), all(expected));
    assert_eq!(actual.delivery_delay, expected.delivery_delay);
    assert_eq!(actual.arrival_delay, expected.arrival_delay);
}

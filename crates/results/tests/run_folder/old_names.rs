//! Keys, words, files and folders as formats up to 5 have them: each is read under its new name.

use std::{fs, path::Path};

use hdrhistogram::Histogram;
use serde_json::Value;
use waggle_results::{
    BacklogRow, DeliveryInfo, FaultInfo, LevelKind, LoadDropInfo, LoadStart, MachineInfo,
    ProbeInfo, RampUpInfo, RecoveryInfo, ReferenceColumnInfo, ReferenceInfo, ReferenceRowInfo,
    Restart, Run, RunFolder, RunInfo, ScheduleInfo, SearchInfo, SystemMetricInfo, SystemMetricRow,
    TrialInfo, WarmUpUntil,
};

use crate::sample;

/// Paths in `run.json`, each with its last key in formats up to 5; `*` is every entry of a list. Inner ones come first.
const RUN: &[(&str, &str)] = &[
    ("search.maximize", "what"),
    ("search.start", "from"),
    ("search.min", "at_least"),
    ("search.max", "at_most"),
    ("search.confirmations", "confirm"),
    ("search.max_trials", "trials_at_most"),
    ("search.conditions.*.metric", "number"),
    ("search", "find"),
    ("reference.match_on", "by"),
    ("reference.columns.*.metric", "number"),
    ("reference", "published"),
    ("thresholds.*.metric", "number"),
    ("delivery_probe", "delivery_at"),
    ("intermediate_probes", "on_the_way"),
    ("metrics", "watches"),
    ("records_file", "records_from"),
    ("host.idle_poll", "kept_awake"),
    ("schedule.max_ci_width", "noisy_above"),
    ("schedule.restart", "fresh"),
    ("schedule.ramp_up.duration_s", "time_s"),
    ("schedule.ramp_up", "first"),
    ("schedule.recovery.duration_s", "at_most_s"),
    ("schedule.warm_up_timeout_s", "warm_up_at_most_s"),
    ("schedule.drain_timeout_s", "drain_at_most_s"),
];

/// The same of `trial.json`.
const TRIAL: &[(&str, &str)] = &[
    ("faults", "disturbances"),
    ("load_drop.recovery.duration_s", "at_most_s"),
    ("load_drop", "fall"),
    ("machine.cpu_steal", "stolen_share"),
    ("machine.cpu_idle", "idle_share"),
    ("generator.utilization", "busy_share"),
    ("generator.utilization_wanted", "wanted_share"),
    ("generator.run_queue_wait_mean_us", "turn_wait_mean_us"),
    ("generator.capacity_per_s", "possible_per_s"),
    ("generator.in_flight_unexplained", "in_flight_beside"),
    ("generator", "engine"),
    ("delivery.probe_lag_s", "behind_s"),
    ("delivery.drain_time_s", "drained_after_s"),
    ("delivery.probe_cpu_s", "cost_cpu_s"),
    ("intermediate_probes.*.delivery.probe_lag_s", "behind_s"),
    (
        "intermediate_probes.*.delivery.drain_time_s",
        "drained_after_s",
    ),
    ("intermediate_probes.*.delivery.probe_cpu_s", "cost_cpu_s"),
    ("intermediate_probes", "on_the_way"),
];

/// Words of `run.json`.
const WORDS: &[(&str, &str, &str)] = &[
    ("schedule.restart", "every_cell", "cell"),
    ("schedule.warm_up_until", "duration", "time"),
];

#[test]
fn format_5_is_read_as_the_format_of_today() {
    let folder = tempfile::tempdir().unwrap();
    let (now, before) = (folder.path().join("now"), folder.path().join("before"));
    write_all(&now);
    write_all(&before);
    make_old(&before);

    let (now, before) = (Run::read(&now).unwrap(), Run::read(&before).unwrap());
    assert_eq!(
        before.info,
        RunInfo {
            format: 5,
            ..now.info
        }
    );
    let (now, before) = (&now.trials[0], &before.trials[0]);
    let expected = TrialInfo {
        format: 5,
        ..now.info.clone()
    };
    assert_eq!(before.info, expected);
    assert!(!now.metrics.is_empty());
    assert_eq!(before.metrics, now.metrics);
    let probe = |logs: &[waggle_results::ProbeLogs]| {
        let [probe] = logs else {
            panic!("{logs:?}");
        };
        (probe.backlog.clone(), probe.delivery_delay.clone())
    };
    let found = probe(&before.intermediate_probes);
    assert!(found.0.len() == 1 && found.1.is_some());
    assert_eq!(found, probe(&now.intermediate_probes));
}

/// A run with everything whose name changed.
fn write_all(path: &Path) {
    let info = run_info();
    let run = RunFolder::create(path, &info, sample::STUDY, sample::SYSTEM).unwrap();
    let key = sample::key(2, 1);
    let mut writer = run.begin(key).unwrap();
    writer
        .load_started(&LoadStart {
            name: "put",
            steps: &[],
            intermediate_probes: &info.intermediate_probes,
            started_unix_ns: 1,
        })
        .unwrap();
    let (at_s, visible) = (0.5, 7);
    writer
        .intermediate_backlog(0, &BacklogRow { at_s, visible })
        .unwrap();
    let mut delays = Histogram::new(3).unwrap();
    delays.record(1_000).unwrap();
    writer
        .intermediate_delays(0, &sample::delays(&delays))
        .unwrap();
    writer
        .metric(&SystemMetricRow {
            at_s,
            metric: "depth".into(),
            value: 12.0,
        })
        .unwrap();
    writer.finish(&trial_info()).unwrap();
}

fn recovery() -> RecoveryInfo {
    // Formats up to 5 have no control.
    RecoveryInfo {
        control: None,
        level: 100.0,
        p99_us: 250e3,
        duration_s: 30.0,
    }
}

fn run_info() -> RunInfo {
    let whole = sample::run_info();
    let mut host = whole.host;
    host.idle_poll = true;
    RunInfo {
        search: Some(SearchInfo {
            maximize: LevelKind::Connections,
            conditions: whole.thresholds.clone(),
            start: 10.0,
            min: 1.0,
            max: 100.0,
            precision: 0.05,
            confirmations: 3,
            max_trials: 30,
            max_connections: None,
            operating_points: None,
        }),
        intermediate_probes: vec!["broker".into()],
        metrics: vec![SystemMetricInfo {
            comparison: None,
            unit: None,
            name: "depth".into(),
            summary: "what waits".into(),
        }],
        reference: Some(ReferenceInfo {
            title: "Table 1".into(),
            source: "a lab".into(),
            match_on: vec!["connections".into()],
            columns: vec![ReferenceColumnInfo {
                name: "Goodput".into(),
                metric: vec!["put".into(), "goodput".into()],
            }],
            rows: vec![ReferenceRowInfo {
                levels: vec!["1".into()],
                values: vec![Some(1.5)],
            }],
        }),
        schedule: ScheduleInfo {
            warm_up_until: WarmUpUntil::Duration,
            restart: Restart::EveryCell,
            recovery: Some(recovery()),
            ramp_up: Some(RampUpInfo {
                level: 50.0,
                duration_s: 2.5,
            }),
            ..whole.schedule
        },
        host,
        ..whole
    }
}

fn trial_info() -> TrialInfo {
    let mut whole = sample::trial_info(sample::key(2, 1), 1);
    let generator = whole.generator.as_mut().unwrap();
    (generator.utilization, generator.utilization_wanted) = (0.25, 0.5);
    generator.run_queue_wait_mean_us = 1.5;
    generator.capacity_per_s = Some(5e4);
    generator.in_flight_unexplained = -0.5;
    let delivery = DeliveryInfo {
        probe: "broker".into(),
        probe_lag_s: 0.25,
        drain_time_s: Some(0.5),
        probe_cpu_s: Some(0.125),
        ..DeliveryInfo::default()
    };
    TrialInfo {
        delivery: Some(DeliveryInfo {
            probe: "store".into(),
            ..delivery.clone()
        }),
        intermediate_probes: vec![ProbeInfo {
            delivery,
            ..ProbeInfo::default()
        }],
        faults: vec![FaultInfo {
            component: "gateway".into(),
            ..FaultInfo::default()
        }],
        load_drop: Some(LoadDropInfo {
            at_s: 1.5,
            recovery: recovery(),
        }),
        machine: Some(MachineInfo {
            cpu_steal: 0.25,
            cpu_idle: 0.5,
            ..MachineInfo::default()
        }),
        ..whole
    }
}

/// Names everything in a run as format 5 does.
fn make_old(path: &Path) {
    edit(&path.join("run.json"), |run| {
        for (path, new, old) in WORDS {
            let mut renamed = 0;
            visit(run, path, &mut |parent, key| {
                assert_eq!(parent[key], *new, "{path}");
                parent.insert(key.to_owned(), (*old).into());
                renamed += 1;
            });
            assert_eq!(renamed, 1, "{path}");
        }
        rename_keys(run, RUN);
    });
    let trial = path.join("trials/0001-c02-r1");
    edit(&trial.join("trial.json"), |info| rename_keys(info, TRIAL));
    let rows = fs::read_to_string(trial.join("metrics.ndjson")).unwrap();
    let rows = rows.replace("\"metric\":", "\"watch\":");
    fs::write(trial.join("watches.ndjson"), rows).unwrap();
    fs::remove_file(trial.join("metrics.ndjson")).unwrap();
    fs::rename(trial.join("intermediate"), trial.join("on_the_way")).unwrap();
}

fn edit(file: &Path, change: impl Fn(&mut Value)) {
    let mut json = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    change(&mut json);
    json["format"] = 5.into();
    fs::write(file, json.to_string()).unwrap();
}

fn rename_keys(json: &mut Value, keys: &[(&str, &str)]) {
    for (path, old) in keys {
        let mut renamed = 0;
        visit(json, path, &mut |parent, key| {
            let value = parent.remove(key).unwrap();
            parent.insert((*old).to_owned(), value);
            renamed += 1;
        });
        assert!(renamed > 0, "{path} is not there");
    }
}

/// Shows every mapping that has the last key of the path, with that key.
fn visit(
    json: &mut Value,
    path: &str,
    found: &mut dyn FnMut(&mut serde_json::Map<String, Value>, &str),
) {
    match path.split_once('.') {
        Some(("*", rest)) => {
            for entry in json.as_array_mut().unwrap() {
                visit(entry, rest, found);
            }
        }
        Some((key, rest)) => visit(&mut json[key], rest, found),
        None => found(json.as_object_mut().unwrap(), path),
    }
}

/// Failures by kind of a row with one failed request, as formats up to 5 list them: those of requests, and the others.
fn check_failures(listed: &str, own: &str, other: &str) {
    let row = format!(
        r#"{{"start_s":0,"counts":{{"seconds":1,"due":9,"sent":9,"succeeded":8,"failed":1,"skipped":0,"in_flight_change":0,
        "records_succeeded":0,"bytes_sent":0,"bytes_received":0,"failures":[{listed}]}},"in_flight":0,"connections_open":1,
        "engine_cpu_s":0,"engine_cpu_busiest_s":0,"lag_p99_us":0,"in_flight_mean":0,"steps":[]}}"#
    );
    let rows = waggle_results::read_intervals((row.replace('\n', "") + "\n").as_bytes()).unwrap();
    let text = |failures| serde_json::to_string(failures).unwrap();
    let counts = &rows[0].counts;
    assert_eq!(text(&counts.failures), format!("[{own}]"), "{listed}");
    assert_eq!(
        text(&counts.other_failures),
        format!("[{other}]"),
        "{listed}"
    );
}

#[test]
fn failures_of_connections_are_read_apart_from_those_of_requests() {
    let status = r#"{"kind":"status_503","count":1}"#;
    let refused = r#"{"kind":"refused","count":7}"#;
    let handshake = r#"{"kind":"handshake_refused","count":1}"#;
    let rounds = r#"{"kind":"too_many_rounds","count":2}"#;
    check_failures(status, status, "");
    let all = format!("{status},{refused},{handshake},{rounds}");
    check_failures(&all, status, &format!("{refused},{handshake},{rounds}"));
    // A request may end by the handshake of its connection.
    check_failures(handshake, handshake, "");
}

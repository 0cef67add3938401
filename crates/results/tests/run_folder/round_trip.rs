//! What was written is read again without change.

use hdrhistogram::Histogram;
use proptest::prelude::*;
use waggle_results::{
    ControlInfo, CountsRow, DeliveryInfo, GeneratorInfo, GeneratorPartInfo, HistogramLogWriter,
    InspectedCounts, InstantsInfo, IntervalHistograms, IntervalRow, LagInfo, LoadDropInfo,
    LoadStart, MachineInfo, MeasuredRecords, PhaseInfo, PhaseName, RecoveryInfo, ResourceRow, Run,
    RunFolder, RunInfo, ScheduleInfo, TrialEnd, TrialInfo, WriteError, merge_range,
    read_histograms, run_info, trial_info,
};
use waggle_spec::{
    Arrivals, ExpectedVerdict, RampUp, Reference, ReferenceColumn, ReferenceRow, TimeKind, Times,
};

use crate::sample;

#[test]
fn a_trial_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::create(folder.path());
    let mut writer = run.begin(sample::key(1, 2)).unwrap();
    let written = sample::write_rows(&mut writer, 7);
    writer
        .finish(&sample::trial_info(sample::key(1, 2), 3))
        .unwrap();

    let read = Run::read(folder.path()).unwrap();
    assert_eq!(
        (
            &read.info,
            read.study_text.as_str(),
            read.system_text.as_str()
        ),
        (&*run.info(), sample::STUDY, sample::SYSTEM)
    );
    let trial = &read.trials[0];
    assert_eq!(trial.info, sample::trial_info(sample::key(1, 2), 3));
    assert_eq!(
        (
            trial.intervals.len(),
            trial.resources.len(),
            trial.backlog.len()
        ),
        (6, 6, 6)
    );
    assert_eq!(trial.backlog[2].visible, 600);
    assert_eq!(
        trial.delivery_delay.as_ref().unwrap(),
        &written.delivery_delay
    );
    assert!((trial.times[TimeKind::Response].started_unix_s - 1_767_225_600.25).abs() < 1e-3);
    for (index, entry) in trial.times[TimeKind::Response].iter().enumerate() {
        assert_eq!(entry.histogram, written.response_time[index]);
        assert!((entry.start_s - trial.intervals[index].start_s).abs() < 1e-6);
    }
    // The measured phase is that from 0.5 to 1.5 s: the last four of six.
    let mut expected = written.response_time[2].clone();
    for histogram in &written.response_time[3..] {
        expected.add(histogram).unwrap();
    }
    assert_eq!(trial.measured_histograms()[TimeKind::Response], expected);
    assert_eq!(trial.intervals_within(0.5, 1.5).count(), 4);
    assert_eq!(
        merge_range(&trial.times, (9.0, 10.0))[TimeKind::Response].len(),
        0
    );
}

#[test]
fn one_trial_is_read_without_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    sample::write_run(path);
    std::fs::write(path.join("trials/0001-c02-r1/trial.json"), "{").unwrap();
    let check = |key, expected: Option<u32>| {
        let info = trial_info(path, key).unwrap();
        let position = info.as_ref().map(|info| info.position);
        assert_eq!(position, expected, "{key}");
        let trials = Run::read_with_trial(path, key).unwrap().trials;
        let read = trials.first().map(|trial| trial.info.clone());
        assert_eq!((trials.len(), read), (usize::from(info.is_some()), info));
    };
    check(sample::key(1, 1), Some(2));
    // Planned, but without a result; and not planned.
    check(sample::key(1, 2), None);
    check(sample::key(7, 7), None);
    assert!(trial_info(path, sample::key(2, 1)).is_err());
    assert!(Run::read_with_trial(path, sample::key(2, 1)).is_err());
    assert!(Run::read(path).is_err());
}

#[test]
fn the_steps_of_a_scenario_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let written = sample::write_scenario_run(&path);
    let read = Run::read(&path).unwrap();
    assert_eq!(read.info.scenario, sample::scenario_run_info().scenario);
    let trial = &read.trials[0];
    assert_eq!(trial.info, sample::scenario_trial_info());
    assert_eq!(trial.steps.len(), sample::STEPS.len());
    for (step, (logs, name)) in trial.steps.iter().zip(sample::STEPS).enumerate() {
        let histograms: Vec<_> = logs[TimeKind::Response].iter().collect();
        for (interval, entry) in histograms.iter().enumerate() {
            assert_eq!(entry.histogram, written[interval][step], "{name}");
        }
        let mut measured = written[2][step].clone();
        for interval in &written[3..] {
            measured.add(&interval[step]).unwrap();
        }
        assert_eq!(
            merge_range(logs, (0.5, 1.5))[TimeKind::Response],
            measured,
            "{name}"
        );
        assert_eq!(logs[TimeKind::Failed].len(), logs[TimeKind::Service].len());
    }
    assert_eq!(trial.intervals[1].steps[0].succeeded, 99);
    assert_eq!(
        trial.times[TimeKind::Connect].merge_range(0.0, 0.25).len(),
        10
    );
    assert_eq!(trial.times[TimeKind::Handshake].len(), 6);
    assert!(trial.times[TimeKind::FirstByte].is_empty());
    assert!(trial.times[TimeKind::Session].is_empty());
}

#[test]
fn a_trial_that_never_saw_load_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::create(folder.path());
    let end = TrialEnd::Failed {
        phase: PhaseName::Ready,
        reason: "gateway-0 did not become ready in 5 s".into(),
        log_tail: vec!["panic".into()],
    };
    let info = TrialInfo {
        end,
        phases: vec![],
        ..sample::trial_info(sample::key(2, 1), 1)
    };
    run.begin(sample::key(2, 1)).unwrap().finish(&info).unwrap();
    let read = Run::read(folder.path()).unwrap();
    assert_eq!(read.trials[0].info, info);
    assert!(
        read.trials[0].times[TimeKind::Response].is_empty()
            && read.trials[0].delivery_delay.is_none()
    );
    assert_eq!(
        read.trials[0].measured_histograms()[TimeKind::Response].len(),
        0
    );
}

#[test]
fn inspected_answers_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::create(folder.path());
    let mut writer = run.begin(sample::key(2, 1)).unwrap();
    let start = LoadStart {
        name: "list",
        steps: &[],
        intermediate_probes: &[],
        started_unix_ns: 1,
    };
    writer.load_started(&start).unwrap();
    let inspected = InspectedCounts {
        answers: 2,
        body_bytes: 10,
        decoded_bytes: 30,
        items: Some(4),
    };
    let with = |inspected, counts: CountsRow| CountsRow {
        inspected: Some(inspected),
        ..counts
    };
    let mut times = Histogram::new(3).unwrap();
    times.record_n(700, 2).unwrap();
    let empty = Histogram::new(3).unwrap();
    let histograms = IntervalHistograms {
        times: Times::from_fn(|kind| match kind {
            TimeKind::Response => Some(&empty),
            TimeKind::Service => Some(&empty),
            TimeKind::Failed => Some(&empty),
            TimeKind::Lag => Some(&empty),
            TimeKind::Connect => None,
            TimeKind::Handshake => None,
            TimeKind::FirstByte => Some(&times),
            TimeKind::Session => Some(&times),
        }),
        steps: &[],
    };
    let row = IntervalRow {
        start_s: 0.5,
        counts: with(
            inspected,
            CountsRow {
                seconds: 0.25,
                ..CountsRow::default()
            },
        ),
        ..IntervalRow::default()
    };
    writer.interval(&row, histograms).unwrap();
    let info = sample::trial_info(sample::key(2, 1), 1);
    let uncounted = InspectedCounts {
        items: None,
        ..inspected
    };
    let info = TrialInfo {
        measured: with(uncounted, info.measured.clone()),
        ..info
    };
    writer.finish(&info).unwrap();
    let read = Run::read(folder.path()).unwrap();
    let trial = &read.trials[0];
    assert_eq!(trial.info, info);
    assert_eq!(trial.intervals, [row]);
    assert_eq!(trial.measured_histograms()[TimeKind::FirstByte], times);
    assert_eq!(trial.measured_histograms()[TimeKind::Session], times);
}

#[test]
fn what_cpus_did_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let info = TrialInfo {
        machine: Some(MachineInfo {
            cpu_steal: 0.25,
            cpu_idle: 0.5,
            own_cores: Some(0.25),
            system_cores: Some(0.125),
            other_cores: Some(0.5),
        }),
        ..sample::trial_info(sample::key(2, 1), 1)
    };
    let mut of_run = sample::run_info();
    of_run.host.idle_poll = true;
    let run = RunFolder::create(folder.path(), &of_run, sample::STUDY, sample::SYSTEM).unwrap();
    let mut writer = run.begin(sample::key(2, 1)).unwrap();
    sample::write_rows(&mut writer, 7);
    writer.finish(&info).unwrap();
    let read = Run::read(folder.path()).unwrap();
    assert!(read.info.host.idle_poll);
    assert_eq!(read.trials[0].info, info);
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::create(folder.path());
    let mut writer = run.begin(sample::key(2, 1)).unwrap();
    let row = ResourceRow {
        at_s: 1.0,
        component: "a".into(),
        cpu_cores: f64::NAN,
        rss_bytes: 1,
        threads: 1,
    };
    assert!(matches!(
        writer.resource(&row),
        Err(WriteError::Unreadable { .. })
    ));
    let empty = Histogram::new(3).unwrap();
    let histograms = IntervalHistograms {
        times: Times::from_fn(|kind| match kind {
            TimeKind::Response => Some(&empty),
            TimeKind::Service => Some(&empty),
            TimeKind::Failed => Some(&empty),
            TimeKind::Lag => Some(&empty),
            TimeKind::Connect => None,
            TimeKind::Handshake => None,
            TimeKind::FirstByte => None,
            TimeKind::Session => None,
        }),
        steps: &[],
    };
    let refused = writer.interval(&IntervalRow::default(), histograms);
    assert!(
        matches!(refused, Err(WriteError::NotStarted { .. })),
        "{refused:?}"
    );
    let start = LoadStart {
        name: "shopping",
        steps: &["login".to_owned()],
        intermediate_probes: &[],
        started_unix_ns: 1,
    };
    writer.load_started(&start).unwrap();
    let refused = writer.interval(&IntervalRow::default(), histograms);
    assert!(
        matches!(refused, Err(WriteError::Unreadable { .. })),
        "{refused:?}"
    );
}

#[test]
fn reference_results_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let reference = Reference {
        title: "Table 1".into(),
        source: "a lab".into(),
        match_on: vec!["transport".into(), "users".into()],
        columns: vec![ReferenceColumn {
            name: "a".into(),
            metric: vec!["a".into(), "goodput".into()],
        }],
        rows: vec![ReferenceRow {
            levels: vec!["rest".into(), "50".into()],
            values: vec![Some(1.5)],
        }],
    };
    let info = RunInfo {
        reference: Some(reference),
        ..sample::run_info()
    };
    drop(RunFolder::create(folder.path(), &info, sample::STUDY, sample::SYSTEM).unwrap());
    assert_eq!(run_info(folder.path()).unwrap(), info);
}

#[test]
fn the_figures_of_generator_and_probe_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::create(folder.path());
    let whole = sample::trial_info(sample::key(1, 2), 3);
    let info = TrialInfo {
        generator: Some(GeneratorInfo {
            lag: Some(LagInfo {
                p50_us: 1.0,
                p90_us: 2.0,
                p99_us: 3.0,
                p999_us: 4.0,
                max_us: 5.0,
            }),
            arrivals: Arrivals::Uniform,
            in_flight_asked: Some(20.0),
            in_flight_max: Some(40),
            generators: [7, 8]
                .map(|sent| GeneratorPartInfo {
                    sent,
                    utilization: 0.5,
                    ..GeneratorPartInfo::default()
                })
                .to_vec(),
            ..whole.generator.clone().unwrap()
        }),
        delivery: whole.delivery.clone().map(|delivery| DeliveryInfo {
            measured_resolution_ms: Some(50.0),
            measured_probe_lag_s: Some(0.25),
            measured: Some(MeasuredRecords {
                found: 1_000,
                windows: Some(7),
            }),
            instants: Some(InstantsInfo {
                resolution_ns: 1_000,
                ends_delay: true,
            }),
            ..delivery
        }),
        ..whole
    };
    run.begin(sample::key(1, 2)).unwrap().finish(&info).unwrap();
    assert_eq!(Run::read(folder.path()).unwrap().trials[0].info, info);
}

proptest! {
    /// For any order of the middles, and any stretch of time.
    #[test]
    fn a_stretch_of_a_log_has_the_intervals_whose_middle_lies_in_it(
        intervals in prop::collection::vec((0.1..3.0_f64, 0.0..9.0_f64), 0..12),
        from in 0.0..20.0_f64,
        to in 0.0..20.0_f64,
    ) {
        let mut text = Vec::new();
        let mut log = HistogramLogWriter::new(&mut text, 0.0).unwrap();
        let mut histogram = Histogram::new(3).unwrap();
        histogram.record(7).unwrap();
        let mut start = 0.0;
        for (apart, length) in intervals {
            start += apart;
            log.interval("a", (start, length), &histogram).unwrap();
        }
        drop(log);
        let log = read_histograms(&text).unwrap();
        let middles = log.iter().map(|entry| entry.start_s + entry.length_s / 2.0);
        let within = middles.filter(|middle| (from..to).contains(middle)).count();
        prop_assert_eq!(log.merge_range(from, to).len(), within as u64);
    }

    #[test]
    fn any_text_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_histograms(&bytes);
        let _ = waggle_results::read_run_info(&bytes);
        let _ = waggle_results::read_trial_info(&bytes);
        let _ = waggle_results::read_intervals(&bytes);
        let _ = waggle_results::read_resources(&bytes);
        let _ = waggle_results::read_backlog(&bytes);
    }

    #[test]
    fn any_damage_to_a_log_is_read_or_refused(places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = include_bytes!("../golden/trials/0001-c02-r1/response_time.hlog").to_vec();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(log) = read_histograms(&bytes) {
            prop_assert!(log.merge_range(0.0, f64::MAX).len() <= 6 << 40);
        }
    }
}

#[test]
fn questions_and_expectations_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut info = RunInfo {
        asks: vec![vec!["put".into(), "goodput".into()]],
        expect_verdict: Some(ExpectedVerdict::Overloaded),
        ..sample::run_info()
    };
    info.cells[0].name = Some("few".into());
    info.cells[1].expect_verdict = Some(ExpectedVerdict::InstrumentLimited);
    drop(RunFolder::create(folder.path(), &info, sample::STUDY, sample::SYSTEM).unwrap());
    assert_eq!(Run::read(folder.path()).unwrap().info, info);
    let file = folder.path().join("run.json");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("\"instrument-limited\"").count(), 1);
    std::fs::write(&file, text.replace("instrument-limited", "valid")).unwrap();
    assert!(Run::read(folder.path()).is_err());
}

#[test]
fn a_load_that_dropped_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let recovery = RecoveryInfo {
        level: 100.0,
        p99_us: 250e3,
        duration_s: 30.0,
        control: Some(ControlInfo {
            start_s: 2.5,
            end_s: 12.5,
        }),
    };
    let info = RunInfo {
        schedule: ScheduleInfo {
            recovery: Some(recovery),
            ramp_up: Some(RampUp {
                level: 50.0,
                duration: std::time::Duration::from_millis(2_500),
            }),
            ..sample::run_info().schedule
        },
        ..sample::run_info()
    };
    let run = RunFolder::create(folder.path(), &info, sample::STUDY, sample::SYSTEM).unwrap();
    let phase = PhaseInfo {
        phase: PhaseName::Recovery,
        start_s: 3.0,
        end_s: 33.0,
    };
    let trial = TrialInfo {
        phases: vec![phase.clone()],
        load_drop: Some(LoadDropInfo {
            at_s: 3.0,
            recovery,
        }),
        ..sample::trial_info(sample::key(2, 1), 1)
    };
    run.begin(sample::key(2, 1))
        .unwrap()
        .finish(&trial)
        .unwrap();
    let read = Run::read(folder.path()).unwrap();
    assert_eq!(read.info, info);
    assert_eq!(read.trials[0].info, trial);
    assert_eq!(read.trials[0].info.phase(PhaseName::Recovery), Some(&phase));
}

#[test]
fn a_recovery_without_a_control_is_read() {
    let recovery: RecoveryInfo =
        serde_json::from_str(r#"{ "level": 100, "p99_us": 250000, "duration_s": 30 }"#).unwrap();
    assert_eq!(recovery.control, None);
    let text = serde_json::to_string(&recovery).unwrap();
    assert!(!text.contains("control"), "{text}");
}

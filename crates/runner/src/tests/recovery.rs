//! A load that drops after the measured phase: what the engine gets, which phases there are, and what counts as measured.

use std::time::Duration;

use waggle_results::{ControlInfo, LoadDropInfo, PhaseName, RecoveryInfo, TrialEnd};
use waggle_spec::{LoadModel, LoadStage, RampUp, TimeKind};

use super::{
    Bench, STUDY, Then, phases, world,
    world::{Fault, PER_INTERVAL},
};
use crate::run::request::Ended;

/// The study with another load, which drops to a level.
fn bench_with_recovery(load: &str, level: &str) -> Bench {
    falling_with(load, level, "")
}

/// The same with more lines in its schedule.
fn falling_with(load: &str, level: &str, more: &str) -> Bench {
    let closed = "  model: closed\n  connections: ${connections}\n  pipelining: 1\n";
    let measure = "  measure: 2s\n";
    assert!(STUDY.contains(closed) && STUDY.contains(measure));
    let recovery = format!("  recovery: {{ {level}, p99: 250ms, duration: 1500ms }}\n");
    let study = STUDY.replace(closed, load);
    Bench::new_with_study(&study.replace(measure, &format!("{measure}{recovery}{more}")))
}

pub(super) fn open() -> Bench {
    open_with("")
}

fn open_with(more: &str) -> Bench {
    let load = "  model: open\n  rate: 400/s\n  connections: ${connections}\n";
    falling_with(load, "rate: 100/s", more)
}

/// Stages of a load of 3 s that drops, with a margin at the end.
fn stages(levels: [f64; 2]) -> Vec<LoadStage> {
    let times = [3_000, 1_500 + 30_000].map(Duration::from_millis);
    let stage = |target| move |duration| LoadStage { duration, target };
    let levels = levels.into_iter().zip(times);
    levels
        .flat_map(|(target, time)| [Duration::ZERO, time].map(stage(target)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_engine_gets_the_time_of_the_drop() {
    let (bench, fake) = (open(), world(None));
    bench.run(&fake, Then::Nothing).await.0.unwrap();
    for (model, given) in &fake.borrow().models {
        assert!(matches!(model, LoadModel::Open { .. }), "{model:?}");
        assert_eq!(given, &stages([400.0, 100.0]));
    }
    let load = "  model: users\n  think_time: 1s\n  users: 40\n  workers: ${connections}\n";
    let (bench, fake) = (bench_with_recovery(load, "users: 10"), world(None));
    bench.run(&fake, Then::Nothing).await.0.unwrap();
    assert_eq!(fake.borrow().models.len(), 4);
    for (model, given) in &fake.borrow().models {
        assert!(
            matches!(model, LoadModel::Users { users: 40, .. }),
            "{model:?}"
        );
        assert_eq!(given, &stages([40.0, 10.0]));
    }
}

/// The same study with a warm-up that begins at a level.
fn bench_with_ramp_up(load: &str, level: &str) -> Bench {
    let closed = "  model: closed\n  connections: ${connections}\n  pipelining: 1\n";
    let warm_up = "warm_up: 1s";
    assert!(STUDY.contains(closed) && STUDY.contains(warm_up));
    let first = format!("warm_up: {{ duration: 1s, ramp_up: {{ {level}, duration: 500ms }} }}");
    Bench::new_with_study(&STUDY.replace(closed, load).replace(warm_up, &first))
}

/// The rates that the engine gets: levels and milliseconds.
async fn engine_rates(bench: &Bench) -> Vec<Vec<(f64, u128)>> {
    let fake = world(None);
    bench.run(&fake, Then::Nothing).await.0.unwrap();
    let models = &fake.borrow().models;
    let given = |(model, stages): &(LoadModel, Vec<LoadStage>)| match model {
        LoadModel::Open { rate_per_s, .. } if stages.is_empty() => vec![(*rate_per_s, 0)],
        LoadModel::Open { .. } => stages
            .iter()
            .filter(|stage| !stage.duration.is_zero())
            .map(|stage| (stage.target, stage.duration.as_millis()))
            .collect(),
        other => panic!("{other:?}"),
    };
    models.iter().map(given).collect()
}

#[tokio::test(start_paused = true)]
async fn the_engine_gets_the_time_of_the_rise() {
    let load = "  model: open\n  rate: 400/s\n  connections: ${connections}\n";
    let bench = bench_with_ramp_up(load, "rate: 100/s");
    let all = engine_rates(&bench).await;
    assert_eq!(all.len(), 4);
    for given in all {
        // The rest of the warm-up, the measured phase, and the margin.
        assert_eq!(given, [(100.0, 500), (400.0, 500 + 2_000 + 30_000)]);
    }
    let run = bench.results();
    let first = RampUp {
        level: 100.0,
        duration: Duration::from_millis(500),
    };
    assert_eq!(run.info.schedule.ramp_up, Some(first));

    // A load that is lower anyway stays as it is.
    for given in engine_rates(&bench_with_ramp_up(load, "rate: 400/s")).await {
        assert_eq!(given, [(400.0, 0)]);
    }
}

/// A warm-up of a second whose control is the half of it, or the part after a ramp-up of a quarter.
fn bench_with_control(ramp_up: &str) -> Bench {
    let load = "  model: open\n  rate: 400/s\n  connections: ${connections}\n";
    let closed = "  model: closed\n  connections: ${connections}\n  pipelining: 1\n";
    let warm_up = "warm_up: 1s";
    let recovery = "  recovery: { rate: 100/s, p99: 250ms, duration: 1500ms, control: 500ms }\n";
    assert!(STUDY.contains(closed) && STUDY.contains(warm_up));
    let study = STUDY
        .replace(closed, load)
        .replace(warm_up, &format!("warm_up: {{ duration: 1s{ramp_up} }}"))
        .replace("  measure: 2s\n", &format!("  measure: 2s\n{recovery}"));
    Bench::new_with_study(&study)
}

#[tokio::test(start_paused = true)]
async fn the_engine_gets_the_control_and_the_results_have_its_window() {
    let ramp_up = |rate: &str| format!(", ramp_up: {{ rate: {rate}, duration: 250ms }}");
    let rest = (100.0, 1_500 + 30_000);
    // The rest of the warm-up, and the measured phase.
    let cases = [
        (String::new(), vec![(100.0, 500), (400.0, 2_500), rest], 0.0),
        (
            ramp_up("50/s"),
            vec![(50.0, 250), (100.0, 500), (400.0, 2_250), rest],
            0.25,
        ),
        // A ramp-up above the load's level changes nothing.
        (
            ramp_up("500/s"),
            vec![(400.0, 250), (100.0, 500), (400.0, 2_250), rest],
            0.25,
        ),
    ];
    for (ramp_up, expected, start_s) in cases {
        let bench = bench_with_control(&ramp_up);
        for given in engine_rates(&bench).await {
            assert_eq!(given, expected);
        }
        let run = bench.results();
        let control = Some(ControlInfo {
            start_s,
            end_s: start_s + 0.5,
        });
        let recovery = run.info.schedule.recovery.unwrap();
        assert_eq!(recovery.control, control);
        for trial in &run.trials {
            assert_eq!(trial.info.end, TrialEnd::Completed);
            let load_drop = trial.info.load_drop.unwrap();
            assert_eq!((load_drop.at_s, load_drop.recovery), (3.0, recovery));
            let measured = trial.info.phase(PhaseName::Measure).unwrap();
            assert_eq!((measured.start_s, measured.end_s), (1.0, 3.0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_engine_gets_the_control_of_users() {
    let load = "  model: users\n  think_time: 1s\n  users: 40\n  workers: ${connections}\n";
    let bench = falling_with(load, "users: 10, control: 250ms", "");
    let fake = world(None);
    bench.run(&fake, Then::Nothing).await.0.unwrap();
    for (_, stages) in &fake.borrow().models {
        let held = stages.iter().filter(|stage| !stage.duration.is_zero());
        let held: Vec<_> = held
            .map(|stage| (stage.target, stage.duration.as_millis()))
            .collect();
        assert_eq!(held, [(10.0, 250), (40.0, 2_750), (10.0, 31_500)]);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_of_what_comes_behind_it_is_in_the_measured_phase() {
    let (bench, fake) = (open(), world(None));
    let (ended, events) = bench.run(&fake, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let whole = "Up Ready Verify WarmUp Measure Recovery Finish Drain Collect Down";
    assert_eq!(phases(&events)[3], format!("c2 r2: {whole}"));
    let run = bench.results();
    let recovery = RecoveryInfo {
        level: 100.0,
        p99_us: 250e3,
        duration_s: 1.5,
        control: None,
    };
    assert_eq!(run.info.schedule.recovery, Some(recovery));
    for trial in &run.trials {
        let info = &trial.info;
        assert_eq!(info.end, TrialEnd::Completed);
        assert_eq!(
            (info.measured.seconds, info.measured.succeeded),
            (2.0, 8 * PER_INTERVAL)
        );
        let span = |phase| {
            let ran = info.phase(phase).unwrap();
            (ran.start_s, ran.end_s)
        };
        assert_eq!(span(PhaseName::Measure), (1.0, 3.0));
        assert_eq!(span(PhaseName::Recovery), (3.0, 4.5));
        assert_eq!(span(PhaseName::Finish).0, 4.5);
        let at_s = 3.0;
        assert_eq!(info.load_drop, Some(LoadDropInfo { at_s, recovery }));
        assert_eq!(
            trial.measured_histograms()[TimeKind::Response].len(),
            8 * PER_INTERVAL
        );
        let delays = trial.delivery_delay.as_ref().unwrap();
        assert_eq!(delays.len(), 8 * PER_INTERVAL);
        // The ledger includes all records that were sent.
        let ledger = info.ledger.as_ref().unwrap();
        assert_eq!(
            (ledger.sent, ledger.delivered, ledger.missing),
            (18 * PER_INTERVAL, 18 * PER_INTERVAL, 0)
        );
        assert_eq!(trial.intervals_within(3.0, 4.5).count(), 6);
        assert!(info.remarks.is_empty(), "{:?}", info.remarks);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_in_the_recovery_are_not_in_the_times_of_the_measured_phase() {
    let bench = open();
    // The last measured interval, and the load goes on after it.
    let fault = Some(Fault::StallsAt(11, 20));
    bench.run(&world(fault), Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        let times = &trial.measured_histograms()[TimeKind::Response];
        assert_eq!(times.len(), 8 * PER_INTERVAL - 20);
        assert!(times.max() < 2_000);
    }
}

#[tokio::test(start_paused = true)]
async fn late_intervals_are_reported() {
    // The last measured interval comes together with the first after the drop.
    let bench = open();
    let fault = Some(Fault::HandsOverLate(2, 11));
    bench.run(&world(fault), Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        let info = &trial.info;
        assert_eq!(
            (info.end.clone(), info.measured.seconds),
            (TrialEnd::Completed, 2.25)
        );
        let span = |phase| {
            let ran = info.phase(phase).unwrap();
            (ran.start_s, ran.end_s)
        };
        assert_eq!(span(PhaseName::Measure), (1.0, 3.25));
        assert_eq!(span(PhaseName::Recovery), (3.25, 4.5));
        assert_eq!(info.load_drop.unwrap().at_s, 3.0);
        let remark = "intervals arrived late: 0.25 s after the load dropped are counted in the measured phase";
        assert_eq!(info.remarks, [remark]);
    }
    // The first measured interval comes together with the last one of the warm-up.
    let bench = open();
    let fault = Some(Fault::HandsOverLate(2, 3));
    bench.run(&world(fault), Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        let info = &trial.info;
        assert_eq!(
            (info.end.clone(), info.measured.seconds),
            (TrialEnd::Completed, 1.75)
        );
        let measured = info.phase(PhaseName::Measure).unwrap();
        assert_eq!((measured.start_s, measured.end_s), (1.25, 3.0));
        let remark = "intervals arrived late: the first 0.25 s of the measured phase are counted in the warm-up";
        assert_eq!(info.remarks, [remark]);
    }
    // Warm-up and measured phase come as one.
    let bench = open();
    let fault = Some(Fault::HandsOverLate(12, 0));
    bench.run(&world(fault), Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        let TrialEnd::Failed { phase, reason, .. } = &trial.info.end else {
            panic!("{:?}", trial.info.end);
        };
        assert_eq!(*phase, PhaseName::Measure);
        assert_eq!(
            reason,
            "the load dropped before the first measured interval arrived"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_system_that_does_not_recover_is_not_stopped_but_reported() {
    let bench = open_with("  stop_when: [{ error_rate: 50%, for: 500ms }]\n");
    let fault = Some(Fault::Refuses(12));
    bench.run(&world(fault), Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        let info = &trial.info;
        assert_eq!((&info.end, info.stopped), (&TrialEnd::Completed, None));
        let ran = info.phase(PhaseName::Recovery).unwrap();
        assert_eq!((ran.start_s, ran.end_s), (3.0, 4.5));
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_that_ends_before_it_falls_fails_the_trial() {
    let bench = open();
    let fault = Some(Fault::Fails(PhaseName::Measure));
    bench.run(&world(fault), Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        let TrialEnd::Failed { phase, reason, .. } = &trial.info.end else {
            panic!("{:?}", trial.info.end);
        };
        assert_eq!(*phase, PhaseName::Measure);
        assert_eq!(reason, "the load ended before the measured phase was over");
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_that_ends_in_the_recovery_phase_fails_the_trial() {
    let bench = open();
    let fault = Some(Fault::Fails(PhaseName::Recovery));
    bench.run(&world(fault), Then::Nothing).await.0.unwrap();
    for trial in &bench.results().trials {
        let TrialEnd::Failed { phase, reason, .. } = &trial.info.end else {
            panic!("{:?}", trial.info.end);
        };
        assert_eq!(*phase, PhaseName::Recovery);
        assert_eq!(reason, "the load ended before the recovery phase was over");
        let ran = trial.info.phase(PhaseName::Recovery).unwrap();
        assert_eq!((ran.start_s, ran.end_s), (3.0, 3.25));
        assert_eq!(trial.info.measured.succeeded, 8 * PER_INTERVAL);
    }
}

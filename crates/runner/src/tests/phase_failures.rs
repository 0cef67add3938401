//! Each phase fails, hangs, is interrupted, loses its component or panics: the system is always torn down, and the
//! result says what happened.

use waggle_results::{PhaseName, TrialEnd};

use super::{Bench, Then, phases, world, world::Fault};
use crate::{event::Event, run::request::Ended};

const ALL: [PhaseName; 10] = [
    PhaseName::Up,
    PhaseName::Ready,
    PhaseName::Verify,
    PhaseName::WarmUp,
    PhaseName::Measure,
    PhaseName::Finish,
    PhaseName::Drain,
    PhaseName::Collect,
    PhaseName::Down,
    PhaseName::CoolDown,
];

/// The phases of a trial that ends in `last`: tear-down follows, and the pause before the next trial.
fn up_to(last: PhaseName) -> String {
    let before = ALL.into_iter().take_while(|phase| *phase <= last);
    let phases: Vec<String> = before
        .chain([PhaseName::Down, PhaseName::CoolDown])
        .map(|phase| format!("{phase:?}"))
        .collect();
    phases.join(" ")
}

/// A fault in one phase fails every trial there, with this reason.
async fn check(fault: Fault, then: Then, phase: PhaseName, began: PhaseName, reason: &str) {
    let bench = Bench::new();
    let (ended, events) = bench.run(&world(Some(fault)), then).await;
    assert_eq!(ended.unwrap(), Ended::Finished, "{fault:?}");
    assert_eq!(
        phases(&events)[0],
        format!("c1 r1: {}", up_to(began)),
        "{fault:?}"
    );
    let run = bench.results();
    // Before a request was answered, three that fail alike are enough.
    let trials = match phase < PhaseName::Measure {
        true => 3,
        false => 4,
    };
    assert_eq!(run.trials.len(), trials, "{fault:?}");
    for trial in run.trials {
        let TrialEnd::Failed {
            phase: failure_phase,
            reason: failure_reason,
            ..
        } = &trial.info.end
        else {
            panic!("{fault:?} went unnoticed");
        };
        assert_eq!(
            (*failure_phase, failure_reason.as_str()),
            (phase, reason),
            "{fault:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_phase_that_fails_fails_the_trial() {
    let fails = |phase| Fault::Fails(phase);
    let nothing = Then::Nothing;
    check(
        fails(PhaseName::Up),
        nothing,
        PhaseName::Up,
        PhaseName::Up,
        "up failed",
    )
    .await;
    check(
        fails(PhaseName::Ready),
        nothing,
        PhaseName::Ready,
        PhaseName::Ready,
        "ready failed",
    )
    .await;
    let why = "check \"it answers\" does not hold: expected status 200, got 500 with \"\"";
    check(
        fails(PhaseName::Verify),
        nothing,
        PhaseName::Verify,
        PhaseName::Verify,
        why,
    )
    .await;
    // The load was not started, so that no phase of it began.
    let why = "the load cannot be started: cannot start a thread: none is left";
    check(
        fails(PhaseName::WarmUp),
        nothing,
        PhaseName::WarmUp,
        PhaseName::Verify,
        why,
    )
    .await;
    let why = "the load ended before the measured phase was over";
    check(
        fails(PhaseName::Measure),
        nothing,
        PhaseName::Measure,
        PhaseName::Measure,
        why,
    )
    .await;
    check(
        fails(PhaseName::Finish),
        nothing,
        PhaseName::Finish,
        PhaseName::Finish,
        "the load's thread has vanished",
    )
    .await;
    let why =
        "the store cannot be read by probe \"store\": /store/1200/150 was answered with status 503";
    let why = why.to_owned();
    drain_fails(&why).await;
}

/// How far the probe got before its store failed depends on its polls; the rest of the reason does not.
async fn drain_fails(why: &str) {
    let bench = Bench::new();
    bench
        .run(&world(Some(Fault::Fails(PhaseName::Drain))), Then::Nothing)
        .await
        .0
        .unwrap();
    for trial in bench.results().trials {
        let TrialEnd::Failed { phase, reason, .. } = &trial.info.end else {
            panic!("went unnoticed")
        };
        assert_eq!(*phase, PhaseName::Drain);
        let (start, end) = (
            why.split_once("/store").unwrap().0,
            why.split_once("150 ").unwrap().1,
        );
        assert!(
            reason.starts_with(start) && reason.ends_with(end),
            "{reason}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_phase_that_hangs_meets_its_deadline() {
    let nothing = Then::Nothing;
    let cases = [
        (PhaseName::Up, "18"),
        (PhaseName::Ready, "18"),
        (PhaseName::Verify, "16"),
        (PhaseName::WarmUp, "16"),
        (PhaseName::Measure, "17"),
        (PhaseName::Finish, "25"),
    ];
    for (phase, seconds) in cases {
        let why = format!("not done within {seconds} s");
        check(Fault::Hangs(phase), nothing, phase, phase, &why).await;
    }
    // The drain ends with its last poll, which may take longer than the two seconds of the drain.
    let (hangs, phase) = (Fault::Hangs(PhaseName::Drain), PhaseName::Drain);
    let why = "the store cannot be read by probe \"store\": no answer within 10 s";
    check(hangs, nothing, phase, phase, why).await;
}

#[tokio::test(start_paused = true)]
async fn a_hanging_tear_down_is_a_remark_and_a_busy_host_does_not_block() {
    for (phase, remark) in [
        (PhaseName::Down, Some("tear-down took longer than 35 s")),
        (PhaseName::CoolDown, None),
    ] {
        let bench = Bench::new();
        let (ended, events) = bench
            .run(&world(Some(Fault::Hangs(phase))), Then::Nothing)
            .await;
        assert_eq!(ended.unwrap(), Ended::Finished);
        let waits = "the system is not down after 15 s: what does not end or go is waited for, at most 20 s more";
        let mut events = events.iter();
        let is_told =
            events.any(|event| matches!(event, Event::Notice(text) if text.as_str() == waits));
        assert_eq!(is_told, phase == PhaseName::Down);
        for trial in bench.results().trials {
            assert_eq!(trial.info.end, TrialEnd::Completed);
            assert_eq!(trial.info.remarks.first().map(String::as_str), remark);
            let last = trial.info.phases.last().unwrap();
            if last.phase == PhaseName::CoolDown {
                let longest = if phase == PhaseName::CoolDown {
                    4.0
                } else {
                    0.3
                };
                assert!(
                    (last.end_s - last.start_s - longest).abs() <= 0.1,
                    "{last:?}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_component_that_dies_fails_the_trial_with_its_last_words() {
    for phase in &ALL[2..7] {
        let bench = Bench::new();
        let (ended, events) = bench.run(&world(None), Then::Die(*phase)).await;
        assert_eq!(ended.unwrap(), Ended::Finished);
        assert_eq!(phases(&events)[0], format!("c1 r1: {}", up_to(*phase)));
        for trial in bench.results().trials {
            let expected = TrialEnd::Failed {
                phase: *phase,
                reason: "fake-0 ended with exit code 7".to_owned(),
                log_tail: vec!["last words of fake-0".to_owned()],
            };
            assert_eq!(trial.info.end, expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_in_any_phase_tears_down_and_keeps_only_what_is_whole() {
    for phase in ALL {
        let bench = Bench::new();
        let world = world(None);
        let (ended, events) = bench.run(&world, Then::Shutdown(phase)).await;
        assert_eq!(ended.unwrap(), Ended::Interrupted, "{phase:?}");
        let began = phases(&events);
        assert_eq!(began.len(), 1, "{phase:?}");
        assert!(began[0].contains("Down"), "{phase:?}: {}", began[0]);
        assert_eq!(
            world
                .borrow()
                .done
                .iter()
                .filter(|done| *done == "down")
                .count(),
            1,
            "{phase:?}"
        );
        let kept = bench.results().trials.len();
        // Collecting takes no time, so an interrupt finds the trial complete.
        assert_eq!(kept, usize::from(phase >= PhaseName::Collect), "{phase:?}");
        let left = std::fs::read_dir(bench.run_folder().join("trials"))
            .unwrap()
            .count();
        assert_eq!(left, kept, "{phase:?} left something behind");
    }
}

#[test]
fn a_panic_in_a_phase_reaches_the_caller() {
    for phase in [PhaseName::Up, PhaseName::Verify, PhaseName::WarmUp] {
        let panicked = std::panic::catch_unwind(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .unwrap();
            let bench = Bench::new();
            runtime.block_on(async {
                bench
                    .run(&world(Some(Fault::Panics(phase))), Then::Nothing)
                    .await
                    .0
                    .unwrap()
            })
        });
        assert!(panicked.is_err(), "{phase:?}");
    }
}

//! Two versions at the same time: what waits for what, and what happens if one of them fails.

use std::{fs, time::Duration};

use waggle_results::{AddedReason, PhaseName, TrialEnd, TrialInfo};
use waggle_study::{CellVersion, Design, DuetCpus, Version, Versions};

use super::{
    Bench, STUDY, Then,
    world::{Fault, Shared, fake_load::Course},
};
use crate::{event::Event, run::request::Ended};

/// The second cell of the study is the changed version of the first.
fn bench(study: &str) -> Bench {
    let mut bench = Bench::new_with_study(study);
    bench.study.versions = Some(Versions {
        design: Design::Duet(DuetCpus::Shared),
        changes: vec!["connections=2".to_owned()],
    });
    let versions = [(Version::Baseline, 2), (Version::Changed, 1)];
    for (cell, (version, partner)) in bench.study.cells.iter_mut().zip(versions) {
        cell.version = Some(CellVersion { version, partner });
    }
    bench.plan = waggle_study::plan(&bench.study);
    bench
}

fn worlds(faults: [Option<Fault>; 2]) -> [Shared; 2] {
    faults.map(super::world)
}

async fn finish(bench: &Bench, worlds: &[Shared; 2]) -> Vec<Event> {
    let [first, second] = worlds;
    let (ended, events) = bench.run_versions(first, Some(second), Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    events
}

fn infos(bench: &Bench) -> Vec<TrialInfo> {
    let trials = bench.results().trials.into_iter();
    trials.map(|trial| trial.info).collect()
}

fn measured_phase(info: &TrialInfo) -> (f64, f64) {
    let mut phases = info.phases.iter();
    let measure = phases.find(|phase| phase.phase == PhaseName::Measure);
    measure.map(|phase| (phase.start_s, phase.end_s)).unwrap()
}

fn failure(info: &TrialInfo) -> Option<&str> {
    match &info.end {
        TrialEnd::Completed => None,
        TrialEnd::Failed { reason, .. } => Some(reason),
    }
}

#[tokio::test(start_paused = true)]
async fn both_are_loaded_and_measured_at_the_same_time() {
    let (bench, worlds) = (bench(STUDY), worlds([None, None]));
    let events = finish(&bench, &worlds).await;
    let [first, second] = &worlds;
    let (first, second) = (first.borrow(), second.borrow());
    let of_one = ["up", "ready", "verify", "load", "joined", "down"];
    assert_eq!(first.done, of_one.repeat(2));
    assert_eq!(second.done, of_one.repeat(2));
    assert_eq!(first.loads_started, second.loads_started);
    let infos = infos(&bench);
    assert_eq!(infos.len(), 4);
    for info in &infos {
        assert_eq!((failure(info), measured_phase(info)), (None, (1.0, 3.0)));
    }
    // The events of the second are marked.
    let started = |events: &[&Event]| {
        let started = events
            .iter()
            .filter(|event| matches!(event, Event::TrialStarted { .. }));
        started.count()
    };
    let own_events: Vec<&Event> = events.iter().collect();
    let partner = events.iter().filter_map(|event| match event {
        Event::Partner(event) => Some(&**event),
        _ => None,
    });
    assert_eq!(
        (started(&own_events), started(&partner.collect::<Vec<_>>())),
        (2, 2)
    );
    let ended = own_events
        .iter()
        .filter(|event| matches!(event, Event::TrialEnded { .. }));
    assert_eq!(ended.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_steady_warm_up_ends_when_both_are_steady() {
    let study = STUDY.replace("warm_up: 1s", "warm_up: { until: steady, timeout: 10s }");
    let rises = |index: u32| {
        if index < 12 {
            10 * u64::from(index + 1)
        } else {
            130
        }
    };
    for late in [0, 1] {
        let (bench, worlds) = (bench(&study), worlds([None, None]));
        let course = Course {
            requests: rises,
            ..Course::default()
        };
        worlds[late].borrow_mut().course = course;
        finish(&bench, &worlds).await;
        let starts: Vec<(f64, f64)> = infos(&bench).iter().map(measured_phase).collect();
        assert!(starts[0].0 > 3.0, "{starts:?}");
        assert!(
            starts.chunks(2).all(|pair| pair[0] == pair[1]),
            "{starts:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_trial_whose_partner_fails_before_it_was_measured_fails_too() {
    let phases = [
        (PhaseName::Up, true),
        (PhaseName::Ready, true),
        (PhaseName::Verify, true),
        (PhaseName::WarmUp, true),
        (PhaseName::Drain, false),
    ];
    for (phase, is_common) in phases {
        for failing in [0, 1] {
            let bench = bench(&STUDY.replace("repeat: 2", "repeat: 1"));
            let mut faults = [None, None];
            faults[failing] = Some(Fault::Fails(phase));
            let worlds = worlds(faults);
            finish(&bench, &worlds).await;
            let infos = infos(&bench);
            let [own_failure, other] = [failing, 1 - failing].map(|index| failure(&infos[index]));
            assert!(own_failure.is_some(), "{phase:?}");
            let expected =
                is_common.then_some("the trial of the other version, at the same time, has failed");
            assert_eq!(other, expected, "{phase:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_duet_leaves_no_trial_and_half_of_one_runs_again() {
    let (bench, worlds) = (bench(STUDY), worlds([None, None]));
    let [first, second] = &worlds;
    for phase in [PhaseName::Verify, PhaseName::Measure, PhaseName::CoolDown] {
        let stop = Then::ShutdownIn(1, phase);
        let (ended, _) = bench.run_versions(first, Some(second), stop).await;
        assert_eq!(ended.unwrap(), Ended::Interrupted);
        let left = fs::read_dir(bench.run_folder().join("trials"))
            .unwrap()
            .count();
        assert!(matches!(left, 0 | 2), "{phase:?}: {left}");
    }
    finish(&bench, &worlds).await;
    let runs = second.borrow().loads_started.len();
    let finished = fs::read_dir(bench.run_folder().join("trials")).unwrap();
    let mut folders: Vec<_> = finished.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert_eq!(folders.len(), 4);
    fs::remove_dir_all(&folders[2]).unwrap();
    finish(&bench, &worlds).await;
    assert_eq!(second.borrow().loads_started.len(), runs + 1);
    assert_eq!(infos(&bench).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn repetitions_are_added_to_both() {
    let bench = bench(&STUDY.replace("repeat: 2", "repeat: { min: 2, max: 4 }"));
    let worlds = worlds([None, None]);
    let course = |requests| Course {
        requests,
        ..Course::default()
    };
    let uneven = [course(|_| 100), course(|_| 200)];
    worlds[1].borrow_mut().next_courses = uneven.into();
    finish(&bench, &worlds).await;
    let results = bench.results();
    let added = results.info.added.iter();
    let added: Vec<(u32, u32)> = added
        .filter(|added| matches!(added.reason, AddedReason::Wide { .. }))
        .map(|added| (added.key.cell, added.key.repetition))
        .collect();
    assert_eq!(added, [(1, 3), (2, 3), (1, 4), (2, 4)]);
    let all = Duration::from_secs(60);
    assert!(bench.plan.expected < all);
    assert_eq!(results.trials.len(), 8);
}

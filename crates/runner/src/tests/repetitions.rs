//! Which repetitions are added to a plan, and in which order.

use waggle_results::{AddedReason, PhaseName, TrialKey};

use super::{
    Bench, STUDY, Then, world,
    world::{Shared, fake_load::Course},
};
use crate::{event::Event, run::request::Ended};

/// The study with other repetitions.
fn study(repeat: &str) -> String {
    STUDY.replace("repeat: 2", &format!("repeat: {repeat}"))
}

/// Loads by a letter each: `.` as always, `+` twice as many requests, `-` half of them in the second half.
fn make_world(loads: &str) -> Shared {
    let world = world(None);
    let course = |letter: char| Course {
        requests: match letter {
            '.' => |_| 100,
            '+' => |_| 200,
            '-' => |index| if index < 8 { 100 } else { 50 },
            other => panic!("{other}"),
        },
        ..Course::default()
    };
    world.borrow_mut().next_courses = loads.chars().map(course).collect();
    world
}

/// The trials in their order: `c1r1 c2r1`.
pub(super) fn keys(keys: impl IntoIterator<Item = TrialKey>) -> String {
    let keys = keys.into_iter();
    let keys = keys.map(|key| format!("c{}r{}", key.cell, key.repetition));
    keys.collect::<Vec<_>>().join(" ")
}

/// Why trials were added: `w` for a wide interval, the number of the disturbed trial.
fn reasons(bench: &Bench) -> String {
    let results = bench.results();
    let reason = |reason: AddedReason| match reason {
        AddedReason::Wide { width } => width.map_or("?".to_owned(), |_| "w".to_owned()),
        AddedReason::Disturbed { repetition } => repetition.to_string(),
        AddedReason::Sentinel => "s".to_owned(),
    };
    let added = results.info.added.iter().map(|added| reason(added.reason));
    added.collect::<Vec<_>>().join(" ")
}

async fn finish(bench: &Bench, world: &Shared) -> Vec<Event> {
    let (ended, events) = bench.run(world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let results = bench.results();
    let ran = results.trials.iter().map(|trial| trial.info.key);
    assert_eq!(keys(ran), keys(results.info.order.iter().copied()));
    let places = results.trials.iter().map(|trial| trial.info.position);
    assert!(places.eq(1..=u32::try_from(results.trials.len()).unwrap()));
    events
}

async fn check(repeat: &str, loads: &str, order: &str, added: &str) {
    let bench = Bench::new_with_study(&study(repeat));
    finish(&bench, &make_world(loads)).await;
    let ran = keys(bench.results().info.order);
    assert_eq!(
        (ran.as_str(), &*reasons(&bench)),
        (order, added),
        "{repeat} {loads}"
    );
}

const THREE: &str = "c1r1 c2r1 c1r2 c2r2 c1r3 c2r3";

#[tokio::test(start_paused = true)]
async fn cells_with_wide_intervals_get_further_trials() {
    let more = |cells: &str| format!("{THREE} {cells}");
    check("{ min: 3, max: 5 }", "", THREE, "").await;
    // The first cell differs from trial to trial.
    check("{ min: 3, max: 5 }", "..+...", &more("c1r4 c1r5"), "w w").await;
    check("{ min: 3, max: 4 }", "..++..", &more("c1r4 c2r4"), "w w").await;
    // Exactly as many as the study wants.
    check("3", "..+...", THREE, "").await;
    // There is no interval of one trial.
    check("{ min: 1, max: 3 }", "", "c1r1 c2r1 c1r2 c2r2", "? ?").await;
    // It is wide, but not too wide.
    check(
        "{ min: 3, max: 5, max_ci_width: 900% }",
        "..+...",
        THREE,
        "",
    )
    .await;
    // There is no time for more.
    check("{ min: 3, max: 5, max_duration: 10s }", "..+...", THREE, "").await;
}

#[tokio::test(start_paused = true)]
async fn trials_that_the_machine_disturbed_are_replaced() {
    let repeat = "{ min: 3, max: 3, max_ci_width: 900% }";
    let wide = "{ min: 3, max: 4, max_ci_width: 900% }";
    let more = |cells: &str| format!("{THREE} {cells}");
    check(wide, "..-...", &more("c1r4"), "2").await;
    check(wide, "..--..", &more("c1r4 c2r4"), "2 2").await;
    // The replacement is disturbed, too; it is kept like the first one.
    check(wide, "..-...-.", &more("c1r4 c1r5"), "2 4").await;
    check(wide, "..-.-.--", &more("c1r4 c1r5"), "3 4").await;
    check(repeat, "..-...", THREE, "").await;
}

#[tokio::test(start_paused = true)]
async fn a_verdict_that_is_expected_is_not_replaced() {
    let text = study("{ min: 3, max: 4, max_ci_width: 900% }");
    let text = format!("{text}expect_verdict: unsteady\n");
    let bench = Bench::new_with_study(&text);
    finish(&bench, &make_world("------")).await;
    assert_eq!(keys(bench.results().info.order), THREE);
}

#[tokio::test(start_paused = true)]
async fn a_system_that_is_kept_up_has_its_repetitions_one_after_the_other() {
    let text = study("{ min: 3, max: 5 }\n  restart: every_cell");
    let bench = Bench::new_with_study(&text);
    let world = make_world(".+......");
    finish(&bench, &world).await;
    let order = "c1r1 c1r2 c1r3 c1r4 c1r5 c2r1 c2r2 c2r3";
    assert_eq!(keys(bench.results().info.order), order);
    let ups = world
        .borrow()
        .done
        .iter()
        .filter(|done| *done == "up")
        .count();
    assert_eq!(ups, 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_interrupted_continues_with_its_decisions() {
    let text = study("{ min: 3, max: 5 }");
    let whole = Bench::new_with_study(&text);
    let events = finish(&whole, &make_world("..++..")).await;
    let added = events.iter().filter_map(|event| match event {
        Event::TrialsAdded(added) => Some(keys(added.iter().map(|added| added.key))),
        _ => None,
    });
    assert_eq!(added.collect::<Vec<_>>(), ["c1r4 c2r4", "c1r5 c2r5"]);
    let bench = Bench::new_with_study(&text);
    let stop = Then::ShutdownIn(8, PhaseName::Measure);
    let (ended, _) = bench.run(&make_world("..++.."), stop).await;
    assert_eq!(ended.unwrap(), Ended::Interrupted);
    let decided = bench.results().info;
    assert_eq!((decided.order.len(), decided.added.len()), (8, 2));
    let events = finish(&bench, &make_world("")).await;
    let Event::RunStarted {
        trials,
        already_done,
        ..
    } = events[0]
    else {
        panic!("{:?}", events[0]);
    };
    assert_eq!((trials, already_done), (8, 7));
    assert_eq!(bench.results().info.order, whole.results().info.order);
    assert_eq!(bench.results().info.added, whole.results().info.added);
}

/// The sentinel is cell 3.
#[tokio::test(start_paused = true)]
async fn the_sentinel_runs_between_the_others_and_in_added_blocks() {
    let text = study("{ min: 2, max: 4 }\n  sentinel: { every: 2 }");
    let bench = Bench::new_with_study(&text);
    finish(&bench, &make_world(".+.....+....+")).await;
    let order = keys(bench.results().info.order);
    let order = order.split(' ').collect::<Vec<_>>();
    let of_sentinel: Vec<&str> = order
        .iter()
        .copied()
        .filter(|key| key.starts_with("c3"))
        .collect();
    assert_eq!(order[0], "c3r1");
    assert_eq!(order[3], "c3r2");
    let model = waggle_analysis::model(&bench.results());
    assert!(model.cells.iter().all(|cell| cell.cell < 3));
    assert!(model.trials.iter().all(|trial| trial.info.key.cell < 3));
    let drift = model.drift.unwrap().sentinel.unwrap();
    assert_eq!(drift.points.len(), of_sentinel.len());
    let added = bench.results().info.added;
    let is_sentinel = added
        .iter()
        .filter(|addition| addition.reason == AddedReason::Sentinel);
    assert_eq!(is_sentinel.count(), of_sentinel.len() - 3, "{order:?}");
}

//! The order of trials, fixed for ever by a golden file.

use std::{collections::BTreeSet, path::Path, time::Duration};

use waggle_study::{Plan, Study, plan, read_study};

use super::{STUDY, change_text, check_golden, source, system};

fn study(changes: &[(&str, &str)]) -> Study {
    read_study(
        &source("study.yaml", change_text(STUDY, changes)),
        &system(),
    )
    .unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn listing(study: &Study, plan: &Plan) -> String {
    let mut text = format!(
        "seed {}, expected {:?}, at most {:?}\n",
        study.seed, plan.expected, plan.at_most
    );
    for trial in &plan.trials {
        let cell = &study.cells[trial.cell as usize - 1];
        let levels: Vec<_> = cell
            .levels
            .iter()
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        let place = (trial.position, trial.repetition, trial.cell);
        text += &format!(
            "{:>2} repetition {} cell {} {}\n",
            place.0,
            place.1,
            place.2,
            levels.join(" ")
        );
    }
    text
}

#[test]
fn the_order_is_the_same_for_ever() {
    let mut text = String::new();
    for changes in [
        &[][..],
        &[("repeat: 3", "repeat: 2\nseed: 42")],
        &[("repeat: 3", "repeat: 1\n  order: as_listed")],
    ] {
        let study = study(changes);
        text += &listing(&study, &plan(&study));
    }
    check_golden(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/plan.txt"),
        &text,
    );
}

#[test]
fn each_repetition_has_every_cell_once() {
    let study = study(&[("repeat: 3", "repeat: 50")]);
    let plan = plan(&study);
    assert_eq!(plan.trials.len(), 400);
    let orders: BTreeSet<Vec<u32>> = plan
        .trials
        .chunks(8)
        .map(|trials| trials.iter().map(|trial| trial.cell).collect())
        .collect();
    assert!(orders.len() > 45, "repetitions have orders of their own");
    for order in orders {
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 8);
    }
}

#[test]
fn times_add_up() {
    let changes = [
        (
            "factors:\n  connections: [2, 10]\n  pipelining: [1, 4]\n  workers: [1, 2]\n",
            "",
        ),
        ("${connections}", "3"),
        ("${pipelining}", "1"),
        ("repeat: 3", "repeat: 1\n  cool_down: 1s"),
    ];
    let plan = plan(&study(&changes));
    assert_eq!(
        plan.expected,
        Duration::from_millis(800 + 2_000 + 3_000 + 100 + 1_000)
    );
    // ready 30 + warm-up 2 + measure 3 + last answers 5 + drain 10 + cool-down 1 + check 3 + stop 10 + 2
    assert_eq!(plan.at_most, Duration::from_secs(66));
}

#[test]
fn the_time_after_the_load_has_fallen_is_counted() {
    let changes = [
        ("model: closed", "model: open\n  rate: 100/s"),
        ("until: steady, timeout: 2s", "duration: 2s"),
    ];
    let recovery = (
        "measure: 3s",
        "measure: 3s\n  recovery: { rate: 10/s, p99: 250ms, duration: 30s }",
    );
    let before = plan(&study(&changes));
    let after = plan(&study(&[&changes[..], &[recovery]].concat()));
    let all = 24 * Duration::from_secs(30);
    assert_eq!(after.expected, before.expected + all);
    assert_eq!(after.at_most, before.at_most + all);
}

#[test]
fn repetitions_are_added_for_a_time() {
    let planned = |repeat: &str| plan(&study(&[("  repeat: 3\n", repeat)]));
    let fixed = planned("  repeat: 3\n");
    assert_eq!(
        (fixed.trials.len(), fixed.expected_max),
        (24, fixed.expected)
    );
    let default = planned("");
    assert_eq!(default.trials, fixed.trials);
    assert_eq!(default.expected, fixed.expected);
    assert_eq!(default.expected_max, fixed.expected / 3 * 8);
    assert_eq!(default.adding_limit, fixed.expected * 3);
    // Two of a cell may be disturbed and replaced.
    assert_eq!(default.at_most, fixed.at_most / 3 * 10);
    let limit = Duration::from_secs(150);
    let limited = planned("  repeat: { max_duration: 150s }\n");
    assert_eq!((limited.expected_max, limited.adding_limit), (limit, limit));
    // The fewest are run whatever they take.
    let short = planned("  repeat: { max_duration: 1s }\n");
    assert_eq!(short.expected_max, fixed.expected);
}

/// Trials by their cells; the study has eight, and the sentinel is the ninth.
#[test]
fn the_sentinel_is_run_every_so_many_trials() {
    let cells = |every: u32| {
        let text = format!("repeat: 2\n  order: as_listed\n  sentinel: {{ every: {every} }}");
        let mut study = study(&[("repeat: 3", &text)]);
        let without = plan(&study);
        study.add_sentinel();
        assert_eq!(study.cells[8].levels, study.cells[0].levels);
        let plan = plan(&study);
        assert!(plan.expected > without.expected);
        let positions = plan.trials.iter().map(|trial| trial.position);
        assert!(positions.eq(1..=u32::try_from(plan.trials.len()).unwrap()));
        let cells = plan.trials.iter().map(|trial| trial.cell.to_string());
        cells.collect::<String>()
    };
    assert_eq!(cells(3), "91239456978192349567989");
    assert_eq!(cells(8), "9123456789123456789");
    assert_eq!(cells(100), "912345678123456789");
}

#[test]
fn cells_that_are_left_out_change_no_number_of_the_others() {
    let text = "repeat: 1\n  order: as_listed\n  sentinel: { every: 3 }";
    let mut study = study(&[("repeat: 3", text)]);
    study.add_sentinel();
    study.leave_out(&BTreeSet::from([1, 3, 8, 99]));
    let numbers: Vec<u32> = study.cells.iter().map(|cell| cell.number).collect();
    assert_eq!(numbers, [2, 4, 5, 6, 7, 9]);
    // The sentinel is the first cell that is left.
    assert_eq!(study.cells[5].levels, study.cells[0].levels);
    let cells = plan(&study).trials.into_iter().map(|trial| trial.cell);
    assert_eq!(cells.collect::<Vec<_>>(), [9, 2, 4, 5, 9, 6, 7, 9]);
    study.leave_out(&(2..9).collect());
    assert!(study.cells.is_empty());
}

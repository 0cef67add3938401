//! Rows of `cells` crossed with `factors`: which cells there are, in which order, and what each is called.

use waggle_spec::ExpectedVerdict;
use waggle_study::{Study, plan, read_study};

use super::{STUDY, change_text, headlines, source, system};

const FACTORS: &str = "factors:\n  connections: [2, 10]\n  pipelining: [1, 4]\n  workers: [1, 2]\n";

fn study(cells: &str, changes: &[(&str, &str)]) -> Study {
    let changes = [&[(FACTORS, cells)], changes].concat();
    let text = change_text(STUDY, &changes);
    read_study(&source("study.yaml", text), &system())
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// Number, levels and name of each cell.
fn listing(study: &Study) -> Vec<String> {
    let line = |cell: &waggle_study::Cell| {
        let levels = cell.all_levels();
        let levels: Vec<_> = levels
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        let name = cell.short_name.as_deref().unwrap_or("-");
        format!("{} {} | {name}", cell.number, levels.join(" "))
    };
    study.cells.iter().map(line).collect()
}

#[test]
fn every_row_has_every_combination() {
    let study = study(
        "factors:\n  workers: [1, 2]\ncells:\n  - { connections: 2, pipelining: 4 }\n  - { pipelining: 1, connections: 10 }\n",
        &[],
    );
    assert_eq!(study.factors, ["connections", "pipelining", "workers"]);
    let expected = [
        "1 connections=2 pipelining=4 workers=1 | -",
        "2 connections=2 pipelining=4 workers=2 | -",
        "3 connections=10 pipelining=1 workers=1 | -",
        "4 connections=10 pipelining=1 workers=2 | -",
    ];
    assert_eq!(listing(&study), expected);
}

/// A name has the levels of the factors that vary behind it; a verdict is that of all cells of its row.
#[test]
fn names_and_verdicts_of_rows_are_those_of_their_cells() {
    let study = study(
        "cells:\n  - { connections: 2, name: few }\n  - { connections: 10, name: many, expect_verdict: overloaded }\n\
         factors:\n  pipelining: [1, 4]\n  workers: [2]\n",
        &[],
    );
    let expected = [
        "1 connections=2 pipelining=1 workers=2 | few, pipelining=1",
        "2 connections=2 pipelining=4 workers=2 | few, pipelining=4",
        "3 connections=10 pipelining=1 workers=2 | many, pipelining=1",
        "4 connections=10 pipelining=4 workers=2 | many, pipelining=4",
    ];
    assert_eq!(listing(&study), expected);
    let verdicts = study.cells.iter().map(|cell| cell.expect_verdict);
    let overloaded = Some(ExpectedVerdict::Overloaded);
    assert!(verdicts.eq([None, None, overloaded, overloaded]));
}

#[test]
fn the_sentinel_is_the_first_cell_of_the_first_row() {
    let mut study = study(
        "cells:\n  - { connections: 2, name: few }\n  - { connections: 10, name: many }\nfactors:\n  pipelining: [1, 4]\n  workers: [2]\n",
        &[("repeat: 3", "repeat: 2\n  sentinel: { every: 3 }")],
    );
    study.add_sentinel();
    let sentinel = study.sentinel().expect("the study asks for one");
    assert_eq!(
        (sentinel.number, &sentinel.levels),
        (5, &study.cells[0].levels)
    );
    let trials = plan(&study).trials;
    assert_eq!(trials.iter().filter(|trial| trial.cell == 5).count(), 4);
    assert_eq!(trials.len(), 2 * 4 + 4);
}

#[test]
fn every_crossed_cell_has_its_search() {
    let study = study(
        "cells:\n  - { pipelining: 1 }\n  - { pipelining: 4 }\nfactors:\n  workers: [1, 2]\n",
        &[
            ("  connections: ${connections}\n", ""),
            ("  repeat: 3\n", ""),
            (
                "thresholds:",
                "search:\n  maximize: connections\n  conditions: [order.failed == 0]\n  start: 8\n  max_trials: 6\nthresholds:",
            ),
        ],
    );
    assert_eq!(study.cells.len(), 4);
    assert_eq!(plan(&study).trials.len(), 4 * 6);
}

#[test]
fn the_number_of_cells_has_a_limit() {
    let levels: Vec<String> = (1..=5_001).map(|level| level.to_string()).collect();
    let levels = levels.join(", ");
    let cells = format!(
        "cells:\n  - {{ pipelining: 1 }}\n  - {{ pipelining: 4 }}\nfactors:\n  connections: [{levels}]\n"
    );
    let text = change_text(STUDY, &[(FACTORS, &cells)]);
    let mistakes = read_study(&source("study.yaml", text), &system()).unwrap_err();
    let expected = "study.yaml:9:1: the rows of cells and the factors make 10002 cells; expected at most 10000";
    assert_eq!(headlines(&mistakes), [expected]);
}

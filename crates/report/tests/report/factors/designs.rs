//! Derived levels, and rows that are no complete grid: what is shown, and that no more is claimed than the design supports.

use waggle_analysis::{Model, model};
use waggle_report::{csv, markdown};
use waggle_results::{Run, RunInfo};
use waggle_spec::DerivedLevel;

use crate::seeded::Seeded;

/// The report of a seeded grid of three connections and two depths, after a change to what was planned.
fn changed_model(change: impl FnOnce(&mut Run)) -> Model {
    let study = Seeded::plain(
        &[
            ("connections", &["10", "50", "100"]),
            ("pipelining", &["1", "10"]),
        ],
        3,
    );
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("run");
    study.write(&path);
    let mut run = Run::read(&path).expect("what was just written can be read");
    change(&mut run);
    model(&run)
}

/// Gives each cell `n`, its connections times two.
fn add_derived(info: &mut RunInfo) {
    info.derived = vec![DerivedLevel {
        name: "n".to_owned(),
        formula: "${connections} * 2".to_owned(),
        factors: vec!["connections".to_owned()],
    }];
    for cell in &mut info.cells {
        let connections: u32 = cell.levels[0].1.parse().expect("a level is a number");
        cell.derived = vec![("n".to_owned(), (2 * connections).to_string())];
    }
}

#[test]
fn derived_levels_are_shown_and_are_no_factors() {
    let with = changed_model(|run| add_derived(&mut run.info));
    let without = changed_model(|_| {});
    assert_eq!(with.factors, without.factors);
    assert_eq!(with.effects, without.effects);
    assert_eq!(with.curves, without.curves);
    assert_eq!(with.comparisons, without.comparisons);
    assert!(with.effects.is_some() && !with.comparisons.is_empty());
    let text = markdown(&with);
    let caution = "n is computed from connections: what connections does includes what n does.";
    assert!(text.matches(caution).count() >= 2, "{text}");
    assert!(text.contains("derived levels: n = "), "{text}");
    assert!(text.contains("Levels of the cells"), "{text}");
    assert!(!markdown(&without).contains("is computed from"));
    let table = csv(&with);
    let mut lines = table.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let (n, connections) = (column("derived_n"), column("factor_connections"));
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |index: usize| fields[index].parse::<u32>().unwrap();
        assert_eq!(number(n), 2 * number(connections), "{line}");
    }
}

/// Rows such as `{ connections: 10, pipelining: 1 }`, `{ connections: 50, pipelining: 10 }`, …: one cell of the grid is missing.
#[test]
fn an_incomplete_design_has_no_main_effects() {
    let model = changed_model(|run| {
        let last = run.info.cells.pop().unwrap().cell;
        run.info.order.retain(|key| key.cell != last);
        run.trials.retain(|trial| trial.info.key.cell != last);
    });
    assert_eq!(model.effects, None);
    let text = markdown(&model);
    assert!(text.contains("5 of the 6 combinations of levels, so there are no main effects"));
    assert!(!text.contains("## Main effects"));
    // Two depths are compared at the connections that have both.
    for comparison in &model.comparisons {
        for outcome in &comparison.outcomes {
            assert_eq!(outcome.at[0].len(), 3);
            assert_eq!(outcome.at[0][2], waggle_analysis::Found::Nothing);
        }
    }
}

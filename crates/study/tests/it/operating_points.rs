//! Operating points of a search: the trials that they add, and when these run.

use waggle_study::{PlannedTrial, plan};

use super::accepted::read_valid_study;

#[test]
fn operating_points_add_trials_to_those_of_the_search() {
    let check = |points: &str, expected: (&[f64], u32, u32)| {
        let search = format!(
            "search: {{ maximize: rate, conditions: [order.failed == 0], max_trials: 9, operating_points: {points} }}\nthresholds:"
        );
        let study = read_valid_study(&[
            ("model: closed", "model: open"),
            ("  repeat: 3\n", ""),
            ("thresholds:", &search),
        ]);
        let search = study.search.unwrap();
        let points = search.operating_points.as_ref().unwrap();
        assert_eq!(
            (&points.shares[..], points.repeat, search.trials()),
            expected
        );
        assert_eq!((study.repeat, study.repeat_max), (expected.2, expected.2));
    };
    check("{ shares: [50%] }", (&[0.5], 3, 12));
    check(
        "{ shares: [50%, 80%, 100%], repeat: 5 }",
        (&[0.5, 0.8, 1.0], 5, 24),
    );
}

#[test]
fn operating_points_are_after_all_searches_unless_a_cell_keeps_its_system() {
    let search = "search:\n  maximize: rate\n  conditions: [order.failed == 0]\n  max_trials: 4\n  confirmations: 1\n  \
                  operating_points: { shares: [50%, 80%], repeat: 2 }\nthresholds:";
    let check = |schedule: &str, repetitions_of_cells: &[&[u32]]| {
        let study = read_valid_study(&[
            ("model: closed", "model: open"),
            ("  repeat: 3\n", schedule),
            ("thresholds:", search),
        ]);
        let plan = plan(&study);
        assert_eq!(plan.trials.len(), 8 * 8);
        let cells = plan
            .trials
            .chunk_by(|predecessor, next| predecessor.cell == next.cell);
        let repetitions = |trials: &[PlannedTrial]| -> Vec<u32> {
            trials.iter().map(|trial| trial.repetition).collect()
        };
        let all: Vec<Vec<u32>> = cells.map(repetitions).collect();
        assert_eq!(all[..repetitions_of_cells.len()], *repetitions_of_cells);
    };
    let steps: &[u32] = &[1, 2, 3, 4];
    check(
        "  order: as_listed\n",
        &[
            steps,
            steps,
            steps,
            steps,
            steps,
            steps,
            steps,
            steps,
            &[5],
            &[5],
        ],
    );
    check(
        "  order: as_listed\n  restart: every_cell\n",
        &[&[1, 2, 3, 4, 5, 6, 7, 8], &[1, 2, 3, 4, 5, 6, 7, 8]],
    );
}

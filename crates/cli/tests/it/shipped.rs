//! Studies that ship, on real servers: they are run, and their records looked for in the table of their trials.

use std::{collections::BTreeMap, fs};

use crate::{
    desk::{Desk, output_text},
    systems::in_project,
};

/// The columns of a trial by their names.
pub(crate) type Columns = BTreeMap<String, String>;

/// Runs a study quickly in the cells with these levels, and tells of its trials. How well the system does, and how steadily, is a
/// study's finding and no matter of a test.
pub(crate) fn trials_of(study: &str, levels: &[&str]) -> Vec<Columns> {
    let desk = Desk::new();
    let runs = desk.path().join("runs");
    let mut run = in_project(&desk, &["run", study, "--quick", "--runs"]);
    run.arg(&runs);
    run.args(levels.iter().map(|level| format!("--filter={level}")));
    let run = run.output().unwrap();
    desk.report_of(&run);
    let table = fs::read_to_string(desk.run_folder().join("tables.csv")).unwrap();
    let mut rows = table.lines().map(fields);
    let heads = rows.next().unwrap();
    let trials: Vec<Columns> = rows
        .map(|row| heads.iter().cloned().zip(row).collect())
        .collect();
    for trial in &trials {
        assert_ne!(trial["verdict"], "failed", "{}", output_text(&run));
    }
    trials
}

/// The fields of a line, of which those that hold a comma stand in quotes.
pub(crate) fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            _ => fields.last_mut().unwrap().push(letter),
        }
    }
    fields
}

/// A count.
pub(crate) fn number(trial: &Columns, column: &str) -> u64 {
    trial[column].parse().unwrap()
}

/// All that was accepted, and something was, is where it must arrive.
#[track_caller]
pub(crate) fn assert_none_missing(trial: &Columns) {
    let number = |column: &str| number(trial, column);
    assert!(number("records_accepted") > 0, "{trial:?}");
    assert_eq!(number("records_missing"), 0, "{trial:?}");
    assert_eq!(
        number("records_delivered"),
        number("records_accepted"),
        "{trial:?}"
    );
}

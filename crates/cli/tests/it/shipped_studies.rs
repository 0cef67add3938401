//! Shipped studies on real servers: they are run, and the table of their trials is checked for missing records.

use std::{collections::BTreeMap, fs};

use crate::{
    systems::in_project,
    workspace::{Workspace, output_text},
};

/// The columns of a trial by name.
pub(crate) type Columns = BTreeMap<String, String>;

/// Runs a study with `--quick` in the cells with these levels; returns its trials. Tests do not check how fast or steady the
/// system is.
pub(crate) fn trials_of(study: &str, levels: &[&str]) -> Vec<Columns> {
    let workspace = Workspace::new();
    let runs = workspace.path().join("runs");
    let mut run = in_project(&workspace, &["run", study, "--quick", "--runs"]);
    run.arg(&runs);
    run.args(levels.iter().map(|level| format!("--filter={level}")));
    let run = run.output().unwrap();
    workspace.report_of(&run);
    let report = fs::read_to_string(workspace.run_folder().join("report.md")).unwrap();
    // What would be a mark of Markdown is escaped.
    let report = report.replace('\\', "");
    assert!(report.contains("A smoke run (--quick)"), "{report}");
    if let Some(level) = levels.first() {
        let filter = format!("cells (--filter {level}");
        assert!(report.contains(&filter), "{report}");
    }
    let table = fs::read_to_string(workspace.run_folder().join("tables.csv")).unwrap();
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

/// The fields of a line; those with a comma are in quotes.
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

/// The value of a column with a count.
pub(crate) fn number(trial: &Columns, column: &str) -> u64 {
    trial[column].parse().unwrap()
}

/// Checks that there are accepted records, and that all of them were delivered.
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

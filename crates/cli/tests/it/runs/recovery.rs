//! Recovery from the study to the report. The runner's tests with a fake system and clock check when a system has recovered.

use std::fs;

use waggle_results::PhaseName;
use waggle_stats::Recovery;

use crate::{
    shipped_studies::fields,
    workspace::{Parts, Workspace},
};

/// Columns of the only row.
fn columns<const N: usize>(table: &str, names: [&str; N]) -> [String; N] {
    let mut lines = table.lines().map(fields);
    let (heads, row) = (lines.next().unwrap(), lines.next().unwrap());
    names.map(|name| {
        let column = heads.iter().position(|head| head == name);
        row[column.unwrap_or_else(|| panic!("no {name} among {heads:?}"))].clone()
    })
}

#[test]
fn recovery_is_in_every_report() {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        load: "model: open, rate: 200/s, arrivals: uniform, connections: 8",
        measure: "1s",
        ..Parts::default()
    });
    let study = workspace.path().join("study.yaml");
    let text = fs::read_to_string(&study).unwrap();
    let measure = "  measure: 1s\n";
    assert!(text.contains(measure));
    let recovery = "  recovery: { rate: 50/s, p99: 3s, duration: 1s, control: 500ms }\n";
    let text = text.replace(measure, &format!("{measure}{recovery}"));
    fs::write(&study, text + "thresholds: [recovery_time < 1h]\n").unwrap();
    let plan = workspace.output(&["plan", "study.yaml"]);
    let plan = String::from_utf8(plan.stdout).unwrap();
    let shown = "then 50/s for 1 s (control of 0.5 s in the warm-up)";
    assert!(plan.contains(shown), "{plan}");
    let model = workspace.run();
    let trial = &model.trials[0];
    let phase = |name| trial.info.phases.iter().find(|phase| phase.phase == name);
    let (measure, recovery) = (phase(PhaseName::Measure), phase(PhaseName::Recovery));
    let (measure, recovery) = (measure.unwrap(), recovery.unwrap());
    // The time between them is that in which waggle itself waited for a CPU.
    assert!(
        measure.end_s <= recovery.start_s,
        "{measure:?} {recovery:?}"
    );
    let ledger = trial.info.ledger.as_ref().unwrap();
    assert_eq!((ledger.missing, ledger.delivered), (0, ledger.accepted));
    assert!(ledger.accepted > trial.numbers.as_ref().unwrap().counts.succeeded);
    let read = |name: &str| fs::read_to_string(workspace.run_folder().join(name)).unwrap();
    let expected = match trial.recovery.unwrap().outcome {
        Recovery::After(after_s) => ["true".to_owned(), after_s.to_string(), "1".to_owned()],
        Recovery::NotWithin(_) => ["false".to_owned(), String::new(), "1".to_owned()],
        Recovery::NoReference => [String::new(), String::new(), "1".to_owned()],
    };
    let names = ["recovered", "recovery_time_s", "recovery_observed_s"];
    assert_eq!(columns(&read("tables.csv"), names), expected);
    // Half a second of control, in intervals of 250 ms.
    let intervals = columns(&read("tables.csv"), ["recovery_control_intervals"]);
    assert_eq!(intervals, ["2"]);
    assert!(read("report.md").contains("## Recovery"));
    assert_eq!(model.thresholds.len(), 1);
}

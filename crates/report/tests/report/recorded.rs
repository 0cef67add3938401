//! Ten recorded runs of `studies/ingest.yaml` on a machine with two CPUs that did other work at the same time (compilers, and in some
//! of them a second study), with three of the twelve cells: what the report says of them.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{fs, path::Path};

use flate2::read::GzDecoder;
use waggle_analysis::{Conclusion, Decision, Model, model};
use waggle_report::{
    markdown, terminal,
    wording::{answer, conditions, warnings},
};
use waggle_results::Run;

use crate::golden::check;

const RUNS: u32 = 10;
/// All recorded runs.
pub(crate) const RECORDED: [&str; 12] = [
    "busy-01",
    "busy-02",
    "busy-03",
    "busy-04",
    "busy-05",
    "busy-06",
    "busy-07",
    "busy-08",
    "busy-09",
    "busy-10",
    "quiet",
    "beside-others",
];

fn recorded_run(number: u32) -> Model {
    model(&read_recorded(&format!("busy-{number:02}")))
}

pub(crate) fn read_recorded(name: &str) -> Run {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/report/recorded")
        .join(format!("{name}.tar.gz"));
    let folder = tempfile::tempdir().unwrap();
    let archive = fs::File::open(archive).unwrap();
    tar::Archive::new(GzDecoder::new(archive))
        .unpack(folder.path())
        .unwrap();
    Run::read(folder.path()).unwrap()
}

/// What a user sees at the end of the run, and the reasons of the verdicts.
fn words(model: &Model) -> String {
    let mut lines = vec![terminal(model, None)];
    lines.extend(warnings::sentences(model));
    for threshold in &model.thresholds {
        let held = conditions::decision_label(threshold.held);
        lines.push(format!("threshold {}: {held}", threshold.text));
        for cell in &threshold.cells {
            if let Some(reason) = &cell.reason {
                let why = conditions::shortcoming(reason, threshold.unit);
                lines.push(format!("cell {}: {why}", cell.cell));
            }
        }
    }
    lines.extend(answer::sentences(model));
    let page = markdown(model);
    let verdicts = page.split("## Verdicts").nth(1).unwrap();
    lines.push(verdicts.split("\n## ").next().unwrap().trim().to_owned());
    lines.join("\n")
}

/// Nothing was lost, and every p99 is far below its limit: a busy machine widens intervals, and changes nothing of that.
#[test]
fn runs_on_a_busy_machine_are_answered() {
    let mut all = Vec::new();
    for number in 1..=RUNS {
        let model = recorded_run(number);
        assert_eq!(
            model.conclusion(false),
            Conclusion::Answered,
            "run {number}"
        );
        let held = model.thresholds.iter().map(|threshold| threshold.held);
        assert!(held.clone().all(|held| held == Decision::Holds), "{number}");
        all.push(format!("# Run {number}\n\n{}\n", words(&model)));
    }
    check(&all.join("\n"), "recorded.md");
}

/// The same study with six cells, on a machine with nothing else to do, and beside other programs: most trials have a doubt, and the
/// first sentence is about the highest and the lowest cell all the same.
#[test]
fn the_highest_cell_is_the_highest() {
    let check = |name: &str, highest: &str, lowest: &str| {
        let model = model(&read_recorded(name));
        assert_eq!(model.conclusion(false), Conclusion::Answered, "{name}");
        let first = &answer::sentences(&model)[0];
        assert!(first.contains(highest) && first.contains(lowest), "{first}");
    };
    check(
        "quiet",
        "The highest goodput is 528k records per second at connections=50 pipelining=50",
        "the lowest is 3.01k records per second at connections=1 pipelining=1",
    );
    check(
        "beside-others",
        "The highest goodput is at least 538k records per second at connections=50 pipelining=50",
        "the lowest measured is at least 3.50k records per second at connections=1 pipelining=1",
    );
}

/// Where nothing bounds any ratio, the effects are those of the measured values, and that is said; elsewhere it is not.
#[test]
fn effects_that_nothing_bounds_are_said_as_measured() {
    let said = |name: &str| answer::sentences(&model(&read_recorded(name))).join(" ");
    let beside = said("beside-others");
    assert!(beside.contains("Goodput as measured: "), "{beside}");
    assert!(
        beside.contains("pipelining 50 instead of 1: 25.7×"),
        "{beside}"
    );
    assert!(
        beside.contains("leave the ratios of the system itself open"),
        "{beside}"
    );
    let quiet = said("quiet");
    assert!(!quiet.contains("as measured"), "{quiet}");
}

/// A threshold that holds adds its own sentence, and changes nothing else that is said.
#[test]
fn a_threshold_that_holds_changes_no_answer() {
    for name in ["busy-01", "busy-06", "quiet", "beside-others"] {
        let mut run = read_recorded(name);
        let with = model(&run);
        let verdicts =
            |model: &Model| -> Vec<_> { model.cells.iter().map(|cell| cell.verdict).collect() };
        let tables = |model: &Model| terminal(model, None);
        for (place, threshold) in with.thresholds.iter().enumerate() {
            if threshold.held != Decision::Holds {
                continue;
            }
            let removed = run.info.thresholds.remove(place);
            let without = model(&run);
            run.info.thresholds.insert(place, removed);
            let said = answer::sentences(&with);
            for sentence in answer::sentences(&without) {
                assert!(said.contains(&sentence), "{name}: {sentence}\n{said:?}");
            }
            assert_eq!(verdicts(&with), verdicts(&without), "{name}");
            assert_eq!(tables(&with), tables(&without), "{name}");
            assert_eq!(with.conclusion(false), without.conclusion(false), "{name}");
        }
    }
}

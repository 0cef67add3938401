//! The report at its boundary: a seeded run's folder in, numbers, verdicts and texts out.

mod catalogue;
mod checks;
mod compare;
mod delays;
mod factors;
mod golden;
mod history;
mod left_out;
mod machines;
mod numbers;
mod policy;
mod recorded;
mod seeded;
mod simulated_machines;
mod stalls;
mod statements;
mod verdicts;

use seeded::Seeded;
use waggle_analysis::{Model, model};
use waggle_results::Run;

/// What the report says of a made-up study.
fn seeded_model(study: &Seeded) -> Model {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let run = folder.path().join("run");
    study.write(&run);
    model(&Run::read(&run).expect("what was just written can be read"))
}

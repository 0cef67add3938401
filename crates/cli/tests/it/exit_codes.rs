//! The exit code that matches a result. Verdicts depend on the machine that runs the tests; that the exit code matches the
//! results does not.

use std::process::Output;

use serde_json::Value;
use waggle_analysis::{Conclusion, Model};

use crate::workspace::output_text;

/// The exit code of a run on disk.
pub(crate) fn run_code(model: &Model) -> i32 {
    match model.conclusion(false) {
        Conclusion::Answered => 0,
        Conclusion::Failed => 3,
        Conclusion::Open => 4,
        Conclusion::TrialFailed => 5,
    }
}

/// The exit code of a result of `waggle load --json`.
pub(crate) fn load_code(result: &Value) -> i32 {
    if result["interrupted"] == true {
        return 130;
    }
    let thresholds = result["thresholds"].as_array().unwrap();
    let all = |key: &str, wanted: bool| thresholds.iter().all(|threshold| threshold[key] == wanted);
    let verdict = result["verdict"].as_str().unwrap();
    // What a doubt leaves open is known: it counts only if it leaves a threshold undecided.
    let is_doubt = ["instrument-limited", "unsteady"].contains(&verdict) && !thresholds.is_empty();
    let is_fine = ["valid", "contended"].contains(&verdict);
    if result["verdict"] == "failed" {
        let is_shown =
            |threshold: &Value| threshold["holds"] == false && threshold["undecided"] == false;
        return if thresholds.iter().any(is_shown) {
            3
        } else {
            5
        };
    }
    let is_known = (is_fine || is_doubt) && all("undecided", false);
    code(is_known, all("holds", true))
}

/// The exit code of a result of `waggle load --search --json`.
pub(crate) fn find_code(result: &Value) -> i32 {
    let ended = result["ended"].as_str().unwrap();
    let is_unknown = result["fails_at"].is_null()
        || ["instrument-limited", "pool-limited", "silent"].contains(&ended);
    let holds = !result["holds_at"].is_null();
    let is_generators = ended == "instrument-limited" && result["fails_at"].is_null();
    code((holds || !is_unknown) && !is_generators, holds)
}

fn code(is_known: bool, holds: bool) -> i32 {
    match (is_known, holds) {
        (false, _) => 4,
        (true, false) => 3,
        (true, true) => 0,
    }
}

/// The result of `waggle load --json`; checks that the exit code matches it.
#[track_caller]
pub(crate) fn load_result(output: &Output) -> Value {
    let result: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", output_text(output)));
    let code = output.status.code();
    assert_eq!(code, Some(load_code(&result)), "{}", output_text(output));
    result
}

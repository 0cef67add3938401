//! The section of what was killed in mid-trial, and its marks in the charts over time.

use serde_json::{Value, json};

use super::{
    embed::rounded,
    sections::{CLOSE, open},
    table,
};
use crate::tables;
use waggle_analysis::{Model, TrialDisturbed};

/// What was killed; nothing where nothing was.
pub(super) fn section(out: &mut String, model: &Model) {
    let Some(disturbances) = tables::disturbances(model) else {
        return;
    };
    open(
        out,
        "disturbances",
        "Disturbances",
        "Killed on purpose (SIGKILL), with all that it had started, and started again as it was. Whether the system was steady, \
         and whether a backlog grew, is not judged in such a trial; what the kill did to requests and records is what was to be found.",
    );
    table::write(out, &disturbances);
    out.push_str(CLOSE);
}

/// Each as `[replica, killed, ready again]`, in seconds since the start of the load.
pub(super) fn marks(disturbed: &TrialDisturbed) -> Value {
    let at = |seconds: f64| rounded(disturbed.measured_from_s + seconds, 3);
    let each = disturbed.disturbances.iter();
    each.map(|of| json!([of.name(), at(of.killed_s), of.ready_s.map(at)]))
        .collect()
}

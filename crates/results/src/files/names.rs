//! The names of files and folders in a run's folder.

use waggle_spec::TimeKind;

use crate::TrialKey;

pub(crate) const RUN_FILE: &str = "run.json";
pub(crate) const STUDY_FILE: &str = "study.yaml";
pub(crate) const SYSTEM_FILE: &str = "system.yaml";
pub(crate) const TRIALS: &str = "trials";
pub(crate) const TRIAL_FILE: &str = "trial.json";
pub(crate) const INTERVALS: &str = "intervals.ndjson";
pub(crate) const RESOURCES: &str = "resources.ndjson";
pub(crate) const BACKLOG: &str = "backlog.ndjson";
pub(crate) const DELIVERY_DELAY: &str = "delivery_delay.hlog";
pub(crate) const ARRIVAL_DELAY: &str = "arrival_delay.hlog";
pub(crate) const END_TO_END_DELAY: &str = "end_to_end_delay.hlog";
pub(crate) const EARLIEST_DELAY: &str = "earliest_delay.hlog";
/// The same from due.
pub(crate) const EARLIEST_END_TO_END_DELAY: &str = "earliest_end_to_end_delay.hlog";
pub(crate) const METRICS: &str = "metrics.ndjson";
pub(crate) const LOGS: &str = "logs";
pub(crate) const STEPS: &str = "steps";
pub(crate) const INTERMEDIATE: &str = "intermediate";
/// The end of the hidden name of what is not whole yet.
pub(crate) const PARTIAL: &str = ".partial";
/// Most letters of a step's or probe's name in its folder's name.
const LETTERS_MAX: usize = 64;

/// `response_time.hlog`.
pub(crate) fn times_file(kind: TimeKind) -> String {
    format!("{}.hlog", kind.name())
}

/// `0007-c03-r1`.
pub(crate) fn folder_name(key: TrialKey, position: u32) -> String {
    format!("{position:04}-c{:02}-r{}", key.cell, key.repetition)
}

/// `steps/01-login`.
pub(crate) fn step_folder(index: usize, name: &str) -> String {
    numbered_folder(STEPS, index, name)
}

/// `intermediate/01-broker`.
pub(crate) fn probe_folder(index: usize, name: &str) -> String {
    numbered_folder(INTERMEDIATE, index, name)
}

/// `steps/01-login`: a folder's name that every file system accepts, for any name.
fn numbered_folder(folder: &str, index: usize, name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(LETTERS_MAX).map(plain).collect();
    format!("{folder}/{:02}-{name}", index + 1)
}

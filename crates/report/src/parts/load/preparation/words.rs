//! How systems were prepared, in sentences.

use crate::words::format;
use waggle_analysis::{Model, TrialPreparation};
use waggle_results::SnapshotInfo;

/// Which trials share a preparation, and where it came from.
pub(crate) fn sentences(model: &Model) -> Vec<String> {
    let all = || model.trials.iter().flat_map(|trial| &trial.preparation);
    let prepared = all().count();
    let mut sentences = Vec::new();
    let shared = model.trials.len() - prepared.min(model.trials.len());
    if shared > 0 {
        sentences.push(format!(
            "{} of {} trials prepared nothing: they ran on a system that an earlier trial had prepared. Trials that share a \
             preparation also share what is particular to it, and the intervals over them do not contain that.",
            format::count(shared as u64),
            format::count(model.trials.len() as u64)
        ));
    }
    let has_grown = |preparation: &TrialPreparation| {
        preparation
            .loads
            .iter()
            .any(|load| load.info.done_before > 0)
    };
    let grown = all().filter(|preparation| has_grown(preparation)).count();
    if grown > 0 {
        sentences.push(format!(
            "The system grew in {} of {} trials: only what was missing was added to what an earlier level had left.",
            format::count(grown as u64),
            format::count(model.trials.len() as u64)
        ));
    }
    sentences.extend(snapshots(
        all().filter_map(|preparation| preparation.snapshot.as_ref()),
    ));
    sentences
}

fn snapshots<'a>(all: impl Iterator<Item = &'a SnapshotInfo>) -> Option<String> {
    let all: Vec<&SnapshotInfo> = all.collect();
    let reused = all.iter().filter(|snapshot| snapshot.is_reused).count();
    let mut keys: Vec<&str> = all.iter().map(|snapshot| snapshot.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    let oldest = all
        .iter()
        .map(|snapshot| snapshot.made_utc.as_str())
        .min()?;
    Some(format!(
        "Prepared systems that were copies of an earlier snapshot: {} of {}. The oldest was made at {oldest}. Snapshots: {}.",
        format::count(reused as u64),
        format::count(all.len() as u64),
        keys.join(", ")
    ))
}

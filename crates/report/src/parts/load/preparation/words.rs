//! How systems were prepared, in sentences.

use crate::words::format;
use waggle_analysis::{Model, TrialModel};
use waggle_results::SnapshotInfo;

/// Which trials share a preparation, and where it came from.
pub(crate) fn sentences(model: &Model) -> Vec<String> {
    let preparations = || {
        let trials = model.trials.iter();
        trials.flat_map(|trial| &trial.info.preparation)
    };
    let prepared = preparations().count();
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
    let grown = model.trials.iter().filter(|trial| has_grown(trial)).count();
    if grown > 0 {
        sentences.push(format!(
            "The system grew in {} of {} trials: only what was missing was added to what an earlier level had left.",
            format::count(grown as u64),
            format::count(model.trials.len() as u64)
        ));
    }
    sentences.extend(snapshots(
        preparations().filter_map(|preparation| preparation.snapshot.as_ref()),
    ));
    sentences
}

/// Whether something was added to what an earlier trial had left.
fn has_grown(trial: &TrialModel) -> bool {
    let mut fills = trial.info.loads.iter().filter_map(|load| load.fill);
    fills.any(|fill| fill.done_before > 0)
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

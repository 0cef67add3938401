//! Where the verdicts of a cell's trials come from, each kind of cause once.

use waggle_stats::Cause;

use crate::trial::trial_model::TrialModel;

/// A cause, as it was in the trial in which it was clearest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellCause {
    pub cause: Cause,
    /// Trials with a cause of this kind.
    pub trials: usize,
}

/// The most frequent first.
pub(crate) fn over_trials(trials: &[&TrialModel]) -> Vec<CellCause> {
    let mut causes: Vec<CellCause> = Vec::new();
    for cause in trials.iter().flat_map(|trial| &trial.causes) {
        let kind = std::mem::discriminant(cause);
        let known = causes
            .iter_mut()
            .find(|known| std::mem::discriminant(&known.cause) == kind);
        match known {
            Some(known) => {
                known.trials += 1;
                if size(*cause) > size(known.cause) {
                    known.cause = *cause;
                }
            }
            None => causes.push(CellCause {
                cause: *cause,
                trials: 1,
            }),
        }
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.trials));
    causes
}

/// Comparable among causes of one kind.
fn size(cause: Cause) -> f64 {
    match cause {
        Cause::OtherPrograms(used) => used.other_cores.unwrap_or(0.0),
        Cause::BusyCpus(used) | Cause::SharedCpus(used) => used.busy,
        Cause::CpuSteal { share, .. } => share,
        Cause::HaltedCpus { idle } => idle,
        Cause::FullWorker { busy, .. } => busy,
        Cause::WarmingUp { ratio, .. } => ratio,
    }
}

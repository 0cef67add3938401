//! What was killed in mid-trial, how long that took, and what it cost: a cell's figures over its trials.

use waggle_metrics::{Metric, NamedMetric};
use waggle_results::{DisturbanceInfo, FailureKind};
use waggle_stats::Estimate;

use crate::{FindModel, TrialDisturbed, TrialModel, distribution::by_kind, metric};

/// A cell in whose trials something was killed.
#[derive(Debug, Clone, PartialEq)]
pub struct CellDisturbed {
    pub cell: u32,
    /// In the order of their instants; none where no trial of it counts.
    pub kills: Vec<Kill>,
    /// The longest of all trials.
    pub silence_us: Option<Estimate>,
    /// The silence of one trial at least lasted to the end of its measured phase.
    pub silence_to_the_end: bool,
    /// Failed requests of the whole load, over the counted trials, the most frequent kind first.
    pub failed: u64,
    pub failures: Vec<(FailureKind, u64)>,
}

/// One kill over the trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    /// `orders-0`.
    pub replica: String,
    /// From the start of the measured phase.
    pub at_us: Option<Estimate>,
    /// From the kill until it was ready again, the longest of all trials; nothing where it did not come back in one.
    pub ready_after_us: Option<Estimate>,
}

/// Every cell that was disturbed, in the order of the trials. Its figures are of the trials that its other numbers rest on: of a
/// search, those at the highest level that holds, for a kill under less load costs less.
pub(crate) fn cells(trials: &[TrialModel], find: Option<&FindModel>) -> Vec<CellDisturbed> {
    let mut numbers: Vec<u32> = trials
        .iter()
        .filter(|trial| trial.disturbed.is_some())
        .map(|trial| trial.key.cell)
        .collect();
    numbers.dedup();
    let of = |cell: u32| {
        let own = trials.iter().filter(|trial| trial.key.cell == cell);
        let own = own.filter(|trial| find.is_none_or(|find| find.is_at_answer(trial.key)));
        let counted = own.filter(|trial| trial.counts().is_some());
        let counted: Vec<&TrialDisturbed> = counted
            .filter_map(|trial| trial.disturbed.as_ref())
            .collect();
        of_cell(cell, &counted)
    };
    numbers.into_iter().map(of).collect()
}

fn of_cell(cell: u32, counted: &[&TrialDisturbed]) -> CellDisturbed {
    let silences = || counted.iter().map(|trial| trial.silence);
    let lengths: Vec<Option<f64>> = silences().map(|of| Some(of?.us)).collect();
    let longest = NamedMetric::of_all(Metric::LongestWithoutSuccess);
    CellDisturbed {
        cell,
        kills: kills(counted),
        silence_us: metric::estimate_of(&longest, &lengths),
        silence_to_the_end: silences().flatten().any(|silence| silence.to_the_end),
        failed: counted.iter().map(|trial| trial.failed).sum(),
        failures: by_kind(counted.iter().flat_map(|trial| &trial.failures)),
    }
}

/// Each kill of a replica with the same one in the other trials: its first, its second, and so on.
fn kills(counted: &[&TrialDisturbed]) -> Vec<Kill> {
    let mut found: Vec<((String, usize), Vec<&DisturbanceInfo>)> = Vec::new();
    for trial in counted {
        for (place, one) in trial.disturbances.iter().enumerate() {
            let name = one.name();
            let before = trial.disturbances[..place].iter();
            let key = (
                name.clone(),
                before.filter(|other| other.name() == name).count(),
            );
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, same)) => same.push(one),
                None => found.push((key, vec![one])),
            }
        }
    }
    let kill = |((replica, _), same): ((String, usize), Vec<&DisturbanceInfo>)| {
        let at: Vec<f64> = same.iter().map(|one| one.killed_s * 1e6).collect();
        let ready: Vec<Option<f64>> = same
            .iter()
            .map(|one| Some((one.ready_s? - one.killed_s) * 1e6))
            .collect();
        let ready_again = NamedMetric::of_all(Metric::ReadyAgainTime);
        Kill {
            replica,
            at_us: waggle_stats::estimate(&at),
            ready_after_us: metric::estimate_of(&ready_again, &ready),
        }
    };
    found.into_iter().map(kill).collect()
}

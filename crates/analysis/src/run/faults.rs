//! What was done to components in mid-trial, how long that took, and what it cost: the values of a cell over its trials.

use waggle_metrics::{Metric, NamedMetric};
use waggle_results::{FailureKind, FaultInfo};
use waggle_spec::FaultKind;
use waggle_stats::{Estimate, Scale};

use crate::{
    metric::aggregate,
    recording::histogram::by_kind,
    run::search::SearchModel,
    trial::{outage::TrialFaults, trial_model::TrialModel},
};

/// A cell whose trials have faults.
#[derive(Debug, Clone, PartialEq)]
pub struct CellFaults {
    pub cell: u32,
    /// In the order of their instants; none where no trial of it counts.
    pub each: Vec<Fault>,
    /// The longest of all trials.
    pub outage_us: Option<Estimate>,
    /// The outage of one trial at least lasted to the end of its measured phase.
    pub outage_to_the_end: bool,
    /// Failed requests of the whole load, over the counted trials, the most frequent kind first.
    pub failed: u64,
    pub failures: Vec<(FailureKind, u64)>,
    /// The same of connections.
    pub other_failures: Vec<(FailureKind, u64)>,
}

/// One fault over the trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub kind: FaultKind,
    /// What it was of: a replica, `orders-0`, or a component.
    pub name: String,
    /// From the start of the measured phase.
    pub at_us: Option<Estimate>,
    /// From its begin until all was ready again, the longest of all trials; nothing where that did not come in one.
    pub ready_after_us: Option<Estimate>,
}

/// Every cell with faults, in the order of the trials. Its figures are of the trials that its other numbers rest on: of a
/// search, those at the highest level that holds, for a fault under less load costs less.
pub(crate) fn cells(trials: &[TrialModel], search: Option<&SearchModel>) -> Vec<CellFaults> {
    let mut numbers: Vec<u32> = trials
        .iter()
        .filter(|trial| trial.faults.is_some())
        .map(|trial| trial.info.key.cell)
        .collect();
    numbers.dedup();
    let mut cells = Vec::new();
    for cell in numbers {
        let cell_trials = trials.iter().filter(|trial| trial.info.key.cell == cell);
        let cell_trials = cell_trials
            .filter(|trial| search.is_none_or(|search| search.is_at_answer(trial.info.key)));
        let counted = cell_trials.filter(|trial| trial.counts().is_some());
        let counted: Vec<&TrialFaults> =
            counted.filter_map(|trial| trial.faults.as_ref()).collect();
        cells.push(of_cell(cell, &counted));
    }
    cells
}

fn of_cell(cell: u32, counted: &[&TrialFaults]) -> CellFaults {
    let outages = || counted.iter().map(|trial| trial.outage);
    let lengths: Vec<Option<f64>> = outages()
        .map(|trial_outage| Some(trial_outage?.us))
        .collect();
    let longest = NamedMetric::of_all(Metric::LongestOutage);
    CellFaults {
        cell,
        each: faults(counted),
        outage_us: aggregate::estimate_of(&longest, &lengths, Scale::default()),
        outage_to_the_end: outages().flatten().any(|outage| outage.to_the_end),
        failed: counted.iter().map(|trial| trial.failed).sum(),
        failures: by_kind(counted.iter().flat_map(|trial| &trial.failures)),
        other_failures: by_kind(counted.iter().flat_map(|trial| &trial.other_failures)),
    }
}

/// Each fault of a replica with the same one in the other trials: its first, its second, and so on.
fn faults(counted: &[&TrialFaults]) -> Vec<Fault> {
    let mut groups: Vec<((String, usize), Vec<&FaultInfo>)> = Vec::new();
    for trial in counted {
        for (place, fault) in trial.each.iter().enumerate() {
            let name = fault.name();
            let before = trial.each[..place].iter();
            let before = before.filter(|other| other.kind == fault.kind && other.name() == name);
            let key = (format!("{} {name}", fault.kind.name()), before.count());
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, same)) => same.push(fault),
                None => groups.push((key, vec![fault])),
            }
        }
    }
    groups
        .into_iter()
        .filter_map(|(_, same)| fault(&same))
        .collect()
}

/// One fault in each trial.
fn fault(faults: &[&FaultInfo]) -> Option<Fault> {
    let first = faults.first()?;
    let times: Vec<f64> = faults.iter().map(|fault| fault.begun_s * 1e6).collect();
    let ready: Vec<Option<f64>> = faults
        .iter()
        .map(|fault| Some((fault.ready_s? - fault.begun_s) * 1e6))
        .collect();
    let time_to_ready = NamedMetric::of_all(Metric::TimeToReady);
    Some(Fault {
        kind: first.kind,
        name: first.name(),
        at_us: waggle_stats::estimate(&times, Scale::default()),
        ready_after_us: aggregate::estimate_of(&time_to_ready, &ready, Scale::default()),
    })
}

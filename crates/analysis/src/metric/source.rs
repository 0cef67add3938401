//! The parts of a trial that numbers are read from.

use waggle_metrics::NamedMetric;
use waggle_results::{DeliveryInfo, LedgerInfo};

use crate::trial::{
    outage::TrialFaults,
    probe::TrialProbe,
    recovery::TrialRecovery,
    side_load::TrialSideLoad,
    trial_model::{TrialModel, TrialNumbers},
};

/// What numbers are read from: parts of a trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) numbers: Option<&'a TrialNumbers>,
    pub(super) intermediate_probes: &'a [TrialProbe],
    pub(super) ledger: Option<&'a LedgerInfo>,
    pub(super) delivery: Option<&'a DeliveryInfo>,
    pub(super) recovery: Option<TrialRecovery>,
    pub(super) faults: Option<&'a TrialFaults>,
    pub(super) side_loads: &'a [TrialSideLoad],
}

impl<'a> Source<'a> {
    pub(super) fn from_trial(trial: &'a TrialModel) -> Self {
        Self {
            numbers: trial.numbers.as_ref(),
            intermediate_probes: &trial.intermediate_probes,
            ledger: trial.info.ledger.as_ref(),
            delivery: trial.info.delivery.as_ref(),
            recovery: trial.recovery,
            faults: trial.faults.as_ref(),
            side_loads: &trial.side_loads,
        }
    }
}

/// What has the name that a path names.
pub(super) fn find_by_name<'a, T>(
    named: &NamedMetric<'_>,
    all: &'a [T],
    name: impl Fn(&T) -> &String,
) -> Option<&'a T> {
    let path_name = named.of?;
    all.iter().find(|candidate| name(candidate) == path_name)
}

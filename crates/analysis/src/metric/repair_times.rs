//! How long it took until all was well again: after a fault, and after the load dropped.

use waggle_stats::Recovery;

use crate::trial::{outage::TrialFaults, recovery::TrialRecovery};

/// The longest, over several faults; nothing where one did not come to its end.
pub(super) fn time_to_ready_us(faults: &TrialFaults) -> Option<f64> {
    let each = faults.each.iter();
    let each: Option<Vec<f64>> = each
        .map(|fault| Some(fault.ready_s? - fault.begun_s))
        .collect();
    Some(each?.into_iter().reduce(f64::max)? * 1e6)
}

/// Nothing if it had not recovered to the end, or if that is not known.
pub(super) fn recovery_us(recovery: TrialRecovery) -> Option<f64> {
    match recovery.outcome {
        Recovery::After(after_s) => Some(after_s * 1e6),
        Recovery::NotWithin(_) | Recovery::NoReference => None,
    }
}

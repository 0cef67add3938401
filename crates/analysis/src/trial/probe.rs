//! Probes on the records' way to where they must arrive: of one trial.

use waggle_results::{DeliveryInfo, LedgerInfo};

use crate::recording::{
    delays::{DelayLogs, Delays},
    trial_view::TrialView,
};

/// One intermediate probe, in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialProbe {
    pub name: String,
    pub ledger: LedgerInfo,
    pub delivery: DeliveryInfo,
    pub delays: Delays,
    /// Most records that were accepted and not yet visible there at one look of the measured phase.
    pub backlog_max: Option<f64>,
}

/// The intermediate probes of one trial.
pub(crate) fn of_trial(view: &TrialView<'_>) -> Vec<TrialProbe> {
    let TrialView {
        trial,
        accepted,
        measured,
        ..
    } = view;
    let mut probes = Vec::new();
    let infos = trial.info.intermediate_probes.iter();
    for (info, logs) in infos.zip(&trial.intermediate_probes) {
        probes.push(TrialProbe {
            name: info.delivery.probe.clone(),
            ledger: info.ledger.clone(),
            delivery: info.delivery.clone(),
            delays: DelayLogs::of_intermediate_probe(&info.delivery, logs).percentiles(),
            backlog_max: accepted.waiting_max(&logs.backlog, *measured),
        });
    }
    probes
}

/// The longest time that a record of the measured phase may have been visible before it was seen.
pub(crate) fn resolution_us(delivery: &DeliveryInfo) -> f64 {
    let known = delivery.measured_resolution_ms;
    known.unwrap_or(delivery.resolution_ms) * 1e3
}

//! Probes on the records' way to where they must arrive: of one trial.

use waggle_results::{DeliveryInfo, LedgerInfo};

use crate::recording::{
    delays::{DelayLogs, DelaySource},
    histogram::TrialPercentiles,
    trial_view::TrialView,
};

/// One intermediate probe, in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialProbe {
    pub name: String,
    pub ledger: LedgerInfo,
    pub delivery: DeliveryInfo,
    /// How the delays are known.
    pub source: DelaySource,
    /// From sent until visible there.
    pub delay: Option<TrialPercentiles>,
    /// From sent until it may have been visible there; `None`: not noted.
    pub earliest: Option<TrialPercentiles>,
    /// From due until visible there; `None` if requests fall due when they are sent.
    pub end_to_end: Option<TrialPercentiles>,
    /// From due until it may have been visible there.
    pub earliest_end_to_end: Option<TrialPercentiles>,
    /// From sent until its store had it; `None` if the probe does not know that.
    pub arrival: Option<TrialPercentiles>,
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
        let delays = DelayLogs::of_intermediate_probe(&info.delivery, logs).percentiles();
        probes.push(TrialProbe {
            name: info.delivery.probe.clone(),
            ledger: info.ledger.clone(),
            delivery: info.delivery.clone(),
            source: delays.source,
            delay: delays.delay,
            earliest: delays.earliest,
            end_to_end: delays.end_to_end,
            earliest_end_to_end: delays.earliest_end_to_end,
            arrival: delays.arrival,
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

//! Probes on the records' way to where they must arrive, over the trials of a cell.

use waggle_metrics::{Metric, NamedMetric};
use waggle_results::LedgerInfo;

use crate::{
    TrialModel,
    distributions::{self, Distribution},
    metric,
};

/// One intermediate probe, over the trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeModel {
    pub name: String,
    /// Sum over trials.
    pub ledger: LedgerInfo,
    pub delay: Distribution,
    pub arrival: Distribution,
    /// Largest of the trials' resolutions.
    pub resolution_ms: f64,
}

/// The intermediate probes over the trials that count, in their order.
pub(crate) fn over_trials(trials: &[&TrialModel]) -> Vec<ProbeModel> {
    let Some(first) = trials.first() else {
        return Vec::new();
    };
    let probes = first.intermediate_probes.iter();
    probes
        .map(|probe| probe_model(&probe.name, trials))
        .collect()
}

fn probe_model(name: &str, trials: &[&TrialModel]) -> ProbeModel {
    let named = |metric| NamedMetric {
        of: Some(name),
        ..NamedMetric::of_all(metric)
    };
    let accounts = trials.iter().filter_map(|trial| {
        let probe = trial
            .intermediate_probes
            .iter()
            .find(|probe| probe.name == name)?;
        Some(probe.ledger.clone())
    });
    let resolution = metric::over_trials(&named(Metric::Resolution), trials);
    ProbeModel {
        name: name.to_owned(),
        ledger: accounts.reduce(sum).unwrap_or_default(),
        delay: distributions::over_trials(&named(Metric::Delay), trials),
        arrival: distributions::over_trials(&named(Metric::ArrivalDelay), trials),
        resolution_ms: resolution.map_or(0.0, |resolution| resolution.point() / 1e3),
    }
}

/// Two accounts as one.
pub(crate) fn sum(mut sum: LedgerInfo, one: LedgerInfo) -> LedgerInfo {
    sum.sent += one.sent;
    sum.accepted += one.accepted;
    sum.rejected += one.rejected;
    sum.unknown += one.unknown;
    sum.delivered += one.delivered;
    sum.missing += one.missing;
    sum.rejected_delivered += one.rejected_delivered;
    sum.unknown_delivered += one.unknown_delivered;
    sum.unexpected += one.unexpected;
    sum.duplicates += one.duplicates;
    sum.late += one.late;
    sum.out_of_order += one.out_of_order;
    sum.missing_keys.extend(one.missing_keys);
    sum
}

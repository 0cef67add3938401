//! Places on the records' way to where they must arrive, over the trials of a cell.

use waggle_metrics::{Metric, NamedMetric};
use waggle_results::LedgerInfo;

use crate::{
    TrialModel,
    distributions::{self, Distribution},
    metric,
};

/// One place on the way, over the trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceModel {
    pub name: String,
    /// Sum over trials.
    pub ledger: LedgerInfo,
    pub delay: Distribution,
    pub arrival: Distribution,
    /// Largest of the trials' resolutions.
    pub resolution_ms: f64,
}

/// The places on the way over the trials that count, in their order.
pub(crate) fn over_trials(trials: &[&TrialModel]) -> Vec<PlaceModel> {
    let Some(first) = trials.first() else {
        return Vec::new();
    };
    let places = first.on_the_way.iter();
    places
        .map(|place| place_model(&place.name, trials))
        .collect()
}

fn place_model(name: &str, trials: &[&TrialModel]) -> PlaceModel {
    let named = |metric| NamedMetric {
        of: Some(name),
        ..NamedMetric::of_all(metric)
    };
    let accounts = trials.iter().filter_map(|trial| {
        let place = trial.on_the_way.iter().find(|place| place.name == name)?;
        Some(place.ledger.clone())
    });
    let resolution = metric::over_trials(&named(Metric::Resolution), trials);
    PlaceModel {
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

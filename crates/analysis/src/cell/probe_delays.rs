//! Probes on the records' way to where they must arrive, over the trials of a cell.

use waggle_metrics::{Metric, NamedMetric};
use waggle_results::{DeliveryInfo, LedgerInfo, SampleInfo};

use crate::{
    cell::distribution::{self, Distribution},
    recording::delays::DelaySource,
    trial::trial_model::TrialModel,
};

/// One intermediate probe, over the trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeModel {
    pub name: String,
    /// Sum over trials.
    pub ledger: LedgerInfo,
    /// How its delays are known; `None`: no trial counts.
    pub source: Option<DelaySource>,
    pub delay: Distribution,
    pub arrival: Distribution,
    /// The records that the probe followed as they came, of the whole load, if that is only a part of them.
    pub sample: Option<SampleInfo>,
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
    let named_probes = || {
        let probes = trials.iter().flat_map(|trial| &trial.intermediate_probes);
        probes.filter(|probe| probe.name == name)
    };
    let ledgers = named_probes().map(|probe| probe.ledger.clone());
    ProbeModel {
        name: name.to_owned(),
        ledger: ledgers.reduce(sum).unwrap_or_default(),
        source: DelaySource::over_trials(named_probes().map(|probe| probe.delays.source)),
        delay: distribution::over_trials(&named(Metric::Delay), trials),
        arrival: distribution::over_trials(&named(Metric::ArrivalDelay), trials),
        sample: sample(named_probes().map(|probe| (&probe.delivery, &probe.ledger))),
    }
}

/// The records that were followed in these trials, and all that were found; `None` if each trial followed all.
pub(crate) fn sample<'a>(
    trials: impl Iterator<Item = (&'a DeliveryInfo, &'a LedgerInfo)>,
) -> Option<SampleInfo> {
    let (mut sum, mut is_sample) = (SampleInfo::default(), false);
    for (delivery, ledger) in trials {
        let record_count = ledger.delivered + ledger.unknown_delivered + ledger.rejected_delivered;
        let trial_sample = delivery.sample.unwrap_or(SampleInfo {
            followed: record_count,
            of: record_count,
        });
        sum.followed += trial_sample.followed;
        sum.of += trial_sample.of;
        is_sample |= delivery.sample.is_some();
    }
    is_sample.then_some(sum)
}

/// Two accounts as one.
pub(crate) fn sum(mut sum: LedgerInfo, ledger: LedgerInfo) -> LedgerInfo {
    sum.sent += ledger.sent;
    sum.accepted += ledger.accepted;
    sum.rejected += ledger.rejected;
    sum.unknown += ledger.unknown;
    sum.delivered += ledger.delivered;
    sum.missing += ledger.missing;
    sum.rejected_delivered += ledger.rejected_delivered;
    sum.unknown_delivered += ledger.unknown_delivered;
    sum.unexpected += ledger.unexpected;
    sum.duplicates += ledger.duplicates;
    sum.late += ledger.late;
    sum.out_of_order += ledger.out_of_order;
    sum.missing_keys.extend(ledger.missing_keys);
    sum
}

//! How records were followed at each probe, for the description of the method.

use waggle_analysis::{DelaySource, KnownBy, TrialModel};
use waggle_results::{DeliveryInfo, SampleInfo};

use crate::words::format::{self, Unit};

/// A probe in each trial: what it noted, and how its delays are known.
type AtProbe<'a> = Vec<(&'a DeliveryInfo, DelaySource)>;

/// At the probe where records must arrive.
pub(crate) fn at_last_probe(probe: &str, trials: &[TrialModel]) -> String {
    let of_trial = |trial: &'_ TrialModel| {
        let source = trial.numbers.as_ref().map(|numbers| numbers.delays.source);
        Some((trial.info.delivery.clone()?, source.unwrap_or_default()))
    };
    let owned: Vec<(DeliveryInfo, DelaySource)> = trials.iter().filter_map(of_trial).collect();
    let probes: AtProbe<'_> = owned.iter().map(|(info, source)| (info, *source)).collect();
    let negative: u64 = probes.iter().map(|(info, _)| info.negative_delays).sum();
    let costs = probes.iter().filter_map(|(info, _)| info.probe_cpu_s);
    let mut text = format!("every accepted record is looked up by key at {probe}");
    text.push_str(&how_delays_are_known(&probes));
    text.push_str(&format!("; {} negative delays", format::count(negative)));
    if let Some(most) = costs.reduce(f64::max) {
        text.push_str(&format!(
            "; the probe took at most {} of CPU per trial",
            Unit::Time.show(most * 1e6)
        ));
    }
    text
}

/// At one on the way there, counted from 0.
pub(crate) fn at_intermediate_probe(place: usize, name: &str, trials: &[TrialModel]) -> String {
    let trial_probes = trials
        .iter()
        .filter_map(|trial| trial.intermediate_probes.get(place));
    let probes: AtProbe<'_> = trial_probes
        .map(|probe| (&probe.delivery, probe.delays.source))
        .collect();
    format!(
        "every accepted record is also looked up by key at {name}{}",
        how_delays_are_known(&probes)
    )
}

/// Where delays end, how exactly that is known, and of which records.
fn how_delays_are_known(probes: &AtProbe<'_>) -> String {
    let by_instants = |(_, source): &&(&DeliveryInfo, DelaySource)| source.by == KnownBy::Instants;
    let (instants, reads): (AtProbe<'_>, AtProbe<'_>) =
        probes.iter().partition(|probe| by_instants(probe));
    let mut text = String::new();
    if !instants.is_empty() {
        let place = match reads.is_empty() {
            true => String::new(),
            false => format!(" in {} of {} trials", instants.len(), probes.len()),
        };
        text.push_str(&format!(
            "; delays end at the store's own instants{place}{}, which cover {} of the records of the measured phase; the probe's reads \
             (up to {} apart) are the resolution of the drain only",
            resolution_of_instants(&instants),
            share_known(&instants),
            longest_resolution(&instants)
        ));
        text.push_str(&sample(&instants, "late and out of order").unwrap_or_default());
    }
    if !reads.is_empty() {
        text.push_str(&format!(
            "; delays end when the probe saw a record, with a resolution of {}, the time between two of its reads",
            longest_resolution(&reads)
        ));
        text.push_str(&sample(&reads, "delays, late and out of order").unwrap_or_default());
    }
    text
}

/// As a part of a sentence; empty if it is as fine as histograms are, or not known.
fn resolution_of_instants(probes: &AtProbe<'_>) -> String {
    let known = probes.iter().filter_map(|(info, _)| info.instants);
    let coarsest = known.map(|instants| instants.resolution_ns).max();
    match coarsest.filter(|ns| *ns > 1_000) {
        Some(ns) => format!(
            " (in steps of {})",
            format::set_time_s(waggle_analysis::as_f64(ns) / 1e9)
        ),
        None => String::new(),
    }
}

fn share_known(probes: &AtProbe<'_>) -> String {
    let all = DelaySource::over_trials(probes.iter().map(|(_, source)| *source));
    let all = all.unwrap_or_default();
    format::share(waggle_analysis::as_f64(all.known) / waggle_analysis::as_f64(all.of.max(1)))
}

fn longest_resolution(probes: &AtProbe<'_>) -> String {
    let all = probes.iter().map(|(info, _)| info.resolution_ms);
    Unit::Time.show(all.fold(0.0, f64::max) * 1e3)
}

/// The records that were followed as they came, and what is known of them only.
fn sample(probes: &AtProbe<'_>, what: &str) -> Option<String> {
    let samples = probes.iter().filter_map(|(info, _)| info.sample);
    let sum = samples.reduce(|sum, sample| SampleInfo {
        followed: sum.followed + sample.followed,
        of: sum.of + sample.of,
    })?;
    Some(format!(
        "; under load a sample was followed, {} of {} records of the whole load: {what} are of the sample, all other counts of all records",
        format::count(sum.followed),
        format::count(sum.of)
    ))
}

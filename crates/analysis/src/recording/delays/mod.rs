//! How the delays of records at a probe are known, and the percentiles that follow from it.
//!
//! Where the store's own instants cover the records, they are where delays end, whatever the probe has read: a probe that follows a
//! sample in windows of a few milliseconds sees hardly anything of a store that stalls ([design/0082](../../../docs/design/0082-delivery-delay.md)).

use hdrhistogram::Histogram;
use waggle_results::{DeliveryInfo, ProbeLogs, Trial};

use crate::recording::histogram::{self, TrialPercentiles, as_f64};

/// From this share of the records on, what is known of some is taken as known of all.
const COVERS_FROM: f64 = 0.99;
/// Microseconds are as fine as histograms are.
const US_NS: u64 = 1_000;

/// How the delays of records that were sent in the measured phase are known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DelaySource {
    pub by: KnownBy,
    /// The records behind the percentiles.
    pub known: u64,
    /// All that were found.
    pub of: u64,
}

/// By what delays are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KnownBy {
    /// By reads of the probe, each of which showed all that was new.
    #[default]
    Reads,
    /// By the store's own instants.
    Instants,
    /// By reads in windows, of a part of the records; in how many, if that is known.
    Windows(Option<u64>),
}

/// The delays at one probe in one trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delays {
    /// How they are known.
    pub source: DelaySource,
    /// From sent until visible.
    pub delay: Option<TrialPercentiles>,
    /// From sent until it may have been visible; `None`: not noted.
    pub earliest: Option<TrialPercentiles>,
    /// From due until visible; `None` if requests fall due when they are sent.
    pub end_to_end: Option<TrialPercentiles>,
    /// From due until it may have been visible.
    pub earliest_end_to_end: Option<TrialPercentiles>,
    /// From sent until the probe's store had it; `None` if the probe does not know that.
    pub arrival: Option<TrialPercentiles>,
}

/// What a trial has of the delays at one probe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DelayLogs<'a> {
    info: &'a DeliveryInfo,
    delivery: Option<&'a Histogram<u64>>,
    earliest: Option<&'a Histogram<u64>>,
    end_to_end: Option<&'a Histogram<u64>>,
    earliest_end_to_end: Option<&'a Histogram<u64>>,
    arrival: Option<&'a Histogram<u64>>,
}

impl<'a> DelayLogs<'a> {
    /// At the probe where records must arrive; `None`: they were not followed.
    pub(crate) fn of_last_probe(trial: &'a Trial) -> Option<Self> {
        Some(Self {
            info: trial.info.delivery.as_ref()?,
            delivery: trial.delivery_delay.as_ref(),
            earliest: trial.earliest_delay.as_ref(),
            end_to_end: trial.end_to_end_delay.as_ref(),
            earliest_end_to_end: trial.earliest_end_to_end_delay.as_ref(),
            arrival: trial.arrival_delay.as_ref(),
        })
    }

    /// At an intermediate probe.
    pub(crate) fn of_intermediate_probe(info: &'a DeliveryInfo, logs: &'a ProbeLogs) -> Self {
        Self {
            info,
            delivery: logs.delivery_delay.as_ref(),
            earliest: logs.earliest_delay.as_ref(),
            end_to_end: logs.end_to_end_delay.as_ref(),
            earliest_end_to_end: logs.earliest_end_to_end_delay.as_ref(),
            arrival: logs.arrival_delay.as_ref(),
        }
    }

    pub(crate) fn source(&self) -> DelaySource {
        let total = self.found_records();
        let arrived = self.arrival.map_or(0, Histogram::len);
        if self.instants_end_delays() && covers(arrived, total) {
            return DelaySource {
                by: KnownBy::Instants,
                known: arrived,
                of: total,
            };
        }
        let known = self.delivery.map_or(0, Histogram::len);
        let is_part = self.info.sample.is_some() && !covers(known, total);
        DelaySource {
            by: match is_part {
                true => KnownBy::Windows(self.info.measured.and_then(|measured| measured.windows)),
                false => KnownBy::Reads,
            },
            known,
            of: total,
        }
    }

    /// Records of the measured phase that the probe found. Some of those that were sent before the phase, or answered after it, may
    /// be more.
    fn found_records(&self) -> u64 {
        let noted = self.info.measured.map_or(0, |measured| measured.found);
        let histograms = [self.arrival, self.delivery].into_iter().flatten();
        let known = histograms.map(Histogram::len).max().unwrap_or(0);
        noted.max(known)
    }

    /// Whether the store shows a record from its instant on.
    fn instants_end_delays(&self) -> bool {
        self.info
            .instants
            .is_some_and(|instants| instants.ends_delay)
    }

    /// The percentiles by the best that is known.
    pub(crate) fn percentiles(&self) -> Delays {
        let source = self.source();
        let arrival = self.arrival.and_then(histogram::of_trial);
        let in_windows = |all: TrialPercentiles| match source.by {
            KnownBy::Windows(windows) => all.in_windows(windows),
            KnownBy::Reads | KnownBy::Instants => all,
        };
        let quantiles = |histogram: Option<&Histogram<u64>>| {
            histogram.and_then(histogram::of_trial).map(in_windows)
        };
        let since_due =
            |histogram: Option<&Histogram<u64>>| self.percentiles_since_due(histogram?, source.of);
        let (delay, earliest) = match source.by {
            KnownBy::Instants => (
                arrival
                    .clone()
                    .map(|all| all.later_percentiles(self.coarseness_us())),
                arrival.clone(),
            ),
            KnownBy::Reads | KnownBy::Windows(_) => {
                (quantiles(self.delivery), quantiles(self.earliest))
            }
        };
        Delays {
            source,
            delay,
            earliest,
            end_to_end: since_due(self.end_to_end),
            earliest_end_to_end: since_due(self.earliest_end_to_end),
            arrival,
        }
    }

    /// Delays from due are noted of what the probe has followed only.
    fn percentiles_since_due(
        &self,
        histogram: &Histogram<u64>,
        total: u64,
    ) -> Option<TrialPercentiles> {
        let all = histogram::of_trial(histogram)?;
        if self.info.sample.is_none() || covers(all.count, total) {
            return Some(all);
        }
        let windows = self.info.measured.and_then(|measured| measured.windows);
        Some(all.in_windows(windows))
    }

    /// The histogram of the delays, at the latest, by the best that is known; `None` of a part of the records.
    pub(crate) fn whole_histogram(&self) -> Option<&'a Histogram<u64>> {
        match self.source().by {
            KnownBy::Instants => self.arrival,
            KnownBy::Reads => self.delivery,
            KnownBy::Windows(_) => None,
        }
    }

    /// How long the probe was behind in the measured phase, in seconds.
    pub(crate) fn lag_s(&self) -> f64 {
        let known = self.info.measured_probe_lag_s;
        known.unwrap_or(self.info.probe_lag_s)
    }

    /// A record may have come so much later than its instant, which is a multiple of it.
    fn coarseness_us(&self) -> f64 {
        let resolution_ns = self
            .info
            .instants
            .map_or(0, |instants| instants.resolution_ns);
        match resolution_ns > US_NS {
            true => as_f64(resolution_ns) / 1e3,
            false => 0.0,
        }
    }
}

fn covers(known: u64, total: u64) -> bool {
    known > 0 && as_f64(known) >= COVERS_FROM * as_f64(total)
}

impl DelaySource {
    /// Of several trials: by what the delays of some are known least, and the sums of the records.
    #[must_use]
    pub fn over_trials(trials: impl Iterator<Item = Self>) -> Option<Self> {
        trials.reduce(Self::combine)
    }

    fn combine(self, other: Self) -> Self {
        Self {
            by: match (self.by, other.by) {
                (KnownBy::Windows(some), KnownBy::Windows(more)) => {
                    KnownBy::Windows(some.zip(more).map(|(some, more)| some + more))
                }
                (windows @ KnownBy::Windows(_), _) | (_, windows @ KnownBy::Windows(_)) => windows,
                (KnownBy::Instants, KnownBy::Instants) => KnownBy::Instants,
                _ => KnownBy::Reads,
            },
            known: self.known + other.known,
            of: self.of + other.of,
        }
    }
}

#[cfg(test)]
mod tests;

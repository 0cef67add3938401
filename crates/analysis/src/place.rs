//! Places on the records' way to where they must arrive, and watches: of one trial.

use waggle_results::{DeliveryInfo, LedgerInfo, PlaceInfo, PlaceLogs, WatchRow};

use crate::{
    distribution::{self, TrialPercentiles, as_f64},
    prepared::Prepared,
};

/// One place on the way, in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialPlace {
    pub name: String,
    pub ledger: LedgerInfo,
    pub delivery: DeliveryInfo,
    /// From sent until visible there.
    pub delay: Option<TrialPercentiles>,
    /// From sent until the place itself had it; `None` where the probe does not know that.
    pub arrival: Option<TrialPercentiles>,
    /// Most records that were accepted and not yet visible there at one look of the measured phase.
    pub backlog_max: Option<f64>,
}

/// One watch in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialWatch {
    pub name: String,
    /// Over the measured phase; `None` where it was not read there.
    pub measured: Option<Watched>,
    /// What was read last, after the drain where there is one.
    pub end: f64,
}

/// A watch over a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watched {
    pub mean: f64,
    pub max: f64,
}

/// The places on the way of one trial.
pub(crate) fn of_trial(prepared: &Prepared<'_>) -> Vec<TrialPlace> {
    let Prepared {
        trial,
        accepted,
        measured,
        ..
    } = prepared;
    let place = |(info, logs): (&PlaceInfo, &PlaceLogs)| TrialPlace {
        name: info.delivery.probe.clone(),
        ledger: info.ledger.clone(),
        delivery: info.delivery.clone(),
        delay: logs
            .delivery_delay
            .as_ref()
            .and_then(distribution::of_trial),
        arrival: logs.arrival_delay.as_ref().and_then(distribution::of_trial),
        backlog_max: accepted.waiting_max(&logs.backlog, *measured),
    };
    let places = trial.info.on_the_way.iter().zip(&trial.on_the_way);
    places.map(place).collect()
}

/// Every watch of a trial whose measured phase is given, in the order in which they were first read.
pub(crate) fn watches(rows: &[WatchRow], (from_s, to_s): (f64, f64)) -> Vec<TrialWatch> {
    let mut all: Vec<(&str, Vec<&WatchRow>)> = Vec::new();
    for row in rows {
        match all.iter_mut().find(|(name, _)| *name == row.watch) {
            Some((_, rows)) => rows.push(row),
            None => all.push((&row.watch, vec![row])),
        }
    }
    let of_one = |(name, rows): (&str, Vec<&WatchRow>)| {
        let within = rows
            .iter()
            .filter(|row| (from_s..=to_s).contains(&row.at_s));
        Some(TrialWatch {
            name: name.to_owned(),
            measured: metric_summary(within.map(|row| row.value)),
            end: rows.last()?.value,
        })
    };
    all.into_iter().filter_map(of_one).collect()
}

/// `None` where nothing was read.
fn metric_summary(values: impl Iterator<Item = f64>) -> Option<Watched> {
    let values: Vec<f64> = values.collect();
    Some(Watched {
        max: values.iter().copied().reduce(f64::max)?,
        mean: values.iter().sum::<f64>() / as_f64(values.len() as u64),
    })
}

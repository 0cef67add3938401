//! What ends a trial early.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::phase::{PHASE, RESPONSE_TIME};
use crate::{
    StopBound,
    at::{At, Key},
    check::Checker,
    raw::{DurationText, Share},
};

/// What ends a trial early: one metric with its bound.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopWhen {
    /// The share of an interval's answers that failed, e.g. `50%`.
    pub error_rate: Key<Share>,
    /// Median of an interval's response times.
    pub p50: Key<DurationText>,
    /// Their 90th percentile.
    pub p90: Key<DurationText>,
    /// Their 95th percentile.
    pub p95: Key<DurationText>,
    /// Their 99th percentile.
    pub p99: Key<DurationText>,
    /// Their 99.9th percentile.
    pub p99_9: Key<DurationText>,
    /// How long every interval that has answers must be above the bound.
    #[serde(rename = "for")]
    #[schemars(required)]
    pub time: Key<DurationText>,
}

const KEYS: &str = "one of error_rate, p50, p90, p95, p99, p99_9";
/// Defaults for a server that waggle did not start: others may depend on it.
const OF_EXTERNAL: crate::StopWhen = crate::StopWhen {
    bound: StopBound::ErrorRate(0.5),
    time: Duration::from_secs(5),
};

/// What ends a trial early. By default nothing, unless waggle did not start the server.
pub(super) fn stop_when(
    checker: &mut Checker<'_>,
    given: &Key<Vec<At<StopWhen>>>,
    is_external: Option<bool>,
) -> Option<Vec<crate::StopWhen>> {
    let entries = match (given, is_external) {
        (Key::Missing, Some(true)) => return Some(vec![OF_EXTERNAL]),
        (Key::Missing, Some(false) | None) => return Some(Vec::new()),
        (Key::Invalid, _) => return None,
        (Key::Given(entries), _) => entries.value.iter(),
    };
    let conditions: Vec<_> = entries.map(|given| entry(checker, given)).collect();
    conditions.into_iter().collect()
}

fn entry(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<StopWhen>,
) -> Option<crate::StopWhen> {
    let findings = &mut checker.findings;
    let time = keys.time.content();
    let time = time.and_then(|time| time.check_bounds(PHASE, findings));
    let times = [
        (0.5, &keys.p50),
        (0.9, &keys.p90),
        (0.95, &keys.p95),
        (0.99, &keys.p99),
        (0.999, &keys.p99_9),
    ];
    let error_rate = keys.error_rate.value();
    let error_rate = error_rate.map(|Share(share)| Some(StopBound::ErrorRate(*share)));
    let mut bounds: Vec<_> = error_rate.into_iter().collect();
    for (quantile, given) in times {
        if let Some(above) = given.content() {
            let above = above.check_bounds(RESPONSE_TIME, findings);
            bounds.push(above.map(|above| StopBound::ResponseTime { quantile, above }));
        }
    }
    let is_invalid = keys.error_rate.is_invalid() || times.iter().any(|(_, key)| key.is_invalid());
    let what = match bounds[..] {
        [bound] => {
            return Some(crate::StopWhen {
                bound: bound?,
                time: time?,
            });
        }
        [] if is_invalid => return None,
        [] => "names no number".to_owned(),
        _ => format!("names {} numbers", bounds.len()),
    };
    checker.report(place.mistake(what).with_expected(KEYS));
    None
}

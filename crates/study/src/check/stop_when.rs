//! What ends a trial early.

use std::time::Duration;

use super::{Checker, path_text, schedule::PHASE};
use crate::{StopBound, StopWhen, mistake::Finding, raw};

const PATH: [&str; 2] = ["schedule", "stop_when"];
const KEYS: &str = "one of error_rate, p50, p90, p95, p99, p99_9";
/// The range of the histograms of response times.
const RESPONSE_TIME: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(3600));
/// Defaults for a server that waggle did not start: others may depend on it.
const OF_EXTERNAL: StopWhen = StopWhen {
    bound: StopBound::ErrorRate(0.5),
    time: Duration::from_secs(5),
};

/// What ends a trial early. By default nothing, unless waggle did not start the server.
pub(super) fn stop_when(
    checker: &mut Checker<'_>,
    raw: &raw::Schedule,
    is_external: Option<bool>,
) -> Option<Vec<StopWhen>> {
    let Some(given) = &raw.stop_when else {
        let default = match is_external {
            Some(true) => vec![OF_EXTERNAL],
            Some(false) | None => Vec::new(),
        };
        return checker.value_or_default(None, &PATH, default);
    };
    let entries = (0..).zip(given);
    let conditions: Vec<Option<StopWhen>> = entries
        .map(|(index, raw): (usize, _)| entry(checker, raw, &index.to_string()))
        .collect();
    conditions.into_iter().collect()
}

fn entry(checker: &mut Checker<'_>, raw: &raw::StopWhen, index: &str) -> Option<StopWhen> {
    let around = [PATH[0], PATH[1], index];
    let path = |key: &'static str| [PATH[0], PATH[1], index, key];
    let time = raw.time.and_then(|raw::DurationText(time)| {
        checker.check_bounds(time, &path("for"), (Duration::from_millis(10), PHASE.1))
    });
    let times = [
        ("p50", 0.5, raw.p50),
        ("p90", 0.9, raw.p90),
        ("p95", 0.95, raw.p95),
        ("p99", 0.99, raw.p99),
        ("p99_9", 0.999, raw.p99_9),
    ];
    let is_invalid = times.iter().any(|(key, ..)| checker.is_invalid(&path(key)))
        || checker.is_invalid(&path("error_rate"));
    let mut bounds = Vec::new();
    if let Some(raw::Share(share)) = raw.error_rate {
        bounds.push(Some(StopBound::ErrorRate(share)));
    }
    for (key, quantile, given) in times {
        if let Some(raw::DurationText(above)) = given {
            let above = checker.check_bounds(above, &path(key), RESPONSE_TIME);
            bounds.push(above.map(|above| StopBound::ResponseTime { quantile, above }));
        }
    }
    match bounds[..] {
        [bound] => Some(StopWhen {
            bound: bound?,
            time: time?,
        }),
        [] if is_invalid => None,
        _ => {
            let what = match bounds.len() {
                0 => format!("{} names no number", path_text(&around)),
                count => format!("{} names {count} numbers", path_text(&around)),
            };
            checker.report(Finding::new(checker.position_of(&around), what).with_expected(KEYS));
            None
        }
    }
}

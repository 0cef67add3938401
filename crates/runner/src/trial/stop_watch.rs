//! Whether a trial is to be ended early: a number of the intervals that is above its bound for some time.

use std::time::Duration;

use waggle_load::Interval;
use waggle_results::{StopNumber, StoppedInfo};
use waggle_study::{StopBound, StopWhen};

use crate::counts::{as_f64, share};

/// What is looked at, and since when each number has been above its bound.
#[derive(Debug)]
pub(crate) struct StopWatch(Vec<(StopWhen, Option<Duration>)>);

impl StopWatch {
    pub(crate) fn new(asked: &[StopWhen]) -> Self {
        Self(asked.iter().map(|stop| (*stop, None)).collect())
    }

    /// One more interval; what ends the trial, if it does. An interval without answers says nothing.
    pub(crate) fn add(&mut self, interval: &Interval) -> Option<StoppedInfo> {
        let end = interval.start + interval.length;
        let stopped = self.0.iter_mut().map(|(stop, since)| {
            let (observed, bound) = observed_value(stop.bound, interval)?;
            if observed <= bound {
                *since = None;
                return None;
            }
            let since = *since.get_or_insert(interval.start);
            (end.saturating_sub(since) >= stop.time).then_some(StoppedInfo {
                number: match stop.bound {
                    StopBound::ErrorRate(_) => StopNumber::ErrorRate,
                    StopBound::ResponseTime { .. } => StopNumber::ResponseTime,
                },
                quantile: match stop.bound {
                    StopBound::ErrorRate(_) => None,
                    StopBound::ResponseTime { quantile, .. } => Some(quantile),
                },
                above: bound,
                observed,
                for_s: stop.time.as_secs_f64(),
                at_s: end.as_secs_f64(),
            })
        });
        // Each is looked at, also behind the first that ends the trial.
        stopped.fold(None, Option::or)
    }
}

/// The number of an interval and its bound, in the same unit; `None`: nothing was answered.
fn observed_value(bound: StopBound, interval: &Interval) -> Option<(f64, f64)> {
    match bound {
        StopBound::ErrorRate(above) => {
            let counts = &interval.counts;
            let answered = counts.succeeded + counts.failed;
            (answered > 0).then(|| (share(as_f64(counts.failed), as_f64(answered)), above))
        }
        StopBound::ResponseTime { quantile, above } => {
            let times = &interval.response_time;
            let value = || as_f64(times.value_at_quantile(quantile));
            (!times.is_empty()).then(|| (value(), above.as_secs_f64() * 1e6))
        }
    }
}

/// What is told of a trial that was ended early.
pub(crate) fn in_words(stopped: &StoppedInfo) -> String {
    let StoppedInfo {
        above,
        observed,
        for_s,
        ..
    } = stopped;
    match stopped.quantile {
        None => format!(
            "stopped by stop_when: the error rate was above {:.1} % for {for_s} s, in the end {:.1} %",
            100.0 * above,
            100.0 * observed
        ),
        Some(quantile) => format!(
            "stopped by stop_when: p{} of response time was above {} ms for {for_s} s, in the end {:.1} ms",
            // The nearest tenth of a percent: 99.9 and not 99.90000000000001.
            (1000.0 * quantile).round() / 10.0,
            above / 1e3,
            observed / 1e3
        ),
    }
}

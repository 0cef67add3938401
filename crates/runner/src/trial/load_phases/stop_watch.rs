//! Whether a trial is to be ended early: a value of the intervals is above its bound for some time.

use std::time::Duration;

use waggle_load::Interval;
use waggle_results::{StopNumber, StoppedInfo};
use waggle_spec::TimeKind;
use waggle_study::{StopBound, StopWhen};

use crate::number::{as_f64, share};

/// The bounds of a trial.
#[derive(Debug)]
pub(crate) struct StopWatch(Vec<Watched>);

/// A bound, and since when its value has been above it.
#[derive(Debug)]
struct Watched {
    stop: StopWhen,
    since: Option<Duration>,
}

impl StopWatch {
    pub(crate) fn new(asked: &[StopWhen]) -> Self {
        let watched = |stop: &StopWhen| Watched {
            stop: *stop,
            since: None,
        };
        Self(asked.iter().map(watched).collect())
    }

    /// Adds an interval; returns the reason if the trial is to end. An interval without answers is ignored.
    pub(crate) fn add(&mut self, interval: &Interval) -> Option<StoppedInfo> {
        let stopped = self.0.iter_mut().map(|watched| watched.add(interval));
        // Every bound is updated, also after the first that ends the trial.
        stopped.fold(None, Option::or)
    }
}

impl Watched {
    fn add(&mut self, interval: &Interval) -> Option<StoppedInfo> {
        let stop = self.stop;
        let end = interval.start + interval.length;
        let (observed, bound) = observed_value(stop.bound, interval)?;
        if observed <= bound {
            self.since = None;
            return None;
        }
        let since = *self.since.get_or_insert(interval.start);
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
    }
}

/// The value of an interval and its bound, in the same unit; `None`: nothing was answered.
fn observed_value(bound: StopBound, interval: &Interval) -> Option<(f64, f64)> {
    match bound {
        StopBound::ErrorRate(above) => {
            let counts = &interval.counts;
            let answered = counts.succeeded + counts.failed;
            (answered > 0).then(|| (share(as_f64(counts.failed), as_f64(answered)), above))
        }
        StopBound::ResponseTime { quantile, above } => {
            let times = &interval.times[TimeKind::Response];
            let value = || as_f64(times.value_at_quantile(quantile));
            (!times.is_empty()).then(|| (value(), above.as_secs_f64() * 1e6))
        }
    }
}

/// The reason of a trial that was ended early, as text.
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
            // Rounded to a tenth of a percent: 99.9 and not 99.90000000000001.
            (1000.0 * quantile).round() / 10.0,
            above / 1e3,
            observed / 1e3
        ),
    }
}

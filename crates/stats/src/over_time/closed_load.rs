//! Whether single requests show that a load was closed: as many were in flight nearly all the time, never more, and they were sent
//! unevenly, as answers come.
//!
//! Open arrivals do not look like that. The number in flight of a Poisson process scatters with the square root of its mean; even
//! arrivals at regular answers keep it constant, but are sent evenly. What is too short or too even to tell is not called closed. Rates
//! by simulation: docs/design/0085-closed-loads-with-stalls.md.

use crate::arithmetic::sample::{mean, size, squares_about};

/// Instants, and stretches in which requests are counted, that show something.
const INSTANTS_MIN: usize = 20;
/// So many stretches at most, because counts of long ones show more.
const STRETCHES_MAX: usize = 50;
/// Instants are so many mean times of a request apart, so that each tells something of its own.
const APART: f64 = 2.0;
/// At one in so many instants fewer may be in flight: a start with few threads, pauses between two requests.
const FEWER_PART: usize = 5;
/// At all other instants no fewer than the maximum less its square root are in flight.
const SCATTER: f64 = 1.0;
/// Even sending has a variance of counts of 1/4 at most; uneven sending has more, also as a share of the mean.
const VARIANCE_MIN: f64 = 1.0;
const DISPERSION_MIN: f64 = 0.01;

/// Intervals of the same length, while requests were sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SendingIntervals<'a> {
    pub interval_s: f64,
    /// In flight at the end of each.
    pub in_flight: &'a [f64],
    /// Sent in each.
    pub sent: &'a [f64],
    /// Mean time of a request.
    pub mean_time_s: f64,
}

/// What shows that a load was closed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosedLoad {
    /// The most in flight, and how few were at all but a fifth of the instants.
    pub max_in_flight: f64,
    pub usual_in_flight: f64,
    /// Requests per second in the stretch with the fewest and in that with the most.
    pub sent_per_s: (f64, f64),
}

/// `None`: it is not shown to be closed.
#[must_use]
pub fn closed_load(load: &SendingIntervals<'_>) -> Option<ClosedLoad> {
    let apart = intervals_in(APART * load.mean_time_s, load.interval_s);
    // The load fills up first.
    let instants = load.in_flight.iter().skip(apart).step_by(apart);
    let mut instants: Vec<f64> = instants.copied().collect();
    if instants.len() < INSTANTS_MIN {
        return None;
    }
    instants.sort_unstable_by(f64::total_cmp);
    let max_in_flight = *instants.last()?;
    let usual_in_flight = *instants.get(instants.len() / FEWER_PART)?;
    let is_constant =
        usual_in_flight >= 1.0 && usual_in_flight >= max_in_flight - SCATTER * max_in_flight.sqrt();
    let sent = load.sent.get(apart..).unwrap_or_default();
    let length = (sent.len() / STRETCHES_MAX).max(1);
    let counts = sent.chunks_exact(length);
    let counts: Vec<f64> = counts.map(|stretch| stretch.iter().sum()).collect();
    if counts.len() < INSTANTS_MIN {
        return None;
    }
    let level = mean(&counts);
    let variance = squares_about(&counts, level) / (size(counts.len()) - 1.0);
    let is_uneven = variance >= VARIANCE_MIN && variance >= DISPERSION_MIN * level;
    let per_s = |count: f64| count / (size(length) * load.interval_s);
    (is_constant && is_uneven).then(|| ClosedLoad {
        max_in_flight,
        usual_in_flight,
        sent_per_s: (
            per_s(counts.iter().copied().fold(f64::INFINITY, f64::min)),
            per_s(counts.iter().copied().fold(0.0, f64::max)),
        ),
    })
}

/// How many intervals a time takes, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest count, and no load has 2^53 intervals"
)]
fn intervals_in(time_s: f64, interval_s: f64) -> usize {
    (time_s / interval_s).ceil().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    const SECONDS: f64 = 30.0;
    const INTERVAL_S: f64 = 0.25;

    /// Times of requests: the coefficient of variation of a lognormal one; `None`: exponential.
    fn time_s(random: &mut Random, mean_s: f64, variation: Option<f64>) -> f64 {
        match variation {
            None => -random.unit().ln() * mean_s,
            Some(variation) => {
                let spread = (1.0 + variation * variation).ln().sqrt();
                random.lognormal(mean_s / (spread * spread / 2.0).exp(), spread)
            }
        }
    }

    /// As a file in whole milliseconds has it.
    fn is_closed(requests: &[(f64, f64)]) -> bool {
        let in_ms = |at_s: f64| (at_s * 1e3).floor() / 1e3;
        let intervals = intervals_in(SECONDS, INTERVAL_S);
        let (mut in_flight, mut sent) = (vec![0.0; intervals], vec![0.0; intervals]);
        for (start_s, end_s) in requests {
            let (start_s, end_s) = (in_ms(*start_s), in_ms(*end_s));
            let (first, last) = (
                intervals_in(start_s + 1e-9, INTERVAL_S) - 1,
                intervals_in(end_s + 1e-9, INTERVAL_S) - 1,
            );
            if let Some(sent) = sent.get_mut(first) {
                *sent += 1.0;
            }
            for in_flight in &mut in_flight[first.min(intervals)..last.clamp(first, intervals)] {
                *in_flight += 1.0;
            }
        }
        let busy_s: f64 = requests.iter().map(|(start, end)| end - start).sum();
        closed_load(&SendingIntervals {
            interval_s: INTERVAL_S,
            in_flight: &in_flight,
            sent: &sent,
            mean_time_s: busy_s / size(requests.len()),
        })
        .is_some()
    }

    /// How many of 100 loads are called closed.
    fn check(
        mut load: impl FnMut(&mut Random) -> Vec<(f64, f64)>,
        expected: std::ops::RangeInclusive<usize>,
        what: &str,
    ) {
        let mut random = Random::from_seed(85);
        let count = (0..100).filter(|_| is_closed(&load(&mut random))).count();
        assert!(expected.contains(&count), "{what}: {count}");
    }

    /// Threads with a pause of up to so many seconds between an answer and the next request; all of them wait from 10 s on for
    /// `stall_s`.
    fn closed_requests(
        random: &mut Random,
        threads: usize,
        (mean_s, variation): (f64, Option<f64>),
        pause_s: f64,
        stall_s: f64,
    ) -> Vec<(f64, f64)> {
        let mut requests = Vec::new();
        for _ in 0..threads {
            let mut now_s = 0.0;
            while now_s < SECONDS {
                let mut end_s = now_s + time_s(random, mean_s, variation);
                if now_s < 10.0 && end_s >= 10.0 {
                    end_s += stall_s;
                }
                requests.push((now_s, end_s));
                now_s = end_s + pause_s * random.unit();
            }
        }
        requests
    }

    /// Poisson arrivals, or even ones that are late by up to so many seconds.
    fn open(
        random: &mut Random,
        per_s: f64,
        (mean_s, variation): (f64, Option<f64>),
        late_s: Option<f64>,
    ) -> Vec<(f64, f64)> {
        let (mut requests, mut due_s) = (Vec::new(), 0.0);
        while due_s < SECONDS {
            let start_s: f64 = due_s + late_s.unwrap_or(0.0) * random.unit();
            requests.push((start_s, start_s + time_s(random, mean_s, variation)));
            due_s += match late_s {
                None => -random.unit().ln() / per_s,
                Some(_) => 1.0 / per_s,
            };
        }
        requests
    }

    #[test]
    fn closed_loads_are_seen() {
        for variation in [None, Some(0.3), Some(0.1)] {
            for (threads, mean_s) in [(10, 0.027), (10, 0.2), (50, 0.2)] {
                for pause_s in [0.0, 0.001] {
                    let what = format!("{threads} × {mean_s} s {variation:?} {pause_s}");
                    check(
                        |random| {
                            closed_requests(random, threads, (mean_s, variation), pause_s, 0.0)
                        },
                        95..=100,
                        &what,
                    );
                }
            }
        }
        check(
            |random| closed_requests(random, 10, (0.027, Some(0.02)), 0.0, 3.0),
            100..=100,
            "stall",
        );
        check(
            |random| closed_requests(random, 1, (0.027, None), 0.0, 0.0),
            95..=100,
            "one thread",
        );
        // Nothing tells one thread with regular answers from even arrivals.
        check(
            |random| closed_requests(random, 1, (0.2, Some(0.1)), 0.0, 0.0),
            0..=0,
            "regular",
        );
        // Half of the time users think: many look like an open load.
        check(
            |random| closed_requests(random, 50, (0.1, None), 0.2, 0.0),
            0..=5,
            "users",
        );
    }

    #[test]
    fn open_loads_are_never_called_closed() {
        for (per_s, mean_s) in [
            (1.0, 0.05),
            (20.0, 0.05),
            (19.5, 0.05),
            (40.0, 0.05),
            (367.0, 0.027),
            (100.0, 0.5),
            (200.0, 1.0),
        ] {
            for variation in [None, Some(0.1), Some(0.01)] {
                for late_s in [None, Some(0.0), Some(0.002)] {
                    let what = format!("{per_s}/s × {mean_s} s {variation:?} {late_s:?}");
                    check(
                        |random| open(random, per_s, (mean_s, variation), late_s),
                        0..=0,
                        &what,
                    );
                }
            }
        }
    }
}

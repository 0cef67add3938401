//! Stalls: stretches of the measured phase without a success although requests were pending.
//!
//! Found by whole intervals: the true length is at least the one found, and a stall that covers no whole interval is not seen.
//! Why they are checked in addition to steadiness, and the limits: docs/design/0003-verdicts.md. What they mean for the times of a
//! closed load: docs/design/0085-closed-loads-with-stalls.md.

use crate::over_time::trial_facts::Served;

/// Shorter stretches are not worth a line.
const STALL_MIN_S: f64 = 0.2;
/// Nor are those that are no longer than this many mean service times: few and slow requests leave gaps.
const STALL_MIN_SERVICE_TIMES: f64 = 5.0;
/// From this share of the phase on, stalls decide the p99 of an arrival at a random instant, and no percentile of a closed load shows
/// them.
const OMITTED_MIN_SHARE: f64 = 0.01;
/// At the rate outside stalls so many answers would have come in the longest one. Fewer are missing by chance where few connections
/// wait for slow answers.
const MISSING_ANSWERS_MIN: f64 = 30.0;

/// One stall, in seconds of the measured phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StallSpan {
    pub from_s: f64,
    pub length_s: f64,
    /// Whether it lasted until the end of the phase.
    pub to_the_end: bool,
}

/// The stalls of one measured phase together, in seconds of that phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// The longest, and when it began.
    pub longest_s: f64,
    pub from_s: f64,
    /// Whether it lasted until the end of the phase.
    pub to_the_end: bool,
    /// All together.
    pub in_all_s: f64,
    /// The whole phase.
    pub phase_s: f64,
}

impl Stall {
    /// All stalls of a phase of so many seconds; `None` without any.
    #[must_use]
    pub fn new(spans: &[StallSpan], phase_s: f64) -> Option<Self> {
        let longest = spans.iter().copied().reduce(|longest, span| {
            match span.length_s > longest.length_s {
                true => span,
                false => longest,
            }
        })?;
        Some(Self {
            longest_s: longest.length_s,
            from_s: longest.from_s,
            to_the_end: longest.to_the_end,
            in_all_s: spans.iter().map(|span| span.length_s).sum(),
            phase_s,
        })
    }

    /// The share of the phase that all stalls take.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.in_all_s / self.phase_s
    }

    /// Whether a closed load omitted so many requests in its stalls that its times are only lower bounds. `succeeded`: requests in
    /// the whole phase.
    pub(crate) fn is_omission(&self, succeeded: f64) -> bool {
        let rest_s = self.phase_s - self.in_all_s;
        let is_large = self.ratio() >= OMITTED_MIN_SHARE;
        is_large && rest_s > 0.0 && succeeded / rest_s * self.longest_s >= MISSING_ANSWERS_MIN
    }
}

/// The stalls of a phase, in their order. `service_mean_us`: of its successes; `None`: there was none.
#[must_use]
pub fn stalls(served: &[Served], service_mean_us: Option<f64>) -> Vec<StallSpan> {
    let usual_s = service_mean_us.unwrap_or(0.0) / 1e6;
    stretches(served, STALL_MIN_S.max(STALL_MIN_SERVICE_TIMES * usual_s))
}

/// Stretches that are at least so long.
fn stretches(served: &[Served], min_s: f64) -> Vec<StallSpan> {
    let mut spans: Vec<StallSpan> = Vec::new();
    let (mut now_s, mut is_open) = (0.0, false);
    for (index, interval) in served.iter().enumerate() {
        let is_stalled = interval.succeeded == 0 && interval.waited;
        if is_stalled {
            if !is_open {
                spans.push(StallSpan {
                    from_s: now_s,
                    length_s: 0.0,
                    to_the_end: false,
                });
            }
            if let Some(span) = spans.last_mut() {
                span.length_s += interval.seconds;
                span.to_the_end = index + 1 == served.len();
            }
        }
        is_open = is_stalled;
        now_s += interval.seconds;
    }
    spans.retain(|span| span.length_s >= min_s);
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    /// Each letter is an interval of half a second: `.` nothing, `x` successes, `-` nothing, and nothing waited for.
    fn served_intervals(letters: &str) -> Vec<Served> {
        let interval = |letter| Served {
            seconds: 0.5,
            succeeded: u64::from(letter == 'x'),
            waited: letter != '-',
        };
        letters.chars().map(interval).collect()
    }

    fn check(letters: &str, min_s: f64, expected: Option<(f64, f64, bool, f64)>) {
        let served = served_intervals(letters);
        let phase_s = served.iter().map(|interval| interval.seconds).sum();
        let stall = Stall::new(&stretches(&served, min_s), phase_s).map(|stall| {
            (
                stall.longest_s,
                stall.from_s,
                stall.to_the_end,
                stall.in_all_s,
            )
        });
        assert_eq!(stall, expected, "{letters}");
    }

    #[test]
    fn the_longest_stretch_is_found() {
        check("", 0.2, None);
        check("xxxx", 0.2, None);
        check("x--x", 0.2, None);
        check("x.xx", 0.2, Some((0.5, 0.5, false, 0.5)));
        check("x..x.x", 0.2, Some((1.0, 0.5, false, 1.5)));
        check("x.-..x", 0.2, Some((1.0, 1.5, false, 1.5)));
        check("x.x..", 0.2, Some((1.0, 1.5, true, 1.5)));
        check("....", 0.2, Some((2.0, 0.0, true, 2.0)));
        // Gaps that slow answers leave are none, and do not add up to one.
        check("x..x.x", 0.6, Some((1.0, 0.5, false, 1.0)));
        check(".x.x.x", 0.6, None);
    }

    /// Intervals of 250 ms of a closed load: connections that send the next request when the answer to the one before has come.
    /// `stalls`: from when to when nothing was answered.
    fn closed_load(
        connections: usize,
        seconds: u32,
        stalls: &[(f64, f64)],
        mut service_s: impl FnMut() -> f64,
    ) -> (Vec<Served>, f64) {
        let mut answers = vec![0u64; 4 * seconds as usize];
        let (mut sum_s, mut count) = (0.0, 0.0);
        for _ in 0..connections {
            let mut now_s = 0.0;
            while now_s < f64::from(seconds) {
                let mut end_s: f64 = now_s + service_s();
                for (from_s, to_s) in stalls {
                    if end_s >= *from_s && now_s < *to_s {
                        end_s += to_s - from_s;
                    }
                }
                let interval = interval_of(end_s);
                if let Some(answers) = answers.get_mut(interval) {
                    *answers += 1;
                    sum_s += end_s - now_s;
                    count += 1.0;
                }
                now_s = end_s;
            }
        }
        let served = answers.iter().map(|succeeded| Served {
            seconds: 0.25,
            succeeded: *succeeded,
            waited: true,
        });
        (served.collect(), sum_s / f64::max(count, 1.0))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "instants of a simulated minute"
    )]
    fn interval_of(at_s: f64) -> usize {
        (at_s / 0.25) as usize
    }

    fn is_omission(served: &[Served], mean_s: f64) -> bool {
        let succeeded = served.iter().map(|entry| u32::try_from(entry.succeeded));
        let succeeded: f64 = succeeded.map(|entry| f64::from(entry.unwrap())).sum();
        let phase_s = served.iter().map(|entry| entry.seconds).sum();
        let stall = Stall::new(&stalls(served, Some(mean_s * 1e6)), phase_s);
        stall.is_some_and(|stall| stall.is_omission(succeeded))
    }

    #[test]
    fn gaps_of_slow_requests_are_no_stalls() {
        let mut random = Random::from_seed(85);
        let runs = 200;
        for connections in [1, 2, 5, 10] {
            for mean_s in [0.05, 0.5, 2.0] {
                // Exponential, and lognormal with a standard deviation of the logarithm of 1.
                for spread in [None, Some(1.0_f64)] {
                    let mut service_s = || match spread {
                        None => -random.unit().ln() * mean_s,
                        Some(spread) => {
                            let median = mean_s / (spread * spread / 2.0).exp();
                            random.lognormal(median, spread)
                        }
                    };
                    let false_alarms = (0..runs)
                        .filter(|_| {
                            let (served, mean_s) =
                                closed_load(connections, 30, &[], &mut service_s);
                            is_omission(&served, mean_s)
                        })
                        .count();
                    assert!(
                        false_alarms * 50 <= runs,
                        "{connections} {mean_s} {spread:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn stalls_of_one_percent_are_found() {
        let mut random = Random::from_seed(86);
        // Stall of 60 s, connections, mean service time.
        for (stall_s, connections, mean_s) in [
            (1.2, 10, 0.027),
            (1.2, 1, 0.01),
            (5.0, 10, 0.027),
            (5.0, 2, 0.1),
            (5.0, 50, 0.5),
            (11.0, 10, 1.0),
        ] {
            for _ in 0..50 {
                let from_s = 40.0 * random.unit();
                let mut service_s = || -random.unit().ln() * mean_s;
                let stall = [(from_s, from_s + stall_s)];
                let (served, mean_s) = closed_load(connections, 60, &stall, &mut service_s);
                assert!(
                    is_omission(&served, mean_s),
                    "{stall_s} s with {connections} × {mean_s} s"
                );
            }
        }
    }
}

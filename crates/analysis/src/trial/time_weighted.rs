//! Time-weighted response times: what an arrival at a random instant of the measured phase waits.
//!
//! A load that waits for answers sends nothing while the system is stuck: of a stall it shows one slow answer for each connection,
//! whatever its length (coordinated omission). Here each interval counts by its length and not by its requests. An arrival outside stalls
//! waits as the requests did that were answered in its interval. One in a stall waits until the stall is over, and no shorter than half
//! of all requests did. That is no correction by an expected interval between requests (HdrHistogram,
//! `recordValueWithExpectedInterval`): it adds values for each slow answer, also where the system answered others meanwhile. Why so, and
//! its error by simulation: docs/design/0085-closed-loads-with-stalls.md.

use hdrhistogram::Histogram;
use waggle_results::{RunInfo, Trial};
use waggle_spec::{LoadKind, TimeKind};
use waggle_stats::StallSpan;

use crate::recording::{
    histogram::{self, TrialPercentiles, as_f64},
    trial_view::TrialView,
};

/// Weights are whole nanoseconds of the phase.
const NS_PER_S: f64 = 1e9;
/// Arrivals in a stall are so many different ones.
const SLICES: u32 = 1_000;

/// An interval of the measured phase.
#[derive(Debug, Default)]
struct Interval {
    seconds: f64,
    /// Response times of the answers that came in it, in µs, with their counts.
    times: Vec<(u64, u64)>,
}

/// `None`: requests come by themselves, or single ones are not known.
pub(crate) fn of_trial(
    view: &TrialView<'_>,
    info: &RunInfo,
    stalls: &[StallSpan],
) -> Option<TrialPercentiles> {
    let waits_for_answers = matches!(info.load_model, LoadKind::Closed | LoadKind::Users);
    let trial = view.trial;
    let (from_s, to_s) = view.measured;
    if !waits_for_answers || trial.times[TimeKind::Response].is_empty() {
        return None;
    }
    let mut intervals = Vec::new();
    for row in trial.intervals_within(from_s, to_s) {
        let mut times = Vec::new();
        let end_s = row.start_s + row.counts.seconds;
        let log = &trial.times[TimeKind::Response];
        log.each_count(row.start_s, end_s, |us, count| times.push((us, count)));
        intervals.push(Interval {
            seconds: row.counts.seconds,
            times,
        });
    }
    percentiles(&intervals, stalls, first_answer_s(trial, to_s) - to_s)
}

/// When the first answer after an instant came, at the earliest.
fn first_answer_s(trial: &Trial, at_s: f64) -> f64 {
    let mut known_s = at_s;
    for row in trial.intervals_within(at_s, f64::INFINITY) {
        known_s = row.start_s;
        if row.counts.succeeded > 0 {
            break;
        }
        known_s += row.counts.seconds;
    }
    known_s.max(at_s)
}

/// `late_s`: how long after the phase a stall lasts that lasts until its end.
fn percentiles(
    intervals: &[Interval],
    stalls: &[StallSpan],
    late_s: f64,
) -> Option<TrialPercentiles> {
    let times = || intervals.iter().flat_map(|interval| &interval.times);
    let count: u64 = times().map(|(_, count)| count).sum();
    let mut by_count = histogram::empty();
    times().for_each(|(us, count)| record(&mut by_count, *us, *count));
    let usual_us = histogram::quantile(&by_count, 0.5)?;
    let mut weighted = histogram::empty();
    let mut seconds: Vec<f64> = intervals.iter().map(|interval| interval.seconds).collect();
    for stall in stalls {
        let mut stall_s = stall.length_s + add_edges(intervals, &mut seconds, *stall, usual_us);
        let weight_s = stall_s;
        let rest_s = if stall.to_the_end { late_s } else { 0.0 };
        stall_s += rest_s;
        add_stall(
            &mut weighted,
            (rest_s * 1e6, stall_s * 1e6),
            weight_s,
            usual_us,
        );
    }
    add_answers(&mut weighted, intervals, &seconds);
    let value = |quantile: f64| Some(as_f64(weighted.value_at_quantile(quantile)));
    (!weighted.is_empty()).then(|| histogram::percentiles(count, value, Some(weighted.mean())))
}

/// Takes the time of a stall from its intervals, and what it has of the two at its edges: the longest answer after it says how long it
/// was. Returns the latter.
fn add_edges(intervals: &[Interval], seconds: &mut [f64], stall: StallSpan, usual_us: f64) -> f64 {
    let (mut at_s, mut before, mut after) = (0.0, None, None);
    for (index, interval) in intervals.iter().enumerate() {
        let middle_s = at_s + interval.seconds / 2.0;
        at_s += interval.seconds;
        if middle_s < stall.from_s {
            before = Some(index);
        } else if middle_s < stall.from_s + stall.length_s {
            seconds[index] = 0.0;
        } else {
            after = Some(index);
            break;
        }
    }
    let Some(after) = after else {
        return 0.0;
    };
    let longest_us = intervals[after].times.iter().map(|(us, _)| *us).max();
    let longest_us = longest_us.map_or(0.0, as_f64);
    let more_s = (longest_us - usual_us) / 1e6 - stall.length_s;
    let edges = [before, Some(after)].into_iter().flatten();
    let edges: Vec<usize> = edges.collect();
    let free_s: f64 = edges.iter().map(|index| seconds[*index]).sum();
    let more_s = more_s.clamp(0.0, free_s);
    for index in edges {
        if free_s > 0.0 {
            seconds[index] *= 1.0 - more_s / free_s;
        }
    }
    more_s
}

/// Arrivals spread evenly over a stall wait from the longest to the shortest time until its end.
fn add_stall(
    weighted: &mut Histogram<u64>,
    (shortest_us, longest_us): (f64, f64),
    weight_s: f64,
    usual_us: f64,
) {
    let slice_us = (longest_us - shortest_us) / f64::from(SLICES);
    for slice in 0..SLICES {
        let us = shortest_us + slice_us * (f64::from(slice) + 0.5);
        let ns = weight_s * NS_PER_S / f64::from(SLICES);
        record(
            weighted,
            whole_distribution(us.max(usual_us)),
            whole_distribution(ns),
        );
    }
}

/// The answers of an interval share its time. That of intervals without an answer belongs to the next answers, or at the end to the
/// last ones.
fn add_answers(weighted: &mut Histogram<u64>, intervals: &[Interval], seconds: &[f64]) {
    let mut waiting_s = 0.0;
    let answered = intervals
        .iter()
        .rposition(|interval| !interval.times.is_empty());
    let at_end_s: f64 = match answered {
        Some(last) => seconds[last + 1..].iter().sum(),
        None => 0.0,
    };
    for (index, (interval, seconds)) in intervals.iter().zip(seconds).enumerate() {
        waiting_s += seconds;
        let answers: u64 = interval.times.iter().map(|(_, count)| count).sum();
        if answers == 0 {
            continue;
        }
        if answered == Some(index) {
            waiting_s += at_end_s;
        }
        let ns = waiting_s * NS_PER_S / as_f64(answers);
        for (us, count) in &interval.times {
            record(weighted, *us, whole_distribution(ns * as_f64(*count)));
        }
        waiting_s = 0.0;
    }
}

fn record(histogram: &mut Histogram<u64>, us: u64, count: u64) {
    histogram
        .record_n(us, count)
        .expect("the histogram grows to the range it needs");
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times of a phase are not negative, and far below 2^53"
)]
fn whole_distribution(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals of so many seconds, each with the times in ms of its answers and their counts.
    fn check(
        interval_s: f64,
        answers: &[&[(u64, u64)]],
        stalls: &[(f64, f64)],
        expected: &[(f64, f64)],
    ) {
        let interval = |all: &&[(u64, u64)]| Interval {
            seconds: interval_s,
            times: all.iter().map(|(ms, count)| (ms * 1_000, *count)).collect(),
        };
        let intervals: Vec<Interval> = answers.iter().map(interval).collect();
        let phase_s: f64 = intervals.iter().map(|interval| interval.seconds).sum();
        let stalls: Vec<StallSpan> = stalls
            .iter()
            .map(|(from_s, length_s)| StallSpan {
                from_s: *from_s,
                length_s: *length_s,
                to_the_end: from_s + length_s >= phase_s,
            })
            .collect();
        let quantiles = percentiles(&intervals, &stalls, 0.5).unwrap();
        for (quantile, ms) in expected {
            let found_ms = match quantile {
                0.5 => quantiles.p50.as_ref(),
                0.9 => quantiles.p90.as_ref(),
                0.99 => quantiles.p99.as_ref(),
                _ => quantiles.max.as_ref(),
            };
            let found_ms = found_ms.unwrap().us / 1e3;
            let is_near = (found_ms - ms).abs() <= 0.002 * ms;
            assert!(is_near, "p{quantile}: {found_ms} ms and not {ms}");
        }
    }

    #[test]
    fn an_even_load_has_the_usual_percentiles() {
        let answers: &[(u64, u64)] = &[(10, 90), (20, 9), (30, 1)];
        check(
            1.0,
            &[answers; 8],
            &[],
            &[(0.5, 10.0), (0.9, 10.0), (0.99, 20.0), (1.0, 30.0)],
        );
    }

    #[test]
    fn intervals_count_by_their_length() {
        // Of a hundred answers one is slow, and takes as long as all others together.
        check(
            1.0,
            &[&[(10, 99)], &[(900, 1)]],
            &[],
            &[(0.5, 10.0), (0.9, 900.0), (0.99, 900.0)],
        );
        // Two of six seconds go by before a slow answer.
        check(
            1.0,
            &[
                &[(10, 99)],
                &[(10, 99)],
                &[(10, 99)],
                &[],
                &[(2_000, 1)],
                &[(10, 99)],
            ],
            &[],
            &[(0.5, 10.0), (0.9, 2_000.0)],
        );
    }

    #[test]
    fn arrivals_in_a_stall_wait_until_it_is_over() {
        // A minute with ten connections whose answers take 25 ms, and nothing is answered for five seconds. One in forty arrivals of the
        // second after it waits for longer than that, too: 0.025 s of a minute. So 1 % of the arrivals, 0.6 s, wait for longer than
        // 5 s − 0.6 s + 0.025 s.
        let usual: &[(u64, u64)] = &[(25, 400)];
        let mut answers = vec![usual; 60];
        answers[30..35].fill(&[]);
        answers[35] = &[(25, 390), (5_025, 10)];
        check(
            1.0,
            &answers,
            &[(30.0, 5.0)],
            &[(0.5, 25.0), (0.9, 25.0), (0.99, 4_425.0)],
        );
        // The stall begins and ends within intervals: half a second of the two at its edges is its own. One in twenty arrivals of the
        // 0.75 s that are left of the second edge waits for longer, too: 5.5 s − 0.6 s + 0.0375 s.
        answers[35] = &[(25, 190), (5_525, 10)];
        answers[29] = &[(25, 200)];
        check(1.0, &answers, &[(30.0, 5.0)], &[(0.99, 4_937.5)]);
        // Until the end of the phase, and the first answer comes half a second later.
        let mut answers = vec![usual; 60];
        answers[55..].fill(&[]);
        check(1.0, &answers, &[(55.0, 5.0)], &[(0.99, 4_900.0)]);
    }
}

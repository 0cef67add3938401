//! What windows show of a percentile if the store stalls: 5 ms of a process that stands still for 20 to 40 ms, as a delay is sampled
//! from a fast store (`runner::probe::sampling`). The rates stand in docs/design/0082-delivery-delay.md.

use crate::{
    arithmetic::random::Random,
    intervals::{
        estimate::{Scale, estimate},
        quantile::{thin_tail, thin_tail_of_windows},
    },
};

/// Records in a millisecond.
const RATE: f64 = 4.0;
const WINDOW_MS: f64 = 5.0;
/// Windows are a quarter of the time at most.
const SHARE: f64 = 4.0;
/// The shortest trial.
const TRIAL_MS: f64 = 2_000.0;
/// Stalls in a millisecond: 3 % of the time, as in a recorded run of the embedded store, and half of it.
const FEW: f64 = 0.001;
const MANY: f64 = 0.03;
const TRIALS: usize = 5;
const CELLS: usize = 100;

/// When a record was visible, and its delay, in milliseconds.
type Record = (f64, f64);

/// A trial, by the instants at which records were visible.
fn trial(random: &mut Random, length_ms: f64, stalls_per_ms: f64) -> Vec<Record> {
    let mut stalls: Vec<(f64, f64)> = Vec::new();
    let mut time = 0.0;
    while time < length_ms {
        time -= random.unit().ln() / stalls_per_ms;
        let end = time + 20.0 + 20.0 * random.unit();
        stalls.push((time, end));
        time = end;
    }
    let mut records: Vec<Record> = Vec::new();
    let (mut sent, mut next) = (0.0, 0);
    while sent < length_ms {
        sent += 1.0 / RATE;
        let ready = sent + random.lognormal(2.0, 0.3);
        while stalls[next].1 < sent {
            next += 1;
        }
        let stall = stalls[next..].iter().find(|(_, end)| ready < *end);
        // What has waited is visible at once.
        let visible = match stall {
            Some((from, end)) if *from <= ready => end + 0.001 * (ready - from),
            _ => ready,
        };
        records.push((visible, visible - sent));
    }
    records.sort_by(|a, b| a.0.total_cmp(&b.0));
    records
}

/// The delays of what was visible first in windows at equal distances.
fn followed_delays(records: &[Record], windows: usize, random: &mut Random) -> Vec<f64> {
    let apart = records.last().unwrap().0 / windows as f64;
    let first = (apart - WINDOW_MS) * random.unit();
    let of_window = |window: usize| {
        let from = first + apart * window as f64;
        let position = |ms: f64| records.partition_point(|(visible, _)| *visible < ms);
        &records[position(from)..position(from + WINDOW_MS)]
    };
    let all = (0..windows).flat_map(of_window);
    all.map(|(_, delay)| *delay).collect()
}

/// `None`: nothing was visible in any window.
fn percentile(mut delays: Vec<f64>, quantile: f64) -> Option<f64> {
    delays.sort_by(f64::total_cmp);
    let rank = (quantile * delays.len() as f64).ceil() as usize;
    delays.get(rank.max(1) - 1).copied()
}

/// Shares of trials and cells.
#[derive(Debug)]
struct Rates {
    /// Trials whose percentile is off by a factor of 1.5 or more from that of all their records.
    off: f64,
    /// Cells whose interval over trials lies wholly beyond three quarters or four thirds of the percentile of all their records.
    false_threshold: f64,
    /// Trials whose percentile would be sound, if records were counted.
    sound_by_records: f64,
}

fn rates(windows: usize, quantile: f64, stalls_per_ms: f64) -> Rates {
    let mut random = Random::from_seed(82 + windows as u64);
    let length_ms = TRIAL_MS.max(windows as f64 * WINDOW_MS * SHARE);
    let cells = if windows > 100 { CELLS / 20 } else { CELLS };
    let (mut off, mut wrong, mut sound) = (0, 0, 0);
    for _ in 0..cells {
        let (mut estimates, mut truth) = (Vec::new(), Vec::new());
        for _ in 0..TRIALS {
            let records = trial(&mut random, length_ms, stalls_per_ms);
            let sample = followed_delays(&records, windows, &mut random);
            sound += usize::from(thin_tail(sample.len() as u64, quantile).is_none());
            let of_sample = percentile(sample, quantile);
            let all = records.iter().map(|(_, delay)| *delay).collect();
            let of_all = percentile(all, quantile).unwrap();
            let is_near = |estimates: f64| (1.0 / 1.5..1.5).contains(&(estimates / of_all));
            off += usize::from(!of_sample.is_some_and(is_near));
            estimates.extend(of_sample);
            truth.push(of_all);
        }
        let summary = |values: &[f64]| estimate(values, Scale::default()).unwrap();
        let (low, high) = summary(&estimates).interval.unwrap_or((0.0, f64::INFINITY));
        let point = summary(&truth).point;
        wrong += usize::from(high < 0.75 * point || low > point / 0.75);
    }
    let trials = (cells * TRIALS) as f64;
    Rates {
        off: off as f64 / trials,
        false_threshold: wrong as f64 / cells as f64,
        sound_by_records: sound as f64 / trials,
    }
}

/// A window has some tens of records, so that a hundred of them count as enough for a p99, and it is off by half in every second
/// trial; with fewer windows an interval over trials excludes the true value in most cells.
#[test]
fn records_of_windows_do_not_count() {
    let few = rates(10, 0.99, FEW);
    assert!(few.false_threshold > 0.6, "{few:?}");
    let many = rates(100, 0.99, FEW);
    assert!(many.sound_by_records > 0.99 && many.off > 0.35, "{many:?}");
    let median = rates(5, 0.5, MANY);
    assert!(median.false_threshold > 0.05, "{median:?}");
}

/// Of the fewest windows that count as enough nothing false is concluded.
#[test]
fn enough_windows_show_the_percentile() {
    for (windows, quantile) in [(20, 0.5), (100, 0.9), (1_000, 0.99)] {
        assert!(thin_tail_of_windows(Some(windows), quantile).is_none());
        for stalls_per_ms in [FEW, MANY] {
            let windows = usize::try_from(windows).unwrap();
            let outcome = rates(windows, quantile, stalls_per_ms);
            let case = (windows, quantile, stalls_per_ms);
            assert!(outcome.false_threshold <= 0.02, "{case:?} {outcome:?}");
        }
    }
}

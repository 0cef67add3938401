//! Whether a warm-up is over: intervals → bins → the test of equivalence of `stats`.
//!
//! It ends on positive evidence: throughput, median response time and CPU of the system are shown to have one level. A test that
//! only shows no change would end nearly every warm-up at its first possible instant. Reasons: docs/design/0048-warm-up.md.

use std::{collections::VecDeque, time::Duration};

use waggle_load::Interval;
use waggle_spec::TimeKind;
use waggle_stats::{MAX_EQUIVALENT_BINS, MIN_EQUIVALENT_BINS, is_equivalent};

use crate::number::{as_f64, share};

/// Minimum length of a bin: shorter intervals are merged, because their tail is noise.
const MIN_BIN: Duration = Duration::from_millis(250);
/// Bins of a whole warm-up. Its timeout says how slow a warm-up it is meant for, and a change that is slower than the bins that are
/// compared does not show in them.
const BINS: u32 = 20;
/// Largest change, as a share, of a level that is one.
const TOLERANCE: f64 = 0.05;
/// Response times are whole microseconds, and their median is one of two neighbours.
const RESOLUTION_US: f64 = 2.0;
/// CPU time is counted in ticks of 10 ms: of each of two samples, one can be missing.
const CPU_RESOLUTION_S: f64 = 0.02;

/// The last bins of a warm-up.
#[derive(Debug)]
pub(crate) struct WarmUp {
    bin: Duration,
    bins: VecDeque<Bin>,
    under_way: Option<UnderWay>,
}

#[derive(Debug, Clone, Copy)]
struct Bin {
    throughput: f64,
    p50: f64,
    cpu: f64,
}

#[derive(Debug)]
struct UnderWay {
    interval: Interval,
    cpu: Duration,
}

impl WarmUp {
    /// One that ends at this timeout at the latest.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            bin: MIN_BIN.max(timeout / BINS),
            bins: VecDeque::new(),
            under_way: None,
        }
    }

    /// Adds an interval, with the CPU time that the system used in it; true if the system is shown to be steady.
    pub(crate) fn add(&mut self, interval: &Interval, system_cpu: Duration) -> bool {
        let mut bin = match self.under_way.take() {
            Some(mut bin) => {
                bin.interval.follow(interval);
                bin
            }
            None => UnderWay {
                interval: interval.clone(),
                cpu: Duration::ZERO,
            },
        };
        bin.cpu += system_cpu;
        if bin.interval.length < self.bin {
            self.under_way = Some(bin);
            return false;
        }
        self.bins.push_back(bin.close_bin());
        if self.bins.len() > MAX_EQUIVALENT_BINS {
            self.bins.pop_front();
        }
        self.bins.len() >= MIN_EQUIVALENT_BINS && self.is_steady()
    }

    fn is_steady(&self) -> bool {
        let series = |value: fn(&Bin) -> f64| self.bins.iter().map(value).collect::<Vec<f64>>();
        let (throughput, p50, cpu) = (
            series(|bin| bin.throughput),
            series(|bin| bin.p50),
            series(|bin| bin.cpu),
        );
        let cpu_resolution = CPU_RESOLUTION_S / self.bin.as_secs_f64();
        // CPU that is not sampled, or as little as its resolution, shows nothing.
        let is_cpu_known = cpu.iter().all(|cpu| *cpu > cpu_resolution);
        is_equivalent(&throughput, TOLERANCE, 0.0)
            && is_equivalent(&p50, TOLERANCE, RESOLUTION_US)
            && (!is_cpu_known || is_equivalent(&cpu, TOLERANCE, cpu_resolution))
    }
}

impl UnderWay {
    fn close_bin(&self) -> Bin {
        let Interval {
            length,
            counts,
            times,
            ..
        } = &self.interval;
        let seconds = length.as_secs_f64();
        Bin {
            throughput: share(as_f64(counts.succeeded), seconds),
            p50: as_f64(times[TimeKind::Response].value_at_quantile(0.5)),
            cpu: share(self.cpu.as_secs_f64(), seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::random;

    /// A warm-up: how far below its level the system begins, its time constant, and the noise of an interval.
    #[derive(Debug, Clone, Copy)]
    struct Curve {
        below: f64,
        constant_s: f64,
        noise: f64,
    }

    impl Curve {
        fn level(self, at_s: f64) -> f64 {
            1.0 - self.below * (-at_s / self.constant_s).exp()
        }

        /// The mean of a measured phase that begins at this time.
        fn mean(self, from_s: f64, length_s: f64) -> f64 {
            let to_s = from_s + length_s;
            let end = (-from_s / self.constant_s).exp() - (-to_s / self.constant_s).exp();
            1.0 - self.below * end * self.constant_s / length_s
        }
    }

    fn interval(index: u32, length: Duration, succeeded: u64, p50_us: u64) -> Interval {
        let mut made = Interval::new(index.into(), length * index, 0);
        made.length = length;
        made.counts.succeeded = succeeded;
        made.times[TimeKind::Response]
            .record_n(p50_us, succeeded)
            .unwrap();
        made
    }

    /// When the warm-up of a closed load is shown to be steady, in seconds; `None`: not before its timeout.
    fn end_s(curve: Curve, length: Duration, timeout: Duration, seed: u64) -> Option<f64> {
        let mut words = random::words(seed);
        // Twelve uniform numbers add up to a normal one.
        let mut normal = || {
            let sum: u32 = (0..12)
                .map(|_| words.next().map_or(0, |word| (word >> 48) as u32))
                .sum();
            f64::from(sum) / 65_536.0 - 6.0
        };
        let mut warm_up = WarmUp::new(timeout);
        let intervals = u32::try_from(timeout.as_nanos() / length.as_nanos()).unwrap();
        (0..intervals).find_map(|index| {
            let middle_s = length.as_secs_f64() * (f64::from(index) + 0.5);
            let level = curve.level(middle_s) * (curve.noise * normal()).exp();
            let succeeded = (10_000.0 * level * length.as_secs_f64()) as u64;
            let interval = interval(index, length, succeeded, (1_000.0 / level) as u64);
            let is_steady = warm_up.add(&interval, length.mul_f64(0.5 * level));
            is_steady.then(|| length.as_secs_f64() * f64::from(index + 1))
        })
    }

    #[test]
    fn a_system_that_warms_up_is_not_steady_while_its_mean_is_off() {
        let check = |below: f64, constant_s: f64, length_ms: u64, timeout_s: u64| {
            let length = Duration::from_millis(length_ms);
            let timeout = Duration::from_secs(timeout_s);
            for noise in [0.0, 0.01, 0.03] {
                let curve = Curve {
                    below,
                    constant_s,
                    noise,
                };
                let ends = (0..100).filter_map(|seed| end_s(curve, length, timeout, seed));
                let means = ends.map(|end| curve.mean(end, 10.0));
                let off = means.filter(|mean| *mean < 0.95).count();
                assert!(off <= 1, "{curve:?} {length:?}: {off}");
            }
        };
        check(0.5, 10.0, 1_000, 60);
        check(0.3, 10.0, 1_000, 60);
        check(0.3, 10.0, 1_000, 20);
        check(0.2, 10.0, 1_000, 20);
        // Short intervals are merged if the timeout is long.
        check(0.3, 10.0, 250, 20);
        check(0.5, 5.0, 250, 20);
        check(0.5, 2.0, 250, 5);
        check(0.9, 1.0, 100, 5);
    }

    #[test]
    fn a_system_that_is_steady_is_soon_shown_to_be() {
        let check = |noise: f64, shown: usize, soon_s: f64| {
            let curve = Curve {
                below: 0.0,
                constant_s: 1.0,
                noise,
            };
            let length = Duration::from_millis(250);
            let ends = (0..100).filter_map(|seed| end_s(curve, length, length * 20, seed));
            let mut ends: Vec<f64> = ends.collect();
            ends.sort_by(f64::total_cmp);
            assert!(ends.len() >= shown, "{noise}: {}", ends.len());
            assert!(ends[shown / 2] <= soon_s, "{noise}: {ends:?}");
        };
        check(0.0, 100, 2.0);
        check(0.01, 100, 2.0);
        check(0.03, 80, 3.0);
        // What is not sampled is not judged, and a system that answers nothing is not steady.
        let length = Duration::from_millis(250);
        let mut silent = WarmUp::new(length * 20);
        assert!((0..20).all(|index| !silent.add(&interval(index, length, 0, 1), Duration::ZERO)));
        let mut external = WarmUp::new(length * 20);
        let ends = (0..20)
            .position(|index| external.add(&interval(index, length, 100, 500), Duration::ZERO));
        assert_eq!(ends, Some(7));
    }

    #[test]
    fn each_of_the_three_keeps_a_warm_up_going() {
        let length = Duration::from_millis(250);
        let is_steady = |succeeded: fn(u32) -> u64, p50: fn(u32) -> u64, cpu_ms: fn(u32) -> u64| {
            let mut warm_up = WarmUp::new(length * 20);
            (0..20).any(|index| {
                let interval = interval(index, length, succeeded(index), p50(index));
                warm_up.add(&interval, Duration::from_millis(cpu_ms(index)))
            })
        };
        assert!(is_steady(|_| 1_000, |_| 500, |_| 100));
        assert!(!is_steady(
            |index| 1_000 + 100 * u64::from(index),
            |_| 500,
            |_| 100
        ));
        assert!(!is_steady(
            |_| 1_000,
            |index| 500 + 50 * u64::from(index),
            |_| 100
        ));
        assert!(!is_steady(
            |_| 1_000,
            |_| 500,
            |index| 60 + 8 * u64::from(index)
        ));
        // A change within the resolution is none.
        assert!(is_steady(
            |_| 1_000,
            |index| 3 + u64::from(index % 2),
            |_| 100
        ));
        assert!(is_steady(
            |_| 1_000,
            |_| 500,
            |index| u64::from(index % 2) * 10
        ));
    }
}

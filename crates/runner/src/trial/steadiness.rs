//! Whether a warm-up is over: intervals → bins → the steadiness test of `stats`.

use std::{collections::VecDeque, time::Duration};

use hdrhistogram::Histogram;
use waggle_load::Interval;
use waggle_stats::{MIN_STEADY_BINS, Steadiness, SteadyBins, steady};

use crate::counts::{as_f64, share};

/// Minimum length of a bin: shorter intervals are merged, because their tail is noise.
const BIN_AT_LEAST: Duration = Duration::from_millis(250);
/// Number of recent bins that are tested; older ones do not describe the current state.
const BINS: usize = MIN_STEADY_BINS + 2;

/// The last bins of a warm-up.
#[derive(Debug)]
pub(crate) struct WarmUp {
    bins: VecDeque<Bin>,
    under_way: Option<UnderWay>,
}

#[derive(Debug, Clone, Copy)]
struct Bin {
    throughput: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
}

#[derive(Debug)]
struct UnderWay {
    length: Duration,
    succeeded: u64,
    response_time: Histogram<u64>,
    cpu: Duration,
}

impl WarmUp {
    pub(crate) fn new() -> Self {
        Self {
            bins: VecDeque::new(),
            under_way: None,
        }
    }

    /// Adds an interval, with the CPU time the system used in it; true if the system is steady now.
    pub(crate) fn add(&mut self, interval: &Interval, system_cpu: Duration) -> bool {
        let mut bin = match self.under_way.take() {
            Some(mut bin) => {
                // Both come from the engine and have the same bounds.
                bin.response_time.add(&interval.response_time).ok();
                bin
            }
            None => UnderWay {
                length: Duration::ZERO,
                succeeded: 0,
                response_time: interval.response_time.clone(),
                cpu: Duration::ZERO,
            },
        };
        bin.length += interval.length;
        bin.succeeded += interval.counts.succeeded;
        bin.cpu += system_cpu;
        if bin.length < BIN_AT_LEAST {
            self.under_way = Some(bin);
            return false;
        }
        self.bins.push_back(bin.close_bin());
        if self.bins.len() > BINS {
            self.bins.pop_front();
        }
        self.is_steady()
    }

    fn is_steady(&self) -> bool {
        let series = |value: fn(&Bin) -> f64| self.bins.iter().map(value).collect::<Vec<f64>>();
        let (throughput, p50) = (series(|bin| bin.throughput), series(|bin| bin.p50));
        let (p99, cpu) = (series(|bin| bin.p99), series(|bin| bin.cpu));
        // If nothing succeeds, nothing is steady.
        throughput.iter().all(|bin| *bin > 0.0)
            && steady(&SteadyBins {
                throughput: &throughput,
                p50: &p50,
                p99: &p99,
                cpu: &cpu,
                min_time_change: 0.0,
            }) == Steadiness::Steady
    }
}

impl UnderWay {
    fn close_bin(&self) -> Bin {
        let seconds = self.length.as_secs_f64();
        Bin {
            throughput: share(as_f64(self.succeeded), seconds),
            p50: as_f64(self.response_time.value_at_quantile(0.5)),
            p99: as_f64(self.response_time.value_at_quantile(0.99)),
            cpu: share(self.cpu.as_secs_f64(), seconds),
        }
    }
}

//! What response times are at least without the lag of the load generator.
//!
//! A response time is the system's own time and the lag of its request. If a share 1 − p of the requests had a lag above l, then at most
//! that share of them is measured as longer than its own time by more than l. So the q-quantile of the own times is at least the measured
//! quantile at q − (1 − p) less l, for every p at which the lag is known. Only lag that bunches arrivals, and so lengthens the own times,
//! is not in it. Rates: docs/design/0088-answers-by-ranges.md.

use hdrhistogram::Histogram;
use waggle_results::LagInfo;
use waggle_stats::{Finding, LatenessFinding, Reason};

use crate::recording::histogram::{TrialPercentiles, as_f64, of_values};

/// Whether the generator's lag makes the response times of a trial doubtful.
pub(crate) fn is_late(reasons: &[Reason]) -> bool {
    reasons.iter().any(|reason| {
        matches!(
            reason.finding,
            Finding::Lateness(LatenessFinding::Late { .. })
        )
    })
}

/// The lowest values of the percentiles and of the mean; `None` where there is no sample.
pub(crate) fn percentiles_without_lag(
    measured: &Histogram<u64>,
    lag: &LagInfo,
) -> Option<TrialPercentiles> {
    let known = known_lags(lag);
    let least = |quantile: f64| least_at_quantile(measured, &known, quantile);
    let mean = (measured.mean() - mean_at_most(&known)).max(0.0);
    (!measured.is_empty()).then(|| of_values(measured.len(), least, Some(mean)))
}

/// By the lags of each of these shares.
fn least_at_quantile(measured: &Histogram<u64>, known: &[(f64, f64)], quantile: f64) -> f64 {
    let mut least: f64 = 0.0;
    for (of_requests, lag_us) in known {
        let lower_quantile = quantile - (1.0 - of_requests);
        if lower_quantile > 0.0 {
            least = least.max(as_f64(measured.value_at_quantile(lower_quantile)) - lag_us);
        }
    }
    least
}

/// Shares of the requests, each with the lag that they do not exceed.
fn known_lags(lag: &LagInfo) -> [(f64, f64); 5] {
    [
        (0.5, lag.p50_us),
        (0.9, lag.p90_us),
        (0.99, lag.p99_us),
        (0.999, lag.p999_us),
        (1.0, lag.max_us),
    ]
}

/// The highest mean of lags with these percentiles.
fn mean_at_most(known: &[(f64, f64)]) -> f64 {
    let mut before = 0.0;
    let parts = known.iter().map(|(share, lag_us)| {
        let part = (share - before) * lag_us;
        before = *share;
        part
    });
    parts.sum()
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng, rngs::StdRng};
    use waggle_metrics::Statistic;

    use super::*;
    use crate::recording::histogram::empty;

    /// How the own times of a system are distributed, in microseconds.
    #[derive(Debug, Clone, Copy)]
    enum Own {
        Lognormal,
        /// One request in fifty waits up to a second.
        Stalls,
        Fixed,
    }

    impl Own {
        fn time(self, random: &mut StdRng) -> f64 {
            let unit = random.random::<f64>();
            match self {
                Self::Lognormal => 2_000.0 * (normal(random)).exp(),
                Self::Stalls if unit < 0.02 => 1_000_000.0 * random.random::<f64>(),
                Self::Stalls => 900.0 + 200.0 * unit,
                Self::Fixed => 50_000.0,
            }
        }
    }

    fn normal(random: &mut StdRng) -> f64 {
        let (radius, angle): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "microseconds above 0"
    )]
    fn note(histogram: &mut Histogram<u64>, us: f64) {
        histogram.record(us.max(1.0) as u64).unwrap();
    }

    /// Of 4,000 requests, seven in a hundred with a lag of 1 to 20 ms: the own p99, and its lowest value by the lag.
    fn trial(distribution: Own, seed: u64) -> (f64, f64) {
        let mut random = StdRng::seed_from_u64(seed);
        let (mut owns, mut measured, mut lags) = (empty(), empty(), empty());
        for _ in 0..4_000 {
            let time = distribution.time(&mut random);
            let lag = match random.random::<f64>() < 0.07 {
                true => 1_000.0 + 19_000.0 * random.random::<f64>(),
                false => 5.0,
            };
            note(&mut owns, time);
            note(&mut measured, time + lag);
            note(&mut lags, lag);
        }
        let lag_quantile = |quantile| as_f64(lags.value_at_quantile(quantile));
        let lag = LagInfo {
            p50_us: lag_quantile(0.5),
            p90_us: lag_quantile(0.9),
            p99_us: lag_quantile(0.99),
            p999_us: lag_quantile(0.999),
            max_us: lag_quantile(1.0),
        };
        let least = percentiles_without_lag(&measured, &lag).unwrap();
        let p99 = least.statistic(Statistic::P99).unwrap();
        (as_f64(owns.value_at_quantile(0.99)), p99)
    }

    #[test]
    fn the_own_percentile_is_never_below_its_bound() {
        let check = |distribution: Own, share_min: f64| {
            let mut shares = 0.0;
            for seed in 0..200 {
                let (truth, least) = trial(distribution, seed);
                // Histograms have three digits.
                assert!(
                    least <= truth * 1.002,
                    "{distribution:?} {seed}: {least} {truth}"
                );
                shares += least / truth / 200.0;
            }
            assert!(shares >= share_min, "{distribution:?}: {shares}");
        };
        check(Own::Stalls, 0.90);
        check(Own::Fixed, 0.95);
        // Here the lag is most of what is measured.
        check(Own::Lognormal, 0.05);
    }

    #[test]
    fn a_mean_of_lags_is_no_more_than_its_percentiles_allow() {
        let mean = mean_at_most(&[
            (0.5, 1.0),
            (0.9, 2.0),
            (0.99, 3.0),
            (0.999, 4.0),
            (1.0, 5.0),
        ]);
        assert!((mean - (0.5 + 0.8 + 0.27 + 0.036 + 0.005)).abs() < 1e-12);
    }
}

//! Whether a percentile rests on enough samples (method rule 6). Histograms are merged by their readers.

/// Fewer samples beyond a percentile than this, and it is shown greyed.
pub const MIN_SAMPLES_BEYOND: u64 = 10;

/// A percentile with too few samples beyond it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThinTail {
    pub quantile: f64,
    pub samples: u64,
    /// How many of them are beyond it; fewer than [`MIN_SAMPLES_BEYOND`].
    pub beyond: u64,
}

/// Why the percentile at `quantile` (0 to 1) of `samples` samples is to be greyed; `None` if it is sound. The maximum (quantile
/// 1) is an observation and no estimate: it is always shown.
#[must_use]
pub fn thin_tail(samples: u64, quantile: f64) -> Option<ThinTail> {
    if quantile >= 1.0 {
        return None;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of samples are far below 2^52"
    )]
    // A hair more, so that 1 % of 1,000 is 10 although 1 − 0.99 is a little less than 0.01.
    let beyond = samples as f64 * (1.0 - quantile) + 1e-9 * samples as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; the cast saturates"
    )]
    let beyond = beyond as u64;
    (beyond < MIN_SAMPLES_BEYOND).then_some(ThinTail {
        quantile,
        samples,
        beyond,
    })
}

#[cfg(test)]
mod tests {
    use super::thin_tail;

    #[test]
    fn ten_samples_beyond_are_enough() {
        let check = |samples, quantile, sound| {
            assert_eq!(
                thin_tail(samples, quantile).is_none(),
                sound,
                "{samples} {quantile}"
            )
        };
        check(1_000, 0.99, true);
        check(999, 0.99, false);
        check(10_000, 0.999, true);
        check(9_999, 0.999, false);
        check(100_000, 0.9999, true);
        check(20, 0.5, true);
        check(19, 0.5, false);
        check(0, 0.5, false);
        check(1, 1.0, true);
        let thin = thin_tail(5_000, 0.999).unwrap();
        assert_eq!((thin.samples, thin.beyond), (5_000, 5));
    }
}

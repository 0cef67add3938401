//! Whether a percentile rests on enough samples (method rule 6). Histograms are merged by their readers.
//!
//! A sample is what was drawn by itself. Of records that were followed in windows that is the window: a store stalls for all records
//! of a window, or for none, so that a window with a thousand records says hardly more about stalls than one with ten
//! ([design/0082](../../../docs/design/0082-delivery-delay.md)).

#[cfg(test)]
mod simulation;

/// Fewer samples beyond a percentile than this, and it is shown greyed.
pub const MIN_SAMPLES_BEYOND: u64 = 10;

/// A percentile with too few samples beyond it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThinTail {
    pub quantile: f64,
    pub drawn: Drawn,
}

/// What was drawn, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// Each value by itself.
    Values(u64),
    /// Values in windows; `None`: it is not known in how many.
    Windows(Option<u64>),
}

impl ThinTail {
    /// How many draws are beyond it; fewer than [`MIN_SAMPLES_BEYOND`]. `None`: not known.
    #[must_use]
    pub fn samples_beyond(&self) -> Option<u64> {
        let (Drawn::Values(draws) | Drawn::Windows(Some(draws))) = self.drawn else {
            return None;
        };
        Some(samples_beyond(draws, self.quantile))
    }

    /// Whether the values were drawn in windows.
    #[must_use]
    pub fn is_of_windows(&self) -> bool {
        matches!(self.drawn, Drawn::Windows(_))
    }
}

/// Why the percentile at `quantile` (0 to 1) of `samples` samples is to be greyed; `None` if it is sound. The maximum (quantile
/// 1) is an observation and no estimate: it is always shown.
#[must_use]
pub fn thin_tail(samples: u64, quantile: f64) -> Option<ThinTail> {
    let is_thin = quantile < 1.0 && samples_beyond(samples, quantile) < MIN_SAMPLES_BEYOND;
    is_thin.then_some(ThinTail {
        quantile,
        drawn: Drawn::Values(samples),
    })
}

/// The same of values that were drawn in windows; `None`: it is not known in how many. The maximum of windows is not that of what
/// they were drawn from.
#[must_use]
pub fn thin_tail_of_windows(windows: Option<u64>, quantile: f64) -> Option<ThinTail> {
    let is_sound =
        windows.is_some_and(|windows| samples_beyond(windows, quantile) >= MIN_SAMPLES_BEYOND);
    (!is_sound).then_some(ThinTail {
        quantile,
        drawn: Drawn::Windows(windows),
    })
}

fn samples_beyond(draws: u64, quantile: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of samples are far below 2^52"
    )]
    // A hair more, so that 1 % of 1,000 is 10 although 1 − 0.99 is a little less than 0.01.
    let beyond = draws as f64 * (1.0 - quantile) + 1e-9 * draws as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; the cast saturates"
    )]
    let beyond = beyond as u64;
    beyond
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            (thin.drawn, thin.samples_beyond()),
            (Drawn::Values(5_000), Some(5))
        );
    }

    #[test]
    fn windows_count_as_samples() {
        let check = |windows, quantile, sound| {
            let thin = thin_tail_of_windows(windows, quantile);
            assert_eq!(thin.is_none(), sound, "{windows:?} {quantile}");
            assert!(thin.is_none_or(|thin| thin.is_of_windows()));
        };
        check(Some(1_000), 0.99, true);
        check(Some(999), 0.99, false);
        check(Some(20), 0.5, true);
        check(Some(19), 0.5, false);
        check(None, 0.5, false);
        check(Some(1_000_000), 1.0, false);
    }
}

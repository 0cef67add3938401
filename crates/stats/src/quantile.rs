//! Whether a percentile may be shown in full strength (method rule 6). Histograms are merged where they are read.

use crate::words::{count, percent};

/// Fewer samples beyond a percentile than this, and it is shown greyed.
pub const MIN_SAMPLES_BEYOND: u64 = 10;

/// Why the percentile at `quantile` (0 to 1) of `samples` samples is to be greyed; `None` where it is sound.
/// The maximum (quantile 1) is an observation and no estimate: it is always shown.
#[must_use]
pub fn thin_tail(samples: u64, quantile: f64) -> Option<String> {
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
    (beyond < MIN_SAMPLES_BEYOND).then(|| {
        format!(
            "{} of {} samples lie beyond {}; {MIN_SAMPLES_BEYOND} are needed",
            count(beyond),
            count(samples),
            percent_of(quantile)
        )
    })
}

fn percent_of(quantile: f64) -> String {
    if quantile > 0.999 {
        format!("{} %", (quantile * 1e6).round() / 1e4)
    } else {
        percent(quantile)
    }
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
        let reason = thin_tail(5_000, 0.999).unwrap();
        assert_eq!(
            reason,
            "5 of 5,000 samples lie beyond 99.9 %; 10 are needed"
        );
    }
}

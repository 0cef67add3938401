//! Values of flags: sizes within bounds, and durations.

use std::{ops::RangeInclusive, time::Duration};

use clap::builder::RangedU64ValueParser;
use waggle_units::{DurationError, parse_duration_up_to};

/// A number of bytes, records, connections, … within bounds.
pub fn size(bounds: RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(bounds)
}

/// The longest duration of a flag: a year.
const DURATION_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// A duration of at most a year: `10s`, `500ms`, `50us`, `2m`.
///
/// # Errors
/// For any other text.
pub fn duration(text: &str) -> Result<Duration, DurationError> {
    parse_duration_up_to(text, DURATION_MAX)
}

/// Why a duration is not within a flag's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BoundsError {
    #[error(transparent)]
    Duration(#[from] DurationError),
    #[error("expected more than 0")]
    Zero,
    #[error("expected {min:?} to {max:?}, found {found:?}")]
    Outside {
        min: Duration,
        max: Duration,
        found: Duration,
    },
}

/// A duration that is not zero.
///
/// # Errors
/// For any other text.
pub fn positive_duration(text: &str) -> Result<Duration, BoundsError> {
    match duration(text)? {
        Duration::ZERO => Err(BoundsError::Zero),
        time => Ok(time),
    }
}

/// A duration within bounds.
///
/// # Errors
/// For any other text.
pub fn duration_within(
    text: &str,
    bounds: RangeInclusive<Duration>,
) -> Result<Duration, BoundsError> {
    let value = duration(text)?;
    if bounds.contains(&value) {
        return Ok(value);
    }
    let (min, max) = bounds.into_inner();
    Err(BoundsError::Outside {
        min,
        max,
        found: value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_at_most_a_year_and_may_have_to_be_positive() {
        let year = Duration::from_secs(366 * 24 * 3600);
        assert_eq!(duration("8784h"), Ok(year));
        let too_long = DurationError::TooLong { max: year };
        assert_eq!(duration("8785h"), Err(too_long));
        assert_eq!(positive_duration("50us"), Ok(Duration::from_micros(50)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        let zero = Err(BoundsError::Zero);
        assert_eq!(positive_duration("0s"), zero);
        let syntax = Err(DurationError::Syntax.into());
        assert_eq!(positive_duration("5"), syntax);
        let (min, max) = (Duration::from_secs(1), Duration::from_secs(60));
        assert_eq!(duration_within("1m", min..=max), Ok(max));
        let value = Duration::from_millis(999);
        let outside = BoundsError::Outside {
            min,
            max,
            found: value,
        };
        assert_eq!(duration_within("999ms", min..=max), Err(outside));
    }
}

//! The values that the system can have, by what was measured and by the directions in which that may be wrong.

/// Where the system's own value can lie if the measured one is doubtful.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Bias {
    /// At the measured value or below it.
    AtMost,
    /// At the measured value or below it, by no more than the lag of the load generator. Percentiles of response times have the lowest
    /// value of each trial, so that their intervals hold it already.
    ByLag,
    /// At the measured value or above it.
    AtLeast,
    /// Between the measured value divided by this factor, which is 1 or more, and the measured value times the factor.
    Factor(f64),
    /// Anywhere.
    Unknown,
}

/// The values that the system can have, by what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

/// A range that is a larger share of its high end than this is wide.
const WIDE_FROM: f64 = 0.1;

/// How far a metric of a cell is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricVerdict {
    /// Its interval says where the system's own value is.
    Estimate,
    /// The system's own value is on one side of the measured one.
    Bound,
    /// The system's own value may be anything.
    Unknown,
}

impl MetricVerdict {
    /// As it is written everywhere.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            Self::Bound => "bound",
            Self::Unknown => "unknown",
        }
    }
}

impl Range {
    /// Both ends are known, one of them, or none.
    #[must_use]
    pub fn verdict(self) -> MetricVerdict {
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => MetricVerdict::Estimate,
            (false, false) => MetricVerdict::Unknown,
            _ => MetricVerdict::Bound,
        }
    }

    /// All values of both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Whether its high end alone would say too much.
    #[must_use]
    pub fn is_wide(self) -> bool {
        self.high - self.low > WIDE_FROM * self.high
    }

    /// From an interval (for a number without one its point, twice), and the doubts about the number.
    #[must_use]
    pub fn new((low, high): (f64, f64), biases: impl IntoIterator<Item = Bias>) -> Self {
        let mut range = Self { low, high };
        let (factors, biases): (Vec<Bias>, Vec<Bias>) = biases
            .into_iter()
            .partition(|bias| matches!(bias, Bias::Factor(_)));
        for bias in factors {
            if let Bias::Factor(factor) = bias {
                range.low = range.low.min(low / factor);
                range.high = range.high.max(high * factor);
            }
        }
        for bias in biases {
            if matches!(bias, Bias::AtMost | Bias::ByLag | Bias::Unknown) {
                range.low = f64::NEG_INFINITY;
            }
            if matches!(bias, Bias::AtLeast | Bias::Unknown) {
                range.high = f64::INFINITY;
            }
        }
        range
    }
}

/// A number that may be reported: a point with its interval and its count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub point: f64,
    /// Lower and upper end of the 95 % interval; `None` for a single value, which has no uncertainty.
    pub interval: Option<(f64, f64)>,
    /// How many trials the estimate rests on.
    pub count: usize,
    /// The lowest that the system's own value may be, if the measurement knows it only to within a range; the point is the highest.
    pub least: Option<f64>,
}

impl Estimate {
    /// The lower end of the range in which the value is known, if it is so far from the point that the point alone says too much.
    #[must_use]
    pub fn shown_least(&self) -> Option<f64> {
        let high = self.point;
        self.least.filter(|&low| Range { low, high }.is_wide())
    }

    /// All values that it can have: its interval, or without one the range of its point.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        let point = (self.least.unwrap_or(self.point), self.point);
        self.interval.unwrap_or(point)
    }

    /// `None` if the arithmetic overflowed.
    pub(crate) fn finite(point: f64, interval: Option<(f64, f64)>, count: usize) -> Option<Self> {
        let interval = interval.filter(|(low, high)| low.is_finite() && high.is_finite());
        point.is_finite().then_some(Self {
            point,
            interval,
            count,
            least: None,
        })
    }

    /// Full width of the interval as a share of the point; `None` without an interval or around 0.
    #[must_use]
    pub fn relative_width(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        (self.point != 0.0).then(|| (high - low) / self.point.abs())
    }
}

/// The ratios that two numbers can have if each is known to within the resolution; `None` if the second may be 0.
pub(crate) fn resolved_ratio((new, old): (f64, f64), resolution: f64) -> Option<(f64, f64)> {
    let half = resolution / 2.0;
    (old > half).then(|| {
        (
            (new - half).max(0.0) / (old + half),
            (new + half) / (old - half),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_opens_the_range_on_its_side() {
        let check = |biases: &[Bias], low: f64, high: f64| {
            let range = Range::new((2.0, 3.0), biases.iter().copied());
            assert_eq!(range, Range { low, high }, "{biases:?}");
        };
        check(&[], 2.0, 3.0);
        check(&[Bias::AtMost], f64::NEG_INFINITY, 3.0);
        check(&[Bias::AtLeast], 2.0, f64::INFINITY);
        check(
            &[Bias::AtMost, Bias::AtLeast],
            f64::NEG_INFINITY,
            f64::INFINITY,
        );
        check(&[Bias::Unknown], f64::NEG_INFINITY, f64::INFINITY);
        check(&[Bias::Factor(2.0)], 1.0, 6.0);
        check(&[Bias::Factor(1.5), Bias::Factor(2.0)], 1.0, 6.0);
        check(&[Bias::AtMost, Bias::Factor(2.0)], f64::NEG_INFINITY, 6.0);
    }
}

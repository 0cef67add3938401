//! What the ratio of a metric shows, by a margin.

use waggle_metrics::Wish;
use waggle_stats::{Bias, MarginTest, Range, TrialsNeeded};

/// What the ratio of a metric in one cell shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Judgement {
    /// All of the interval lies within the margin.
    Same,
    /// All of it lies outside, on the side that is wished for.
    Better,
    /// All of it lies outside, on the other side.
    Worse,
    /// All of it lies outside, and neither side is wished for.
    Different,
    Undecided(Open),
}

/// Why nothing is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Open {
    pub why: OpenReason,
    /// So many values of each side would decide, if the true ratio is the observed one; `None`: not known, or not within reason.
    pub trials_needed: Option<TrialsNeeded>,
}

/// Why a ratio is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenReason {
    /// One side has no value above 0.
    NoRatio,
    /// A side has a single value.
    NoInterval,
    /// The interval has values within the margin and outside of it.
    Interval,
    /// The values are known only to within ranges, and these have ratios within the margin and outside of it.
    Range,
    /// The interval decides, but a side's values are doubtful.
    Doubtful,
    /// Of so many cells one lies as far outside by chance.
    Chance,
}

impl Judgement {
    /// The same if what was found may be chance among all cells.
    pub(super) fn without_difference(self) -> Self {
        match self {
            Self::Better | Self::Worse | Self::Different => Self::Undecided(Open {
                why: OpenReason::Chance,
                trials_needed: None,
            }),
            Self::Same | Self::Undecided(_) => self,
        }
    }
}

/// The doubt about `1 ÷ x`.
pub(crate) fn invert(bias: Bias) -> Bias {
    match bias {
        Bias::AtMost | Bias::ByLag => Bias::AtLeast,
        Bias::AtLeast => Bias::AtMost,
        Bias::Factor(_) | Bias::Unknown => bias,
    }
}

/// `biases`: of the ratio.
pub(super) fn judge(
    margin_test: Option<&MarginTest>,
    biases: &[Bias],
    margin: f64,
    wish: Wish,
) -> Judgement {
    let trials_needed = margin_test.and_then(|margin_test| margin_test.trials_needed);
    let open = |why| {
        Judgement::Undecided(Open {
            why,
            trials_needed: trials_needed.filter(|_| why == OpenReason::Interval),
        })
    };
    let Some(margin_test) = margin_test else {
        return open(OpenReason::NoRatio);
    };
    let Some(interval) = margin_test.estimate.interval else {
        return open(OpenReason::NoInterval);
    };
    let by_interval = side(Range::new(interval, []), margin, wish);
    let by_range = side(Range::new(interval, biases.iter().copied()), margin, wish);
    match (by_range, by_interval) {
        (Some(judgement), _) => judgement,
        (None, Some(_)) => open(OpenReason::Doubtful),
        (None, None) if margin_test.is_open_by_range => open(OpenReason::Range),
        (None, None) => open(OpenReason::Interval),
    }
}

/// `None`: some values of the range lie within the margin, and some outside.
fn side(range: Range, margin: f64, wish: Wish) -> Option<Judgement> {
    let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
    let (less, more) = match wish {
        Wish::More => (Judgement::Worse, Judgement::Better),
        Wish::Less => (Judgement::Better, Judgement::Worse),
        Wish::Neither => (Judgement::Different, Judgement::Different),
    };
    if range.low >= low && range.high <= high {
        Some(Judgement::Same)
    } else if range.high < low {
        Some(less)
    } else if range.low > high {
        Some(more)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use waggle_stats::Estimate;

    use super::*;

    const NEEDED: TrialsNeeded = TrialsNeeded {
        least: 12,
        most: None,
    };

    #[test]
    fn the_interval_is_judged_by_the_margin() {
        let check = |(low, high): (f64, f64), biases: &[Bias], expected: Judgement| {
            let margin_test = MarginTest {
                estimate: Estimate {
                    point: f64::midpoint(low, high),
                    interval: Some((low, high)),
                    count: 6,
                    least: None,
                },
                p_value: None,
                is_paired: false,
                trials_needed: Some(NEEDED),
                is_open_by_range: false,
            };
            let judged = judge(Some(&margin_test), biases, 0.05, Wish::Less);
            assert_eq!(judged, expected, "{low} {high} {biases:?}");
        };
        let open = |why, trials_needed| Judgement::Undecided(Open { why, trials_needed });
        let undecided = open(OpenReason::Interval, Some(NEEDED));
        check((0.97, 1.04), &[], Judgement::Same);
        check((1.06, 1.20), &[], Judgement::Worse);
        check((0.80, 0.90), &[], Judgement::Better);
        check((1.01, 1.20), &[], undecided);
        check((0.90, 1.20), &[], undecided);
        let doubtful = open(OpenReason::Doubtful, None);
        check((1.06, 1.20), &[Bias::AtMost], doubtful);
        check((1.06, 1.20), &[Bias::AtLeast], Judgement::Worse);
        check((1.06, 1.20), &[Bias::Factor(1.005)], Judgement::Worse);
        check((1.06, 1.20), &[Bias::Factor(1.1)], doubtful);
        check((0.97, 1.04), &[Bias::Unknown], doubtful);
    }
}

//! What two cells show of one outcome, and which of the two is ahead. Says nothing of it in words.

use waggle_stats::{Estimate, ratio, side_of};

use crate::outcome::Better;

/// One outcome of two levels of a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    pub name: String,
    pub better: Better,
    pub measure: Measure,
    /// Of each line, at each level.
    pub at: Vec<Vec<Found>>,
    /// A sentence for each line; none where nobody is ahead anywhere.
    pub sentences: Vec<String>,
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The second ÷ the first.
    Ratio,
    /// The second - the first, of shares.
    Difference,
}

impl Measure {
    /// What two equal numbers give.
    #[must_use]
    pub fn even(self) -> f64 {
        match self {
            Self::Ratio => 1.0,
            Self::Difference => 0.0,
        }
    }
}

/// What the two cells at one level show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// A ratio is above 0.
    Number(Estimate),
    /// There is no ratio to nothing.
    NoSuccess(NoSuccess),
    /// One of the two has no number, or one that is nothing on average.
    Nothing,
}

/// No trial of a cell had a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSuccess {
    pub of: Without,
    /// Trials of the cell that has fewer of them.
    pub trials: usize,
}

/// Which of the two had no success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    First,
    Second,
    Both,
}

/// Who is ahead at one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    First,
    Second,
    /// The interval contains that they are even.
    Neither,
    /// There is no interval, and a point alone puts nobody ahead.
    Unsure,
    /// There is nothing to compare.
    Unknown,
}

impl Found {
    /// The ratio or the difference, where there is one.
    #[must_use]
    pub fn number(&self) -> Option<&Estimate> {
        match self {
            Self::Number(found) => Some(found),
            Self::NoSuccess(_) | Self::Nothing => None,
        }
    }

    /// The second ÷ the first. `none` says which of them had no success.
    pub(super) fn ratio(second: &[f64], first: &[f64], none: Option<NoSuccess>) -> Self {
        let is_number = |found: &Estimate| found.point > 0.0;
        match (none, ratio(second, first).filter(is_number)) {
            (Some(none), _) => Self::NoSuccess(none),
            (None, Some(found)) => Self::Number(found),
            (None, None) => Self::Nothing,
        }
    }
}

impl NoSuccess {
    /// Of what succeeded in each trial of the two; `None` where both had a success, or one has no trial.
    pub(super) fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        let trials = first.len().min(second.len());
        let is_none = |values: &[f64]| values.iter().all(|value| *value <= 0.0);
        let of = match (is_none(first), is_none(second)) {
            (true, true) => Without::Both,
            (true, false) => Without::First,
            (false, true) => Without::Second,
            (false, false) => return None,
        };
        (trials > 0).then_some(Self { of, trials })
    }

    /// Whether more than one trial of each shows it.
    fn is_sure(self) -> bool {
        self.trials > 1
    }
}

impl Compared {
    /// Who is ahead, by what is wished for; by the interval, never by the point alone.
    #[must_use]
    pub fn ahead(&self, found: &Found) -> Ahead {
        match found {
            Found::Number(found) if found.interval.is_none() => Ahead::Unsure,
            Found::NoSuccess(none) if !none.is_sure() => Ahead::Unsure,
            found => self.leaning(found),
        }
    }

    /// The same, by the point where there is no interval.
    pub(super) fn leaning(&self, found: &Found) -> Ahead {
        match found {
            Found::Number(found) => match side_of(found, self.measure.even()) {
                None => Ahead::Neither,
                Some(above) if above == (self.better == Better::Higher) => Ahead::Second,
                Some(_) => Ahead::First,
            },
            // Who answers nothing has no times that could be longer.
            Found::NoSuccess(none) if self.better == Better::Higher => match none.of {
                Without::First => Ahead::Second,
                Without::Second => Ahead::First,
                Without::Both => Ahead::Unknown,
            },
            Found::NoSuccess(_) | Found::Nothing => Ahead::Unknown,
        }
    }

    /// Whether at some level an interval says who is ahead, or that nobody is seen to be.
    pub(super) fn is_sure_somewhere(&self) -> bool {
        self.at.iter().flatten().any(|found| self.is_sure(found))
    }

    fn is_sure(&self, found: &Found) -> bool {
        !matches!(self.ahead(found), Ahead::Unsure | Ahead::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(better: Better) -> Compared {
        Compared {
            name: "It".to_owned(),
            better,
            measure: Measure::Ratio,
            at: Vec::new(),
            sentences: Vec::new(),
        }
    }

    /// Goodput of the trials of the two, the first one's first.
    fn check(first: &[f64], second: &[f64], expected: Ahead) {
        let found = Found::ratio(second, first, NoSuccess::of(first, second));
        let goodput = compared(Better::Higher);
        assert_eq!(goodput.ahead(&found), expected, "{found:?}");
        if let Found::Number(found) = found {
            assert!(found.point > 0.0 && found.point.is_finite(), "{found:?}");
        }
    }

    #[test]
    fn goodput_by_hand() {
        check(&[100.0, 101.0], &[300.0, 303.0], Ahead::Second);
        check(&[100.0, 101.0], &[101.0, 100.0], Ahead::Neither);
        check(&[100.0, 101.0], &[300.0], Ahead::Unsure);
        check(&[100.0], &[300.0], Ahead::Unsure);
        check(&[100.0, 101.0], &[], Ahead::Unknown);
        // A denominator that may well be nothing.
        check(&[0.0, 2.0], &[300.0, 303.0], Ahead::Unsure);
    }

    #[test]
    fn nothing_is_less_than_something_and_no_ratio_says_by_how_much() {
        check(&[0.0, 0.0], &[300.0, 303.0], Ahead::Second);
        check(&[300.0, 303.0], &[0.0, 0.0], Ahead::First);
        check(&[0.0], &[300.0, 303.0], Ahead::Unsure);
        check(&[0.0, 0.0], &[0.0, 0.0], Ahead::Unknown);
        check(&[0.0, 0.0], &[], Ahead::Unknown);
    }

    #[test]
    fn who_answers_nothing_is_not_slower() {
        let none = NoSuccess::of(&[0.0, 0.0], &[300.0, 303.0]);
        let found = Found::ratio(&[20.0, 21.0], &[], none);
        let quicker = compared(Better::Quicker);
        assert_eq!(quicker.ahead(&found), Ahead::Unknown);
        assert!(matches!(
            found,
            Found::NoSuccess(NoSuccess {
                of: Without::First,
                trials: 2
            })
        ));
    }
}

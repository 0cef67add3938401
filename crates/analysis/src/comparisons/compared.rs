//! What two cells show of one outcome, and which of the two is ahead.

use waggle_stats::{Estimate, ratio, side_of};

use crate::{layout::Over, outcome::Better};

/// One outcome of two levels of a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    pub name: String,
    pub better: Better,
    pub measure: Measure,
    /// Of each line, at each level.
    pub at: Vec<Vec<Found>>,
}

/// Who is ahead along one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lead {
    /// At each level.
    pub ahead: Vec<Ahead>,
    /// No level has an interval, so that the points are all there is to tell.
    pub is_by_points: bool,
    /// Between which levels the lead changes: the last where the one is clearly ahead and the first where the other is. None of levels
    /// that have no order, and none by points.
    pub changes: Vec<(usize, usize)>,
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
    pub fn neutral_value(self) -> f64 {
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
    pub(super) fn from_successes(first: &[f64], second: &[f64]) -> Option<Self> {
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
    pub fn leader(&self, found: &Found) -> Ahead {
        match found {
            Found::Number(found) if found.interval.is_none() => Ahead::Unsure,
            Found::NoSuccess(none) if !none.is_sure() => Ahead::Unsure,
            found => self.leader_by_point(found),
        }
    }

    /// Who is ahead along a line over these levels.
    #[must_use]
    pub fn lead(&self, over: &Over, at: &[Found]) -> Lead {
        let ahead: Vec<Ahead> = at.iter().map(|found| self.leader(found)).collect();
        let is_sure = |who: &Ahead| !matches!(who, Ahead::Unsure | Ahead::Unknown);
        if ahead.contains(&Ahead::Unsure) && !ahead.iter().any(is_sure) {
            return Lead {
                ahead: at.iter().map(|found| self.leader_by_point(found)).collect(),
                is_by_points: true,
                changes: Vec::new(),
            };
        }
        Lead {
            changes: match over.at {
                Some(_) => changes(&ahead),
                None => Vec::new(),
            },
            is_by_points: false,
            ahead,
        }
    }

    /// Whether no difference is seen at any level of any line.
    #[must_use]
    pub fn is_even(&self) -> bool {
        let mut all = self.at.iter().flatten();
        all.all(|found| self.leader(found) == Ahead::Neither)
    }

    /// Of these places along a line the one where the two are furthest apart; `None` where none has a number.
    #[must_use]
    pub fn largest_difference(&self, at: &[Found], places: &[usize]) -> Option<(usize, Estimate)> {
        let distance = |found: &Estimate| match self.measure {
            Measure::Ratio => found.point.ln().abs(),
            Measure::Difference => found.point.abs(),
        };
        let places = places.iter().copied();
        let numbers = places.filter_map(|place| Some((place, *at[place].number()?)));
        numbers.max_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
    }

    /// By how much the one that is ahead is: the larger ÷ the smaller, or the larger - the smaller.
    #[must_use]
    pub fn advantage(&self, found: &Estimate) -> Estimate {
        let turned = |turn: fn(f64) -> f64| Estimate {
            point: turn(found.point),
            interval: found.interval.map(|(low, high)| (turn(high), turn(low))),
            count: found.count,
        };
        match self.measure {
            Measure::Ratio if found.point < 1.0 => turned(|ratio| 1.0 / ratio),
            Measure::Difference if found.point < 0.0 => turned(|difference| -difference),
            Measure::Ratio | Measure::Difference => *found,
        }
    }

    /// The same, by the point where there is no interval.
    fn leader_by_point(&self, found: &Found) -> Ahead {
        match found {
            Found::Number(found) => match side_of(found, self.measure.neutral_value()) {
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
    #[must_use]
    pub fn is_sure_somewhere(&self) -> bool {
        self.at.iter().flatten().any(|found| self.is_sure(found))
    }

    fn is_sure(&self, found: &Found) -> bool {
        !matches!(self.leader(found), Ahead::Unsure | Ahead::Unknown)
    }
}

fn changes(ahead: &[Ahead]) -> Vec<(usize, usize)> {
    let clear: Vec<usize> = (0..ahead.len())
        .filter(|at| matches!(ahead[*at], Ahead::First | Ahead::Second))
        .collect();
    let pairs = clear.windows(2).map(|pair| (pair[0], pair[1]));
    pairs
        .filter(|(before, after)| ahead[*before] != ahead[*after])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_compared(better: Better) -> Compared {
        Compared {
            name: "It".to_owned(),
            better,
            measure: Measure::Ratio,
            at: Vec::new(),
        }
    }

    /// Goodput of the trials of the two, the first one's first.
    fn check(first: &[f64], second: &[f64], expected: Ahead) {
        let found = Found::ratio(second, first, NoSuccess::from_successes(first, second));
        let goodput = test_compared(Better::Higher);
        assert_eq!(goodput.leader(&found), expected, "{found:?}");
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
        let none = NoSuccess::from_successes(&[0.0, 0.0], &[300.0, 303.0]);
        let found = Found::ratio(&[20.0, 21.0], &[], none);
        let quicker = test_compared(Better::Quicker);
        assert_eq!(quicker.leader(&found), Ahead::Unknown);
        assert!(matches!(
            found,
            Found::NoSuccess(NoSuccess {
                of: Without::First,
                trials: 2
            })
        ));
    }
}

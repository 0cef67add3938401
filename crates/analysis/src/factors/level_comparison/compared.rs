//! What two cells show of one outcome, and which of the two is ahead.

use waggle_stats::{Estimate, TestedEstimate, TrialsNeeded, side_of};

use crate::{
    cell::outcome::Better,
    factors::{layout::Over, shown::Shown},
};

/// One outcome of two levels of a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    pub name: String,
    pub better: Better,
    /// Whether the study asks about it.
    pub is_asked: bool,
    pub measure: Measure,
    /// Statements that hold together with these.
    pub family: usize,
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
    Number(Difference),
    /// There is no ratio to nothing.
    NoSuccess(NoSuccess),
    /// One of the two has no number, or one that is nothing on average.
    Nothing,
}

/// A ratio or a difference of two cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The interval is that of this number alone.
    pub estimate: Estimate,
    /// How often two equal cells differ at least so much; `None` without an interval.
    pub p_value: Option<f64>,
    /// Compared repetition by repetition.
    pub is_paired: bool,
    /// Whether it can be stated together with all else that the report states.
    pub is_shown: bool,
    /// So many trials of each cell would about show it, if it is as large as observed; `None`: not known, or it is not asked about.
    pub trials_needed: Option<TrialsNeeded>,
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
    /// The interval puts one of the two ahead, but not together with all else that the report states.
    Alone,
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
            Self::Number(difference) => Some(&difference.estimate),
            Self::NoSuccess(_) | Self::Nothing => None,
        }
    }

    /// The second ÷ the first. `none` says which of them had no success.
    pub(super) fn ratio(ratio: Option<TestedEstimate>, none: Option<NoSuccess>) -> Self {
        match (none, ratio.filter(|ratio| ratio.estimate.point > 0.0)) {
            (Some(none), _) => Self::NoSuccess(none),
            (None, Some(ratio)) => Self::Number(Difference {
                estimate: ratio.estimate,
                p_value: ratio.p_value,
                is_paired: ratio.is_paired,
                is_shown: true,
                trials_needed: None,
            }),
            (None, None) => Self::Nothing,
        }
    }
}

impl Found {
    pub(super) fn with_trials_needed(self, needed: Option<TrialsNeeded>) -> Self {
        match self {
            Self::Number(difference) => Self::Number(Difference {
                trials_needed: needed,
                ..difference
            }),
            Self::NoSuccess(_) | Self::Nothing => self,
        }
    }
}

impl NoSuccess {
    /// Of what succeeded in each trial of the two; `None` where both had a success, or one has no trial.
    pub(super) fn from_successes(first: &[f64], second: &[f64]) -> Option<Self> {
        let trials = first.len().min(second.len());
        let is_none = |values: &[f64]| values.iter().all(|value| *value <= 0.0);
        let side = match (is_none(first), is_none(second)) {
            (true, true) => Without::Both,
            (true, false) => Without::First,
            (false, true) => Without::Second,
            (false, false) => return None,
        };
        (trials > 0).then_some(Self { of: side, trials })
    }

    /// Whether more than one trial of each shows it.
    fn is_sure(self) -> bool {
        self.trials > 1
    }
}

impl Compared {
    /// Who is ahead, by what is wished for; by the interval, never by the point alone.
    #[must_use]
    pub fn leader(&self, result: &Found) -> Ahead {
        match result {
            Found::Number(difference) => match self.shown_of(difference) {
                Shown::Unknown => Ahead::Unsure,
                Shown::Nothing => Ahead::Neither,
                Shown::Alone => Ahead::Alone,
                Shown::Together => self.leader_by_point(result),
            },
            Found::NoSuccess(none) if !none.is_sure() => Ahead::Unsure,
            result => self.leader_by_point(result),
        }
    }

    /// What a number shows.
    #[must_use]
    pub fn shown_of(&self, difference: &Difference) -> Shown {
        Shown::new(
            &difference.estimate,
            self.measure.neutral_value(),
            difference.is_shown,
        )
    }

    /// Who is ahead along a line over these levels.
    #[must_use]
    pub fn lead(&self, over: &Over, results: &[Found]) -> Lead {
        let ahead: Vec<Ahead> = results.iter().map(|result| self.leader(result)).collect();
        let is_sure = |who: &Ahead| !matches!(who, Ahead::Unsure | Ahead::Unknown);
        if ahead.contains(&Ahead::Unsure) && !ahead.iter().any(is_sure) {
            return Lead {
                ahead: results
                    .iter()
                    .map(|result| self.leader_by_point(result))
                    .collect(),
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
        all.all(|result| self.leader(result) == Ahead::Neither)
    }

    /// Of these places along a line the one where the two are furthest apart; `None` where none has a number.
    #[must_use]
    pub fn largest_difference(
        &self,
        results: &[Found],
        places: &[usize],
    ) -> Option<(usize, Estimate)> {
        let distance = |estimate: &Estimate| match self.measure {
            Measure::Ratio => estimate.point.ln().abs(),
            Measure::Difference => estimate.point.abs(),
        };
        let places = places.iter().copied();
        let numbers = places.filter_map(|place| Some((place, *results[place].number()?)));
        numbers.max_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
    }

    /// By how much the one that is ahead is: the larger ÷ the smaller, or the larger - the smaller.
    #[must_use]
    pub fn advantage(&self, estimate: &Estimate) -> Estimate {
        let turned = |turn: fn(f64) -> f64| Estimate {
            point: turn(estimate.point),
            interval: estimate.interval.map(|(low, high)| (turn(high), turn(low))),
            count: estimate.count,
            least: None,
        };
        match self.measure {
            Measure::Ratio if estimate.point < 1.0 => turned(|ratio| 1.0 / ratio),
            Measure::Difference if estimate.point < 0.0 => turned(|difference| -difference),
            Measure::Ratio | Measure::Difference => *estimate,
        }
    }

    /// The same, by the point where there is no interval.
    fn leader_by_point(&self, result: &Found) -> Ahead {
        match result {
            Found::Number(result) => {
                match side_of(&result.estimate, self.measure.neutral_value()) {
                    None => Ahead::Neither,
                    Some(above) if above == (self.better == Better::Higher) => Ahead::Second,
                    Some(_) => Ahead::First,
                }
            }
            // Who answers nothing has no times that could be longer.
            Found::NoSuccess(none) if self.better == Better::Higher => match none.of {
                Without::First => Ahead::Second,
                Without::Second => Ahead::First,
                Without::Both => Ahead::Unknown,
            },
            Found::NoSuccess(_) | Found::Nothing => Ahead::Unknown,
        }
    }

    /// Keeps what can be stated by p-values up to a limit, at which all statements of a report hold together.
    /// So many statements hold together with these.
    pub(crate) fn hold(&mut self, limit: f64, family: usize) {
        self.family = family;
        for result in self.at.iter_mut().flatten() {
            if let Found::Number(result) = result {
                result.is_shown = result.p_value.is_none_or(|p_value| p_value <= limit);
            }
        }
    }

    /// Whether at some level an interval says who is ahead, or that nobody is seen to be.
    #[must_use]
    pub fn is_sure_somewhere(&self) -> bool {
        self.at.iter().flatten().any(|result| self.is_sure(result))
    }

    fn is_sure(&self, result: &Found) -> bool {
        !matches!(self.leader(result), Ahead::Unsure | Ahead::Unknown)
    }
}

fn changes(ahead: &[Ahead]) -> Vec<(usize, usize)> {
    let clear: Vec<usize> = (0..ahead.len())
        .filter(|index| matches!(ahead[*index], Ahead::First | Ahead::Second))
        .collect();
    let pairs = clear.windows(2).map(|pair| (pair[0], pair[1]));
    pairs
        .filter(|(before, after)| ahead[*before] != ahead[*after])
        .collect()
}

#[cfg(test)]
mod tests {
    use waggle_stats::Sample;

    use super::*;

    fn test_compared(better: Better) -> Compared {
        Compared {
            name: "It".to_owned(),
            better,
            is_asked: true,
            measure: Measure::Ratio,
            family: 1,
            at: Vec::new(),
        }
    }

    fn samples(values: &[f64], first: u32) -> Vec<Sample> {
        let each = values.iter().zip(first..);
        each.map(|(&value, repetition)| Sample::exact(repetition, value))
            .collect()
    }

    /// Of trials in repetitions of their own.
    fn compare(second: &[f64], first: &[f64], none: Option<NoSuccess>) -> Found {
        let ratio = waggle_stats::ratio(&samples(second, 1), &samples(first, 101), 0.0);
        Found::ratio(ratio, none)
    }

    /// Goodput of the trials of the two, the first one's first.
    fn check(first: &[f64], second: &[f64], expected: Ahead) {
        let result = compare(second, first, NoSuccess::from_successes(first, second));
        let goodput = test_compared(Better::Higher);
        assert_eq!(goodput.leader(&result), expected, "{result:?}");
        if let Found::Number(Difference { estimate, .. }) = result {
            assert!(
                estimate.point > 0.0 && estimate.point.is_finite(),
                "{result:?}"
            );
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
        check(&[0.0, 2.0], &[300.0, 303.0], Ahead::Neither);
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
        let result = compare(&[20.0, 21.0], &[], none);
        let quicker = test_compared(Better::Quicker);
        assert_eq!(quicker.leader(&result), Ahead::Unknown);
        assert!(matches!(
            result,
            Found::NoSuccess(NoSuccess {
                of: Without::First,
                trials: 2
            })
        ));
    }
}

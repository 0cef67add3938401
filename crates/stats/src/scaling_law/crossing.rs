//! Where a curve meets a bound, and where two curves meet: the place with its 95 % interval over the resamples of the curves. Nothing
//! is said beyond what the curves reach.

use crate::{
    arithmetic::{random::Random, student::critical_95},
    scaling_law::{
        LAW_REACH, LawSettings, LawTrial, NotFitted,
        bootstrap::{NORMAL_95, middle_95, trials_means},
        form::{Fitted, Form},
        levels::{Levels, Usable},
    },
};

/// Places between which a crossing is looked for, evenly spaced by ratio.
const PLACES: u32 = 48;
/// Halvings of the stretch between two places.
const HALVINGS: u32 = 40;

/// A curve over levels, with those of its resamples.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelCurve {
    source: Source,
    lowest: f64,
    /// The lowest level above 0.
    first: f64,
    /// Nothing is said of higher levels.
    reach: f64,
}

/// What its values are made of; the first of the draws is the curve itself, the others are its resamples.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    Law {
        form: Form,
        unit: f64,
        draws: Vec<Fitted>,
    },
    /// From level to level, straight in logarithms. Levels, and logarithms of the values there.
    Levels { at: Vec<f64>, draws: Vec<Vec<f64>> },
}

/// Where a curve meets a bound or another curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Crossing {
    At {
        level: f64,
        /// Its ends; `None` without scatter of trials. The upper one is `None` if it is beyond the reach of the curve.
        interval: Option<(f64, Option<f64>)>,
        /// Whether it is above from there on, else below.
        rises: bool,
    },
    /// It is on one side at all levels up to this one; or, of two curves, from this one on.
    None { is_above: bool, level: f64 },
    /// The resamples are on both sides at all levels.
    Undecided,
}

/// From which end of the curve a crossing is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Lowest,
    Highest,
}

impl LevelCurve {
    pub(super) fn from_law(levels: &Levels, form: Form, draws: Vec<Fitted>) -> Self {
        let unit = levels.unit;
        let source = Source::Law { form, unit, draws };
        Self::new(source, levels, LAW_REACH)
    }

    /// For levels that follow no law, or are too few for one: it goes through the mean of each.
    ///
    /// # Errors
    /// If there are fewer than two levels, or a value cannot be used.
    pub fn interpolate(trials: &[LawTrial], settings: &LawSettings<'_>) -> Result<Self, NotFitted> {
        let usable = Usable {
            min_levels: 2,
            min_exact: 0,
            with_zero: true,
            unit: |_, _| 1.0,
        };
        let levels = Levels::group(trials, settings, usable)?;
        let means = levels.all.iter().map(|level| level.mean).collect();
        let mut draws: Vec<Vec<f64>> = vec![means];
        let (scatter, degrees) = levels.scatter();
        if scatter > 0.0 {
            let spread = critical_95(degrees) / NORMAL_95;
            let mut random = Random::from_seed(settings.seed);
            draws.extend(
                (0..settings.resamples).map(|_| trials_means(&levels, spread, &mut random)),
            );
        }
        let positions = levels.all.iter().map(|level| level.level).collect();
        Ok(Self::new(
            Source::Levels {
                at: positions,
                draws,
            },
            &levels,
            1.0,
        ))
    }

    fn new(source: Source, levels: &Levels, reach: f64) -> Self {
        let first = levels.above_zero().first();
        Self {
            source,
            lowest: levels.lowest(),
            first: first.map_or(1.0, |level| level.level),
            reach: reach * levels.highest(),
        }
    }

    /// Whether it is a law, not a line from level to level.
    #[must_use]
    pub fn is_law(&self) -> bool {
        matches!(self.source, Source::Law { .. })
    }

    /// The curve itself at a level.
    #[must_use]
    pub fn point(&self, level: f64) -> f64 {
        self.value(0, level)
    }

    fn draws(&self) -> usize {
        match &self.source {
            Source::Law { draws, .. } => draws.len(),
            Source::Levels { draws, .. } => draws.len(),
        }
    }

    fn value(&self, draw: usize, level: f64) -> f64 {
        match &self.source {
            Source::Law { form, unit, draws } => draws[draw].value(*form, level / unit),
            Source::Levels { at, draws } => interpolate_logs(at, &draws[draw], level).exp(),
        }
    }

    /// The lowest level at which it is on the other side of a bound than at its lowest level.
    #[must_use]
    pub fn cross_bound(&self, bound: f64) -> Crossing {
        let search = Search {
            places: places(self.lowest, self.first, self.reach),
            draws: self.draws(),
            from: From::Lowest,
        };
        search.crossing(|draw, level| self.value(draw, level) - bound)
    }

    /// The highest level at which it is on the other side of another curve than at its highest level: from there on it is above or
    /// below the other. The two rest on different trials, so their resamples are put together in another order: those of one seed draw the
    /// same places.
    #[must_use]
    pub fn cross_curve(&self, other: &Self) -> Crossing {
        let search = Search {
            places: places(
                self.lowest.max(other.lowest),
                self.first.max(other.first),
                self.reach.min(other.reach),
            ),
            draws: self.draws().min(other.draws()),
            from: From::Highest,
        };
        let draws = search.draws;
        let of_other = |draw: usize| match draw + 1 < draws {
            _ if draw == 0 => 0,
            true => draw + 1,
            false => 1,
        };
        search.crossing(|draw, level| self.value(draw, level) - other.value(of_other(draw), level))
    }
}

/// The logarithm between two levels; straight over the logarithm of the level, next to a level of 0 over the level.
fn interpolate_logs(positions: &[f64], values: &[f64], level: f64) -> f64 {
    let above = positions
        .partition_point(|position| *position < level)
        .clamp(1, positions.len() - 1);
    let (low, high) = (positions[above - 1], positions[above]);
    let share = match low > 0.0 {
        true => (level / low).ln() / (high / low).ln(),
        false => level / high,
    };
    let (start, end) = (values[above - 1], values[above]);
    start + share.clamp(0.0, 1.0) * (end - start)
}

/// Ascending, from the lowest level to the reach.
fn places(lowest: f64, first: f64, reach: f64) -> Vec<f64> {
    let ratio = reach / first;
    let above = (0..=PLACES).map(|step| first * ratio.powf(f64::from(step) / f64::from(PLACES)));
    let zero = (lowest == 0.0).then_some(0.0);
    zero.into_iter().chain(above).collect()
}

/// How a crossing is looked for.
struct Search {
    places: Vec<f64>,
    draws: usize,
    from: From,
}

impl Search {
    fn lowest(&self) -> f64 {
        self.places.first().copied().unwrap_or_default()
    }

    fn reach(&self) -> f64 {
        self.places.last().copied().unwrap_or_default()
    }

    /// Where `off`, of a draw at a level, has another sign than at the end from which it is looked for.
    fn crossing(&self, off: impl Fn(usize, f64) -> f64) -> Crossing {
        let (is_above, place) = self.first_change(|level| off(0, level));
        let beyond = match self.from {
            From::Lowest => f64::INFINITY,
            From::Highest => self.lowest(),
        };
        let before = match self.from {
            From::Lowest => self.lowest(),
            From::Highest => f64::INFINITY,
        };
        let of_draw = |draw: usize| match self.first_change(|level| off(draw, level)) {
            (side, place) if side == is_above => place.unwrap_or(beyond),
            _ => before,
        };
        let interval = middle_95((1..self.draws).map(of_draw));
        match (place, self.from, interval) {
            (Some(level), _, _) => Crossing::At {
                level,
                interval: interval.map(|(low, high)| {
                    let high = high.max(level);
                    (low.min(level), (high <= self.reach()).then_some(high))
                }),
                rises: is_above == (self.from == From::Highest),
            },
            (None, From::Lowest, Some((low, _))) if low <= self.lowest() => Crossing::Undecided,
            (None, From::Highest, Some((_, high))) if high > self.reach() => Crossing::Undecided,
            (None, From::Lowest, _) => Crossing::None {
                is_above,
                level: interval.map_or(self.reach(), |(low, _)| low.min(self.reach())),
            },
            (None, From::Highest, _) => Crossing::None {
                is_above,
                level: interval.map_or(self.lowest(), |(_, high)| high),
            },
        }
    }

    /// Whether it is above 0 at the end from which it is looked for, and the first level at which that changes.
    fn first_change(&self, off: impl Fn(f64) -> f64) -> (bool, Option<f64>) {
        let mut places = self.places.clone();
        if self.from == From::Highest {
            places.reverse();
        }
        let Some(&start) = places.first() else {
            return (false, None);
        };
        let is_above = off(start) > 0.0;
        let changed = places
            .iter()
            .position(|level| (off(*level) > 0.0) != is_above);
        let Some(changed) = changed else {
            return (is_above, None);
        };
        let (mut before, mut behind) = (places[changed - 1], places[changed]);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(before, behind);
            match (off(middle) > 0.0) == is_above {
                true => before = middle,
                false => behind = middle,
            }
        }
        (is_above, Some(behind))
    }
}

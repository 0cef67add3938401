//! What the effects on one outcome come to: which factor matters most, which depend on another one, and what no factor explains.

use waggle_stats::{Estimate, Source, Variation};

use crate::factors::effects::{Comparison, OutcomeEffects};

/// Cells within this ratio of each other hardly differ, whatever goes with what.
const LITTLE: f64 = 1.05;

/// What matters for one outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum Summary {
    /// The highest cell is hardly above the lowest.
    HardlyDiffers,
    Differs {
        strongest: Strongest,
        /// Places of those comparisons that show that one factor depends on another, the largest share first.
        dependences: Vec<usize>,
        /// The largest part of the variation, if no factor or pair of factors explains it.
        unexplained: Option<Variation>,
    },
}

/// The factor with the largest share of the variation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strongest {
    /// The largest of those that are shown, and its level that is furthest from the first.
    Factor {
        factor: usize,
        share: f64,
        level: usize,
        ratio: Estimate,
    },
    /// None is shown; the largest.
    Chance { largest: Option<Largest> },
}

/// The largest main effect, where none is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Largest {
    pub factor: usize,
    pub share: f64,
    /// `None`: trials cannot show it.
    pub p_value: Option<f64>,
}

impl OutcomeEffects {
    /// What matters for it.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let (low, high) = self.span;
        if high / low < LITTLE {
            return Summary::HardlyDiffers;
        }
        let mut dependences: Vec<usize> = (0..self.comparisons.len())
            .filter(|index| self.is_dependence(&self.comparisons[*index]))
            .collect();
        let share = |index: &usize| self.joint_share(&self.comparisons[*index]);
        dependences.sort_by(|a, b| share(b).total_cmp(&share(a)));
        Summary::Differs {
            strongest: self.strongest(),
            dependences,
            unexplained: self.residual(),
        }
    }

    /// The share of what a comparison's two factors do together.
    #[must_use]
    pub fn joint_share(&self, comparison: &Comparison) -> f64 {
        let pair = Source::Pair(
            comparison.factor.min(comparison.by),
            comparison.factor.max(comparison.by),
        );
        self.part(pair).map_or(0.0, |part| part.share)
    }

    fn strongest(&self) -> Strongest {
        let Some((factor, share)) = self.largest_main(|part| part.is_significant) else {
            return Strongest::Chance {
                largest: self.largest_main(|_| true).map(|(factor, share)| Largest {
                    factor,
                    share,
                    p_value: self
                        .part(Source::Factor(factor))
                        .and_then(|part| part.p_value),
                }),
            };
        };
        let (level, ratio) = most_distant_level(&self.ratios[factor]);
        Strongest::Factor {
            factor,
            share,
            level,
            ratio,
        }
    }

    /// The factor with the largest share, among those that are wanted.
    fn largest_main(&self, is_wanted: impl Fn(&Variation) -> bool) -> Option<(usize, f64)> {
        let mains = self.parts.iter().filter_map(|part| match part.of {
            Source::Factor(factor) if is_wanted(part) => Some((factor, part.share)),
            _ => None,
        });
        mains.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Of several levels of one factor by another, the one whose ratios differ most; a comparison that was made for its own sake
    /// only where the ratio changes sides.
    fn is_dependence(&self, comparison: &Comparison) -> bool {
        let alike = self
            .comparisons
            .iter()
            .filter(|other| (other.factor, other.by) == (comparison.factor, comparison.by));
        let is_widest = alike.map(spread).fold(0.0, f64::max) <= spread(comparison);
        is_widest && (comparison.is_larger || !comparison.turns.is_empty())
    }

    fn residual(&self) -> Option<Variation> {
        let parts = self.parts.iter();
        let largest = parts.max_by(|a, b| a.share.total_cmp(&b.share))?;
        match largest.of {
            Source::Trials | Source::Further => Some(*largest),
            Source::Factor(_) | Source::Pair(..) => None,
        }
    }
}

/// The logarithm of the largest ÷ the smallest ratio.
fn spread(comparison: &Comparison) -> f64 {
    let ratios = || comparison.ratios.iter();
    let logs = || ratios().map(|ratio| ratio.estimate.point.ln());
    logs().fold(f64::NEG_INFINITY, f64::max) - logs().fold(f64::INFINITY, f64::min)
}

/// The level furthest from the first, on the log scale; levels count from 0.
fn most_distant_level(ratios: &[Estimate]) -> (usize, Estimate) {
    let far = |ratio: &Estimate| ratio.point.ln().abs();
    let levels = (1..).zip(ratios.iter().copied());
    levels
        .max_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)))
        .expect("a factor with effects has two levels and more")
}

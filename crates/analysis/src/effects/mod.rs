//! What each factor does to each outcome, where the cells form a complete grid: ratios of levels, shares of the variation,
//! and comparisons at each level of another factor. The arithmetic is `waggle_stats::Factorial`'s.
//!
//! The numbers rest on every trial that came to its end, as the cells' do; cells that are not valid are in them and named.

mod summary;

pub use summary::{Strongest, Summary};

use waggle_metrics::{Metric, NamedMetric, Statistic};
use waggle_results::parallel_map;
use waggle_stats::{Estimate, Factorial, NoEffects, Source, Variation, Verdict, crossovers};

use crate::{
    CellModel, Factor, TrialModel,
    outcome::{Outcome, outcomes},
};
use waggle_metrics::Unit;

/// From this share of the variation on two factors together are worth a sentence and a table.
const PAIR_FROM: f64 = 0.05;

/// The effects of a study's factors.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectsModel {
    /// Those with two levels and more, in the study's order.
    pub factors: Vec<Factor>,
    /// How many cells, and how many trials they rest on.
    pub cells: usize,
    pub trials: usize,
    pub outcomes: Vec<OutcomeEffects>,
    /// Outcomes that have no effects, each with why.
    pub left_out: Vec<(String, WithoutEffects)>,
    /// Cells that are in the numbers though they are not valid.
    pub doubtful: Vec<(CellLevels, Verdict)>,
    /// Place of the outcome that says most: of the delay at the last probe, else of the response time, else the
    /// first one.
    pub first: usize,
}

/// Factors with the level that a cell has of each.
pub type CellLevels = Vec<(String, String)>;

/// Why an outcome has no effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WithoutEffects {
    /// The cells form no grid.
    NoGrid,
    /// No trial of this cell has a value.
    Empty(CellLevels),
    /// A trial of this cell has a value of zero or less, and a ratio to it says nothing.
    NotPositive(CellLevels),
    /// It is the same in every trial.
    Constant,
}

/// The effects on one outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeEffects {
    /// `Delivery delay p99 at database`.
    pub name: String,
    /// As in `tables.csv`: `delivery_delay_p99_us`, with an intermediate probe before it.
    pub column: String,
    pub unit: Unit,
    /// The lowest and the highest cell.
    pub span: (f64, f64),
    /// Degrees of freedom of the scatter between trials; 0: one trial a cell, and nothing has an interval.
    pub degrees: usize,
    pub parts: Vec<Variation>,
    /// Of each factor, each level but the first as a ratio to the first.
    pub ratios: Vec<Vec<Estimate>>,
    pub comparisons: Vec<Comparison>,
}

/// One level of a factor against the first, at each level of another factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub factor: usize,
    pub level: usize,
    pub by: usize,
    /// The two factors together make more of the variation than `factor`, the weaker one, alone.
    pub is_larger: bool,
    pub ratios: Vec<Estimate>,
    /// Between which levels of `by` the ratio changes from one side of 1 to the other.
    pub turns: Vec<(usize, usize)>,
}

impl OutcomeEffects {
    /// The share that goes with something.
    #[must_use]
    pub fn part(&self, of: Source) -> Option<&Variation> {
        self.parts.iter().find(|part| part.of == of)
    }
}

/// `None` where fewer than two factors vary, or a combination of their levels has no trial that came to its end.
pub fn effects(
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
    delivery_probe: Option<&str>,
) -> Option<EffectsModel> {
    let factors: Vec<Factor> = factors
        .iter()
        .filter(|factor| factor.levels.len() > 1)
        .cloned()
        .collect();
    let grid = grid(&factors, cells)?;
    let mut found = Vec::new();
    let mut left_out = Vec::new();
    let outcomes = outcomes(&grid, delivery_probe);
    let all = parallel_map(&outcomes, |outcome| {
        of_outcome(&factors, &grid, trials, outcome)
    });
    for (outcome, of) in outcomes.into_iter().zip(all) {
        match of {
            Ok(effects) => found.extend(effects),
            Err(why) => left_out.push((outcome.name, why)),
        }
    }
    if found.is_empty() && left_out.is_empty() {
        return None;
    }
    let doubtful = grid.iter().filter_map(|cell| {
        let verdict = cell.verdict.filter(|verdict| *verdict != Verdict::Valid)?;
        Some((cell.levels.clone(), verdict))
    });
    Some(EffectsModel {
        cells: grid.len(),
        trials: grid.iter().map(|cell| cell.counted).sum(),
        doubtful: doubtful.collect(),
        first: headline_outcome(&found),
        outcomes: found,
        left_out,
        factors,
    })
}

/// Place of the outcome that a study is most often about: how late at the end of the way, else the response time, else any.
fn headline_outcome(outcomes: &[OutcomeEffects]) -> usize {
    let at = |metric: Metric| {
        let named = NamedMetric {
            statistic: Some(Statistic::P99),
            ..NamedMetric::of_all(metric)
        };
        let column = named.column();
        outcomes.iter().position(|one| one.column == column)
    };
    at(Metric::Delay)
        .or_else(|| at(Metric::ResponseTime))
        .unwrap_or(0)
}

/// The cells so that the last factor changes first; `None` where they form no complete grid.
fn grid<'a>(factors: &[Factor], cells: &'a [CellModel]) -> Option<Vec<&'a CellModel>> {
    let size = factors.iter().try_fold(1_usize, |size, factor| {
        size.checked_mul(factor.levels.len())
    })?;
    if factors.len() < 2 || cells.len() != size || cells.iter().any(|cell| cell.counted == 0) {
        return None;
    }
    let mut placed: Vec<Option<&CellModel>> = vec![None; size];
    for cell in cells {
        let place = factors.iter().try_fold(0, |place, factor| {
            let (_, level) = cell.levels.iter().find(|(name, _)| *name == factor.name)?;
            let level = factor.levels.iter().position(|one| one == level)?;
            Some(place * factor.levels.len() + level)
        })?;
        // The second cell of one combination leaves another empty.
        placed[place] = Some(cell);
    }
    placed.into_iter().collect()
}

/// Nothing where no trial has the outcome; `Err` where it has no effects, with why.
fn of_outcome(
    factors: &[Factor],
    grid: &[&CellModel],
    trials: &[TrialModel],
    outcome: &Outcome,
) -> Result<Option<OutcomeEffects>, WithoutEffects> {
    let cells = grid.iter();
    let values: Vec<Vec<f64>> = cells.map(|cell| outcome.of_cell(cell, trials)).collect();
    if values.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    let levels: Vec<usize> = factors.iter().map(|factor| factor.levels.len()).collect();
    let design = Factorial::new(&levels, &values).map_err(|none| no_effects_reason(none, grid))?;
    let parts = design.variation();
    Ok(Some(OutcomeEffects {
        name: outcome.name.clone(),
        column: outcome.named.column(),
        unit: outcome.unit(),
        span: design.span(),
        degrees: design.degrees(),
        ratios: (0..factors.len())
            .map(|place| design.ratios(place))
            .collect(),
        comparisons: comparisons(&levels, (&design, &values), &parts),
        parts,
    }))
}

fn no_effects_reason(none: NoEffects, grid: &[&CellModel]) -> WithoutEffects {
    match none {
        NoEffects::NoGrid => WithoutEffects::NoGrid,
        NoEffects::Empty { cell } => WithoutEffects::Empty(grid[cell].levels.clone()),
        NoEffects::NotPositive { cell } => WithoutEffects::NotPositive(grid[cell].levels.clone()),
        NoEffects::Constant => WithoutEffects::Constant,
    }
}

/// Of a grid of two factors those with two levels, at each level of the other; of any grid the weaker factor of two that do more
/// together than it does alone.
fn comparisons(
    levels: &[usize],
    (design, values): (&Factorial, &[Vec<f64>]),
    parts: &[Variation],
) -> Vec<Comparison> {
    let alone = |factor: usize| {
        let main = parts.iter().find(|part| part.of == Source::Factor(factor));
        main.map_or(0.0, |main| main.share)
    };
    let is_weaker = |factor, by| (alone(factor), factor) < (alone(by), by);
    let mut found = Vec::new();
    for part in parts {
        let Source::Pair(a, b) = part.of else {
            continue;
        };
        // With two factors and one trial a cell what the two do together cannot be told from chance.
        let tells = part.is_significant() && (part.p_value.is_some() || levels.len() > 2);
        for (factor, by) in [(a, b), (b, a)] {
            let is_larger = tells
                && part.share >= PAIR_FROM
                && part.share > alone(factor)
                && is_weaker(factor, by);
            let is_asked = levels.len() == 2 && levels[factor] == 2;
            if !is_larger && !is_asked {
                continue;
            }
            found.extend((1..levels[factor]).map(|level| {
                let ratios = ratios_at_each(levels, (design, values), (factor, level, by));
                Comparison {
                    factor,
                    level,
                    by,
                    is_larger,
                    turns: crossovers(&ratios),
                    ratios,
                }
            }));
        }
    }
    found
}

/// One level of a factor as a ratio to the first, at each level of another. In a grid of two factors that is one cell against
/// another, whose own scatter says how sure it is, as in the section of comparisons; else it is averaged over all other factors.
fn ratios_at_each(
    levels: &[usize],
    (design, values): (&Factorial, &[Vec<f64>]),
    (factor, level, by): (usize, usize, usize),
) -> Vec<Estimate> {
    let pooled = design.ratios_by(factor, level, by);
    if levels.len() != 2 {
        return pooled;
    }
    let cell = |of_factor: usize, of_by: usize| match factor {
        0 => &values[of_factor * levels[1] + of_by],
        _ => &values[of_by * levels[1] + of_factor],
    };
    let own = |(at, pooled): (usize, Estimate)| {
        waggle_stats::ratio(cell(level, at), cell(0, at)).unwrap_or(pooled)
    };
    pooled.into_iter().enumerate().map(own).collect()
}

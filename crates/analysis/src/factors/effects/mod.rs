//! What each factor does to each outcome, where the cells form a complete grid: ratios of levels, shares of the variation,
//! and comparisons at each level of another factor. The arithmetic is `waggle_stats::Factorial`'s.
//!
//! The numbers rest on every trial that came to its end, as the cells' do; cells that are not valid are in them and named.

mod summary;

pub use summary::{Largest, Strongest, Summary};
use waggle_metrics::{Metric, NamedMetric, Statistic, Unit};
use waggle_results::{RunInfo, parallel_map};
use waggle_spec::TimeKind;
use waggle_stats::{
    Estimate, Factorial, NoEffects, Sample, Source, TestedEstimate, Variation, Verdict, crossovers,
    is_above,
};

use crate::{
    cell::{
        asked_metrics::headline,
        cell_model::CellModel,
        outcome::{Outcome, outcomes},
    },
    factors::{shown::Shown, together::NOTHING_HOLDS},
    info::factor::Factor,
    recording::histogram::as_f64,
    trial::trial_model::TrialModel,
};

/// The limit of p-values for one statement by itself.
const POINTWISE: f64 = 0.05;

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
    /// Index of the outcome that the study asks about first, or of the one that says most.
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
    /// Cells differ by less than can be told apart.
    Unresolved,
}

/// The effects on one outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeEffects {
    /// `Delivery delay p99 at database`.
    pub name: String,
    /// As in `tables.csv`: `delivery_delay_p99_us`, with an intermediate probe before it.
    pub column: String,
    pub unit: Unit,
    /// Whether the study asks about it; a threshold alone asks for no comparison.
    pub is_asked: bool,
    /// It is of what was measured: the doubts about the trials leave every ratio of the system itself open on both sides.
    pub is_as_measured: bool,
    /// The lowest and the highest cell.
    pub span: (f64, f64),
    /// Degrees of freedom of the scatter between trials; 0: one trial a cell, and nothing has an interval.
    pub degrees: usize,
    pub parts: Vec<Variation>,
    /// Of each factor, each level but the first as a ratio to the first.
    pub ratios: Vec<Vec<Estimate>>,
    /// What each of these shows.
    pub shown: Vec<Vec<Shown>>,
    /// The p-value of each of these.
    p_values: Vec<Vec<Option<f64>>>,
    /// Statements that hold together with those on this outcome.
    pub family: usize,
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
    pub ratios: Vec<TestedEstimate>,
    /// What each of these shows.
    pub shown: Vec<Shown>,
    /// Between which levels of `by` the ratio changes from one side of 1 to the other.
    pub turns: Vec<(usize, usize)>,
}

impl OutcomeEffects {
    /// The share that goes with something.
    #[must_use]
    pub fn part(&self, source: Source) -> Option<&Variation> {
        self.parts.iter().find(|part| part.of == source)
    }
}

/// `None` where no factor varies, or a combination of their levels has no trial that came to its end.
pub fn effects(
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
    info: &RunInfo,
) -> Option<EffectsModel> {
    let factors: Vec<Factor> = factors
        .iter()
        .filter(|factor| factor.levels.len() > 1)
        .cloned()
        .collect();
    let grid = grid(&factors, cells)?;
    let mut outcome_effects = Vec::new();
    let mut left_out = Vec::new();
    let outcomes = outcomes(&grid, info);
    let asked = headline(info);
    let all = parallel_map(&outcomes, |outcome| {
        of_outcome(&factors, &grid, trials, outcome, &asked)
    });
    for (outcome, result) in outcomes.into_iter().zip(all) {
        match result {
            Ok(effects) => outcome_effects.extend(effects),
            Err(why) => left_out.push((outcome.name, why)),
        }
    }
    if outcome_effects.is_empty() && left_out.is_empty() {
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
        first: headline_outcome(&outcome_effects, info),
        outcomes: outcome_effects,
        left_out,
        factors,
    })
}

/// Index of the outcome that the study asks about first; else that which a study is most often about: how late at the end of the
/// way, else the response time, else any.
fn headline_outcome(outcomes: &[OutcomeEffects], info: &RunInfo) -> usize {
    let position = |named: NamedMetric<'_>| {
        let column = named.column();
        outcomes.iter().position(|outcome| outcome.column == column)
    };
    let p99 = |metric: Metric| NamedMetric {
        statistic: Some(Statistic::P99),
        ..NamedMetric::of_all(metric)
    };
    let mut asked = headline(info).into_iter();
    asked
        .find_map(position)
        .or_else(|| position(p99(Metric::Delay)))
        .or_else(|| position(p99(Metric::Time(TimeKind::Response))))
        .unwrap_or(0)
}

/// The cells so that the last factor changes first; `None` where they form no complete grid.
fn grid<'a>(factors: &[Factor], cells: &'a [CellModel]) -> Option<Vec<&'a CellModel>> {
    let size = factors.iter().try_fold(1_usize, |size, factor| {
        size.checked_mul(factor.levels.len())
    })?;
    if factors.is_empty() || cells.len() != size || cells.iter().any(|cell| cell.counted == 0) {
        return None;
    }
    let mut placed: Vec<Option<&CellModel>> = vec![None; size];
    for cell in cells {
        // The second cell of one combination leaves another empty.
        placed[place_in_grid(cell, factors)?] = Some(cell);
    }
    placed.into_iter().collect()
}

fn place_in_grid(cell: &CellModel, factors: &[Factor]) -> Option<usize> {
    let mut place = 0;
    for factor in factors {
        let (_, level) = cell.levels.iter().find(|(name, _)| *name == factor.name)?;
        let level = factor.levels.iter().position(|known| known == level)?;
        place = place * factor.levels.len() + level;
    }
    Some(place)
}

/// Nothing where no trial has the outcome; `Err` where it has no effects, with why.
fn of_outcome(
    factors: &[Factor],
    grid: &[&CellModel],
    trials: &[TrialModel],
    outcome: &Outcome,
    asked: &[NamedMetric<'_>],
) -> Result<Option<OutcomeEffects>, WithoutEffects> {
    if !grid.iter().all(|cell| outcome.is_shown(cell, trials)) {
        return Ok(None);
    }
    let cells = grid.iter();
    let values: Vec<Vec<Sample>> = cells.map(|cell| outcome.samples(cell, trials)).collect();
    if values.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    let levels: Vec<usize> = factors.iter().map(|factor| factor.levels.len()).collect();
    let resolution = outcome.resolution(grid, trials);
    let fit = |values: &[Vec<Sample>]| {
        Factorial::new(&levels, values, resolution).map_err(|none| no_effects_reason(none, grid))
    };
    let mut design = fit(&values)?;
    let mut tested = ratios_to_first(&design, &levels);
    let is_as_measured = tested.iter().flatten().all(is_unbounded);
    if is_as_measured {
        let cells = grid.iter();
        let measured = cells.map(|cell| outcome.measured_samples(cell, trials));
        design = fit(&measured.collect::<Vec<_>>())?;
        tested = ratios_to_first(&design, &levels);
    }
    let parts = design.variation();
    Ok(Some(OutcomeEffects {
        is_as_measured,
        name: outcome.name.clone(),
        column: outcome.named.column(),
        unit: outcome.unit(),
        is_asked: outcome.is_asked(asked),
        span: design.span(),
        degrees: design.degrees(),
        ratios: each_ratio(&tested, |ratio| ratio.estimate),
        shown: each_ratio(&tested, |ratio| Shown::of_ratio(&ratio.estimate, true)),
        p_values: each_ratio(&tested, |ratio| ratio.p_value),
        family: 1,
        comparisons: comparisons(&levels, &design, &parts),
        parts,
    }))
}

/// Of each factor, each level but the first to the first.
fn ratios_to_first(design: &Factorial, levels: &[usize]) -> Vec<Vec<TestedEstimate>> {
    let of_factor = |factor: usize| -> Vec<TestedEstimate> {
        let ratio = |level| design.ratio_of_levels(factor, level, 0);
        (1..levels[factor]).map(ratio).collect()
    };
    (0..levels.len()).map(of_factor).collect()
}

/// Whether an interval has no end.
fn is_unbounded(ratio: &TestedEstimate) -> bool {
    let is_open = |(low, high): (f64, f64)| low <= 0.0 && high.is_infinite();
    ratio.estimate.interval.is_some_and(is_open)
}

fn each_ratio<T>(
    ratios: &[Vec<TestedEstimate>],
    value: impl Fn(&TestedEstimate) -> T,
) -> Vec<Vec<T>> {
    let each = ratios.iter();
    each.map(|ratios| ratios.iter().map(&value).collect())
        .collect()
}

fn no_effects_reason(none: NoEffects, grid: &[&CellModel]) -> WithoutEffects {
    match none {
        NoEffects::NoGrid => WithoutEffects::NoGrid,
        NoEffects::Empty { cell } => WithoutEffects::Empty(grid[cell].levels.clone()),
        NoEffects::NotPositive { cell } => WithoutEffects::NotPositive(grid[cell].levels.clone()),
        NoEffects::Constant => WithoutEffects::Constant,
        NoEffects::Unresolved => WithoutEffects::Unresolved,
    }
}

/// Of a grid of two factors those with two levels, at each level of the other; of any grid the weaker factor of two that do more
/// together than it does alone.
fn comparisons(levels: &[usize], design: &Factorial, parts: &[Variation]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for part in parts {
        let Source::Pair(a, b) = part.of else {
            continue;
        };
        for (factor, by) in [(a, b), (b, a)] {
            let is_larger = is_larger(parts, part, (factor, by));
            if !is_larger && !is_always_compared(levels, factor) {
                continue;
            }
            for level in 1..levels[factor] {
                // In a grid of two factors that is one cell against another, as in the section of comparisons.
                let ratios = design.ratios_by(factor, level, by);
                let mut comparison = Comparison {
                    factor,
                    level,
                    by,
                    is_larger,
                    turns: Vec::new(),
                    shown: Vec::new(),
                    ratios,
                };
                comparison.hold(POINTWISE);
                comparisons.push(comparison);
            }
        }
    }
    comparisons
}

fn is_always_compared(levels: &[usize], factor: usize) -> bool {
    levels.len() == 2 && levels[factor] == 2
}

/// Whether two factors do more together than `factor`, the weaker one, does alone.
fn is_larger(parts: &[Variation], pair: &Variation, (factor, by): (usize, usize)) -> bool {
    let alone = |factor: usize| {
        let main = parts.iter().find(|part| part.of == Source::Factor(factor));
        main.map_or(0.0, |main| main.share)
    };
    let mains = parts
        .iter()
        .filter(|part| matches!(part.of, Source::Factor(_)));
    // With two factors and one trial a cell what the two do together cannot be told from chance.
    let is_tested = pair.p_value.is_some() || mains.count() > 2;
    let is_weaker = (alone(factor), factor) < (alone(by), by);
    pair.is_significant
        && is_tested
        && pair.share >= PAIR_FROM
        && pair.share > alone(factor)
        && is_weaker
}

impl Comparison {
    /// By the ratios whose p-value is not above the limit.
    fn hold(&mut self, limit: f64) {
        let shown = |ratio: &TestedEstimate| {
            let is_shown = ratio.p_value.is_none_or(|p_value| p_value <= limit);
            Shown::of_ratio(&ratio.estimate, is_shown)
        };
        self.shown = self.ratios.iter().map(shown).collect();
        let sides = self.ratios.iter().zip(&self.shown);
        let sides: Vec<Option<bool>> = sides
            .map(|(ratio, shown)| is_above(&ratio.estimate).filter(|_| *shown == Shown::Together))
            .collect();
        self.turns = crossovers(&sides);
    }
}

impl OutcomeEffects {
    /// Keeps those sources of the variation that can be stated by p-values up to a limit, together with so many other statements.
    pub(crate) fn hold_sources(&mut self, limit: f64, family: usize) {
        self.family = family;
        for part in &mut self.parts {
            part.hold(limit);
        }
        let factors = self.ratios.iter().zip(&self.p_values);
        self.shown = factors
            .map(|(ratios, p_values)| shown_ratios(ratios, p_values, limit))
            .collect();
        let parts = &self.parts;
        let levels: Vec<usize> = self.ratios.iter().map(|ratios| ratios.len() + 1).collect();
        for comparison in &mut self.comparisons {
            let pair = Source::Pair(
                comparison.factor.min(comparison.by),
                comparison.factor.max(comparison.by),
            );
            let pair = parts.iter().find(|part| part.of == pair);
            comparison.is_larger =
                pair.is_some_and(|pair| is_larger(parts, pair, (comparison.factor, comparison.by)));
        }
        self.comparisons.retain(|comparison| {
            comparison.is_larger || is_always_compared(&levels, comparison.factor)
        });
    }

    /// Keeps the ratios of comparisons that can be stated by p-values up to a limit.
    pub(crate) fn hold_ratios(&mut self, limit: f64) {
        let open: Vec<bool> = self
            .comparisons
            .iter()
            .map(|comparison| self.is_open(comparison.factor))
            .collect();
        for (comparison, is_open) in self.comparisons.iter_mut().zip(open) {
            comparison.hold(if is_open { limit } else { NOTHING_HOLDS });
        }
    }

    /// Whether a source with this factor is shown: only then its levels are compared.
    pub(crate) fn is_open(&self, factor: usize) -> bool {
        let concerns = |source: Source| match source {
            Source::Factor(source_factor) => source_factor == factor,
            Source::Pair(a, b) => a == factor || b == factor,
            Source::Further => true,
            Source::Trials => false,
        };
        let mut parts = self.parts.iter();
        parts.any(|part| concerns(part.of) && part.is_significant)
    }

    /// The p-value of each source.
    pub(crate) fn source_p_values(&self) -> impl Iterator<Item = f64> {
        self.parts.iter().filter_map(|part| part.p_value)
    }

    /// The p-values of the comparisons of factors of which a source is shown.
    pub(crate) fn ratio_p_values(&self) -> impl Iterator<Item = f64> {
        let open = self
            .comparisons
            .iter()
            .filter(|comparison| self.is_open(comparison.factor));
        open.flat_map(|comparison| &comparison.ratios)
            .filter_map(|ratio| ratio.p_value)
    }
}

/// What each ratio of one factor shows by p-values up to a limit.
fn shown_ratios(ratios: &[Estimate], p_values: &[Option<f64>], limit: f64) -> Vec<Shown> {
    // A factor's p-value is the smallest of its ratios', times their number.
    let count = as_f64(ratios.len() as u64);
    let is_shown = |p_value: &Option<f64>| p_value.is_none_or(|p| p * count <= limit);
    let each = ratios.iter().zip(p_values);
    each.map(|(ratio, p_value)| Shown::of_ratio(ratio, is_shown(p_value)))
        .collect()
}

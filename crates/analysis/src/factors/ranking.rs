//! The levels of a factor from the best to the worst, and which of them cannot be told apart.
//!
//! A level counts with its geometric mean over all combinations of the other factors' levels at which every level has a result, so
//! that no level is helped by where it has none. Each pair of levels is tested, by the arithmetic of main effects
//! (`waggle_stats::Factorial`), and stated if all statements of the report hold together ([`crate::factors::together`]).

use waggle_metrics::Unit;
use waggle_results::RunInfo;
use waggle_stats::{Estimate, Factorial, Sample, TrialsNeeded};

use crate::{
    cell::{
        cell_model::CellModel,
        outcome::{Better, CellTrials, Outcome, headline_outcomes},
    },
    factors::{
        layout::{Layout, Over},
        levels::numbers,
    },
    info::factor::Factor,
    recording::histogram::as_f64,
    trial::trial_model::TrialModel,
};

/// Chance that of the pairs of one ranking one is wrong.
const ALONE: f64 = 0.01;

/// Two levels are compared by themselves.
const LEVELS_AT_LEAST: usize = 3;

/// The levels of one factor.
#[derive(Debug, Clone, PartialEq)]
pub struct RankingModel {
    pub factor: String,
    /// Names of the other factors that vary.
    pub others: Vec<String>,
    /// Of each metric that the study asks about.
    pub outcomes: Vec<RankedOutcome>,
}

/// The levels by one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedOutcome {
    pub name: String,
    pub unit: Unit,
    pub better: Better,
    /// Combinations of the other factors' levels that it rests on, and all of them.
    pub combinations: usize,
    pub of_combinations: usize,
    /// The best first.
    pub levels: Vec<RankedLevel>,
    /// Of each level and each further one, in the order of `levels`.
    pairs: Vec<RankedPair>,
}

/// One level.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedLevel {
    pub level: String,
    /// The geometric mean over the combinations.
    pub mean: Estimate,
    /// Its ratio to the best one; `None` of the best itself.
    pub ratio: Option<Estimate>,
    /// Cells of this level that are not reliable.
    pub doubtful: usize,
    /// The places that it may have: 1 + the levels that are shown to be better, and the levels - those that are shown to be worse.
    pub places: (usize, usize),
    /// Levels that are not shown to differ from it, the best first.
    pub alike: Vec<String>,
    /// So many trials of each cell would about show that it differs from the best, if the ratio is the observed one; `None`: not known.
    pub trials_needed: Option<TrialsNeeded>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct RankedPair {
    better: usize,
    worse: usize,
    p_value: Option<f64>,
}

/// Of each factor with three levels or more that are no numbers.
pub(crate) fn rankings(
    info: &RunInfo,
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
) -> Vec<RankingModel> {
    let varying: Vec<&Factor> = factors
        .iter()
        .filter(|candidate| candidate.levels.len() > 1)
        .collect();
    let is_ranked = |factor: &&&Factor| {
        factor.levels.len() >= LEVELS_AT_LEAST && numbers(&factor.levels).is_none()
    };
    let data = CellTrials { cells, trials };
    varying
        .iter()
        .filter(is_ranked)
        .filter_map(|factor| ranking(factor, &varying, info, data))
        .collect()
}

/// `None` if no outcome has a ranking.
fn ranking(
    factor: &Factor,
    varying: &[&Factor],
    info: &RunInfo,
    data: CellTrials<'_>,
) -> Option<RankingModel> {
    let others: Vec<&Factor> = varying
        .iter()
        .copied()
        .filter(|other| other.name != factor.name)
        .collect();
    let layout = Layout::new(Over::from_factor(factor), &others, data.cells);
    let outcomes = headline_outcomes(info);
    let outcomes = outcomes.iter();
    let outcomes: Vec<RankedOutcome> = outcomes
        .filter_map(|outcome| outcome_ranking(&layout, outcome, data))
        .collect();
    (!outcomes.is_empty()).then(|| RankingModel {
        factor: factor.name.clone(),
        others: others.iter().map(|other| other.name.clone()).collect(),
        outcomes,
    })
}

/// `None` if the levels have no combination in common, or do not differ.
fn outcome_ranking(
    layout: &Layout,
    outcome: &Outcome<'_>,
    data: CellTrials<'_>,
) -> Option<RankedOutcome> {
    let count = layout.over.levels.len();
    let samples = |place: &Option<usize>| {
        let cell_samples = outcome.samples(&data.cells[(*place)?], data.trials);
        (!cell_samples.is_empty()).then_some(cell_samples)
    };
    let lines = layout.cells.iter();
    let lines = lines.filter_map(|line| line.iter().map(samples).collect());
    let lines: Vec<Vec<Vec<Sample>>> = lines.collect();
    let by_level: Vec<Vec<Sample>> = (0..count)
        .flat_map(|level| lines.iter().map(move |line| line[level].clone()))
        .collect();
    let all: Vec<&CellModel> = data.cells.iter().collect();
    let resolution = outcome.resolution(&all, data.trials);
    let design = Factorial::of_levels(count, lines.len(), &by_level, resolution).ok()?;
    let mut order: Vec<(usize, Estimate)> = (0..count)
        .map(|level| (level, design.mean_of_level(0, level)))
        .collect();
    order.sort_by(|a, b| match outcome.better() {
        Better::Higher => b.1.point.total_cmp(&a.1.point),
        Better::Quicker | Better::Cheaper | Better::FewerErrors => a.1.point.total_cmp(&b.1.point),
    });
    let pairs = (0..count).flat_map(|better| (better + 1..count).map(move |worse| (better, worse)));
    let pair = |(better, worse): (usize, usize)| RankedPair {
        better,
        worse,
        p_value: design
            .ratio_of_levels(0, order[worse].0, order[better].0)
            .p_value,
    };
    // About the limit at which a pair is shown: that of all pairs of one ranking by themselves.
    let limit = ALONE / as_f64((count * (count - 1) / 2) as u64);
    let best = order[0].0;
    let mut levels = Vec::new();
    for (level, mean) in order.iter().copied() {
        let doubtful = layout.cells.iter().filter_map(|line| line[level]);
        levels.push(RankedLevel {
            level: layout.over.levels[level].clone(),
            mean,
            ratio: (level != best).then(|| design.ratio_of_levels(0, level, best).estimate),
            doubtful: doubtful
                .filter(|cell| !data.cells[*cell].is_free_of_doubt())
                .count(),
            places: (1, count),
            trials_needed: (level != best)
                .then(|| design.trials_to_differ(0, (level, best), limit))
                .flatten(),
            alike: Vec::new(),
        });
    }
    let mut ranked = RankedOutcome {
        name: outcome.name.clone(),
        unit: outcome.unit(),
        better: outcome.better(),
        combinations: lines.len(),
        of_combinations: layout.lines.len(),
        levels,
        pairs: pairs.map(pair).collect(),
    };
    ranked.hold(-1.0);
    Some(ranked)
}

impl RankedOutcome {
    pub(crate) fn p_values(&self) -> impl Iterator<Item = f64> {
        self.pairs.iter().filter_map(|pair| pair.p_value)
    }

    /// Keeps as different what can be stated by p-values up to a limit.
    pub(crate) fn hold(&mut self, limit: f64) {
        let is_shown = |pair: &&RankedPair| pair.p_value.is_some_and(|p_value| p_value <= limit);
        let count = self.levels.len();
        for place in 0..count {
            let shown = || self.pairs.iter().filter(is_shown);
            let better: Vec<usize> = shown()
                .filter(|pair| pair.worse == place)
                .map(|pair| pair.better)
                .collect();
            let worse: Vec<usize> = shown()
                .filter(|pair| pair.better == place)
                .map(|pair| pair.worse)
                .collect();
            let alike = (0..count)
                .filter(|other| {
                    *other != place && !better.contains(other) && !worse.contains(other)
                })
                .map(|other| self.levels[other].level.clone())
                .collect();
            let places = (1 + better.len(), count - worse.len());
            let level = &mut self.levels[place];
            (level.alike, level.places) = (alike, places);
        }
    }
}

//! Two levels of a factor against each other, at each level of another: ratios with intervals, and who is ahead where.
//!
//! Each ratio is of one cell to another and rests on the trials of these two alone, for near overload cells scatter very
//! differently. Shares of failed requests are compared as differences: a ratio to nothing says nothing. Where one of the two had no
//! success, there is no ratio either, and [`NoSuccess`] says which one had none.

mod compared;

use waggle_metrics::{Metric, NamedMetric, Statistic};
use waggle_results::{RunInfo, parallel_map};
use waggle_spec::TimeKind;
use waggle_stats::{Sample, TestedEstimate, Verdict, proportion_difference};

pub use compared::{Ahead, Compared, Difference, Found, Lead, Measure, NoSuccess, Without};

use crate::{
    cell::{
        asked_metrics::headline,
        cell_model::CellModel,
        outcome::{Better, CellTrials, Outcome, outcomes},
    },
    factors::{
        curves::failed_parts,
        layout::{Layout, Line, Over, level_name},
    },
    info::factor::Factor,
    recording::histogram::as_f64,
    trial::trial_model::TrialModel,
};

/// Lines of a comparison: more of them make no sentence that anybody reads.
const LINES_AT_MOST: usize = 4;

/// The limit of p-values for one statement by itself.
const POINTWISE: f64 = 0.05;

/// Chance that of the comparisons of one outcome one is wrong.
const ALONE: f64 = 0.01;

/// Most levels along the axis; of more there is a chart of the outcomes themselves.
const LEVELS_AT_MOST: usize = 60;

/// Two levels of one factor over another.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonModel {
    pub factor: String,
    /// The one that is compared with, and the one that is compared, as they are called: `rest`, or `workers 2`.
    pub levels: [String; 2],
    pub over: Over,
    /// Names of the factors that make the lines.
    pub others: Vec<String>,
    pub lines: Vec<Line>,
    pub outcomes: Vec<Compared>,
    /// Of each line, at each level, the cells that are not valid: level and verdict.
    pub doubtful: Vec<Vec<Vec<(String, Verdict)>>>,
}

impl ComparisonModel {
    /// Whether it is of this factor at each level of that one.
    #[must_use]
    pub fn is_of(&self, factor: &str, over: &str) -> bool {
        self.factor == factor && self.over.factor == over
    }

    /// Whether both cells of a line at a level are free of doubt, by the places of the two.
    #[must_use]
    pub fn is_free_of_doubt(&self, line: usize, level: usize) -> bool {
        self.doubtful[line][level].is_empty()
    }
}

/// Every factor of two levels over `axis`, the factor that charts have along their axis; without one, in a study of two factors,
/// over the other.
pub(crate) fn comparisons(
    info: &RunInfo,
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
    axis: Option<&str>,
) -> Vec<ComparisonModel> {
    let varying: Vec<&Factor> = factors
        .iter()
        .filter(|candidate| candidate.levels.len() > 1)
        .collect();
    let mut all = Vec::new();
    for factor in varying
        .iter()
        .filter(|candidate| candidate.levels.len() == 2)
    {
        let beside: Vec<&Factor> = varying
            .iter()
            .copied()
            .filter(|other| other.name != factor.name)
            .collect();
        let over = match axis {
            Some(axis) => beside.iter().find(|other| other.name == axis),
            None => beside.first().filter(|_| beside.len() == 1),
        };
        let Some(over) = over.filter(|over| over.levels.len() <= LEVELS_AT_MOST) else {
            continue;
        };
        let others: Vec<&Factor> = beside
            .iter()
            .copied()
            .filter(|other| other.name != over.name)
            .collect();
        let pairs = Pairs::new(factor, over, &others, cells);
        all.extend(comparison(&pairs, info, cells, trials));
    }
    all
}

/// The cells of the two levels, side by side.
struct Pairs<'a> {
    factor: &'a Factor,
    over: Over,
    others: Vec<String>,
    lines: Vec<Line>,
    /// Of each line, at each level, the places of the two cells.
    cells: Vec<Vec<Option<(usize, usize)>>>,
}

impl<'a> Pairs<'a> {
    fn new(factor: &'a Factor, over: &Factor, others: &[&Factor], cells: &[CellModel]) -> Self {
        let of_both = [&[factor][..], others].concat();
        let both = Layout::new(Over::from_factor(over), &of_both, cells);
        let lines = Layout::new(Over::from_factor(over), others, cells).lines;
        // The factor's level changes last: its lines stand in two halves.
        let (first, second) = both.cells.split_at(lines.len());
        let pair = |(a, b): (&Option<usize>, &Option<usize>)| a.zip(*b);
        let cells = first.iter().zip(second);
        Self {
            cells: cells
                .map(|(a, b)| a.iter().zip(b).map(pair).collect())
                .collect(),
            others: others.iter().map(|other| other.name.clone()).collect(),
            factor,
            over: both.over,
            lines,
        }
    }

    fn map<T>(&self, value: impl Fn(usize, usize) -> T) -> Vec<Vec<Option<T>>> {
        let pair = |pair: &Option<(usize, usize)>| pair.map(|(first, second)| value(first, second));
        let lines = self.cells.iter();
        lines.map(|line| line.iter().map(pair).collect()).collect()
    }
}

/// `None` where there are too many lines, or nothing to compare.
fn comparison(
    pairs: &Pairs<'_>,
    info: &RunInfo,
    cells: &[CellModel],
    trials: &[TrialModel],
) -> Option<ComparisonModel> {
    if pairs.lines.len() > LINES_AT_MOST {
        return None;
    }
    let all: Vec<&CellModel> = cells.iter().collect();
    let levels = [0, 1].map(|index| level_name(&pairs.factor.name, &pairs.factor.levels[index]));
    let outcomes = outcomes(&all, info);
    let successes = outcomes
        .iter()
        .find(|outcome| outcome.matches(Metric::Goodput, None))?;
    let asked = headline(info);
    let data = CellTrials { cells, trials };
    let all = parallel_map(&outcomes, |outcome| {
        let is_asked = outcome.is_asked(&asked);
        RatioTest::new(pairs, data, outcome, successes, is_asked).compare(pairs)
    });
    let mut compared_outcomes = Vec::new();
    for (outcome, ratios) in outcomes.iter().zip(all) {
        compared_outcomes.push(ratios);
        if outcome.matches(Metric::Time(TimeKind::Response), Some(Statistic::P99)) {
            let is_error_rate = |metric: &NamedMetric<'_>| {
                metric.row.metric == Metric::ErrorRate && metric.of.is_none()
            };
            let is_asked = asked.iter().any(is_error_rate);
            compared_outcomes.extend(errors(pairs, data, is_asked));
        }
    }
    compared_outcomes.retain(is_compared);
    if compared_outcomes.is_empty() {
        return None;
    }
    Some(ComparisonModel {
        factor: pairs.factor.name.clone(),
        doubtful: doubtful(pairs, cells, &levels),
        levels,
        over: pairs.over.clone(),
        others: pairs.others.clone(),
        lines: pairs.lines.clone(),
        outcomes: compared_outcomes,
    })
}

/// Of each line, at each level, the cells that are not valid.
fn doubtful(
    pairs: &Pairs<'_>,
    cells: &[CellModel],
    levels: &[String; 2],
) -> Vec<Vec<Vec<(String, Verdict)>>> {
    let all = pairs.map(|first, second| doubtful_cells([&cells[first], &cells[second]], levels));
    let lines = all.into_iter();
    lines
        .map(|line| line.into_iter().map(Option::unwrap_or_default).collect())
        .collect()
}

fn doubtful_cells(pair: [&CellModel; 2], levels: &[String; 2]) -> Vec<(String, Verdict)> {
    let sides = pair.into_iter().zip(levels);
    let doubtful = sides.filter_map(|(cell, level)| {
        let verdict = cell.verdict?;
        (verdict != Verdict::Valid).then(|| (level.clone(), verdict))
    });
    doubtful.collect()
}

/// Whether there is anything to show: that one of the two had no success is shown once, of what succeeded.
fn is_compared(outcome: &Compared) -> bool {
    let shows = |result: &Found| match result {
        Found::Number(_) => true,
        Found::NoSuccess(_) => outcome.better == Better::Higher,
        Found::Nothing => false,
    };
    outcome.at.iter().flatten().any(shows)
}

/// One outcome, cell against cell.
struct RatioTest<'a> {
    data: CellTrials<'a>,
    outcome: &'a Outcome<'a>,
    successes: &'a Outcome<'a>,
    is_asked: bool,
    resolution: f64,
    /// About the p-value up to which it would be shown: that of the comparisons of one outcome by themselves.
    limit: f64,
}

impl<'a> RatioTest<'a> {
    fn new(
        pairs: &Pairs<'_>,
        data: CellTrials<'a>,
        outcome: &'a Outcome<'a>,
        successes: &'a Outcome<'a>,
        is_asked: bool,
    ) -> Self {
        let places = pairs.cells.iter().flatten().flatten();
        let compared: Vec<&CellModel> = places
            .flat_map(|(first, second)| [&data.cells[*first], &data.cells[*second]])
            .collect();
        Self {
            data,
            outcome,
            successes,
            is_asked,
            resolution: outcome.resolution(&compared, data.trials),
            limit: ALONE / as_f64(compared.len().max(2) as u64 / 2),
        }
    }

    fn compare(&self, pairs: &Pairs<'_>) -> Compared {
        Compared {
            name: self.outcome.name.clone(),
            better: self.outcome.better(),
            is_asked: self.is_asked,
            family: 1,
            measure: Measure::Ratio,
            at: without_holes(pairs.map(|first, second| self.ratio(first, second))),
        }
    }

    fn ratio(&self, first: usize, second: usize) -> Found {
        let none = NoSuccess::from_successes(&self.successes(first), &self.successes(second));
        // What failed has its cost, too.
        let none = none.filter(|_| self.outcome.better() != Better::Cheaper);
        let [first, second] = [first, second].map(|place| self.samples(self.outcome, place));
        let ratio = waggle_stats::ratio(&second, &first, self.resolution);
        let p_value = ratio.and_then(|ratio| ratio.p_value);
        // What may be shown alone, but not together with the others.
        let is_open = p_value.is_some_and(|p_value| p_value > self.limit && p_value <= POINTWISE);
        let (resolution, limit) = (self.resolution, self.limit);
        let needed = (self.is_asked && is_open)
            .then(|| waggle_stats::trials_to_differ(&second, &first, resolution, limit))
            .flatten();
        Found::ratio(ratio, none).with_trials_needed(needed)
    }

    fn successes(&self, place: usize) -> Vec<f64> {
        let samples = self.samples(self.successes, place).into_iter();
        samples.map(|sample| sample.value).collect()
    }

    fn samples(&self, outcome: &Outcome<'_>, place: usize) -> Vec<Sample> {
        outcome.samples(&self.data.cells[place], self.data.trials)
    }
}

/// `None` where no request failed.
fn errors(pairs: &Pairs<'_>, data: CellTrials<'_>, is_asked: bool) -> Option<Compared> {
    let places = pairs.cells.iter().flatten().flatten();
    let mut both = places.flat_map(|(first, second)| [*first, *second]);
    if !both.any(|index| data.cells[index].failed > 0) {
        return None;
    }
    let number = |difference: TestedEstimate| {
        Found::Number(Difference {
            estimate: difference.estimate,
            p_value: difference.p_value,
            is_paired: false,
            is_shown: true,
            trials_needed: None,
        })
    };
    let result = |first: usize, second: usize| {
        let parts = |index: usize| failed_parts(&data.cells[index], data.trials);
        proportion_difference(&parts(second), &parts(first)).map_or(Found::Nothing, number)
    };
    Some(Compared {
        name: NamedMetric::of_all(Metric::ErrorRate).heading(),
        better: Better::FewerErrors,
        is_asked,
        family: 1,
        measure: Measure::Difference,
        at: without_holes(pairs.map(result)),
    })
}

fn without_holes(lines: Vec<Vec<Option<Found>>>) -> Vec<Vec<Found>> {
    let line = |line: Vec<Option<Found>>| {
        line.into_iter()
            .map(|entry| entry.unwrap_or(Found::Nothing))
    };
    lines
        .into_iter()
        .map(|entry| line(entry).collect())
        .collect()
}

//! Each level of a factor as a ratio to its first level, at each combination of the other factors' levels by itself. An average over
//! all combinations is for [`super::effects`], which need a complete grid; this needs two cells.

use waggle_results::{RunInfo, parallel_map};
use waggle_stats::Estimate;

use crate::{
    cell::{
        cell_model::CellModel,
        outcome::{CellTrials, Outcome, outcomes},
    },
    factors::{
        effects::EffectsModel,
        layout::{Layout, Line, Over},
        level_comparison::ComparisonModel,
    },
    info::factor::Factor,
};

/// Cells of a study beyond which nobody reads a row for each.
const CELLS_AT_MOST: usize = 200;

/// The levels of one factor.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelRatiosModel {
    pub factor: String,
    /// In the study's order: all others are divided by the first.
    pub levels: Vec<String>,
    /// The combinations of the other factors' levels that have the first level and any other.
    pub lines: Vec<Line>,
    pub outcomes: Vec<OutcomeRatios>,
}

/// One outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeRatios {
    pub name: String,
    /// As in `tables.csv`.
    pub column: String,
    /// Of each line, each level but the first; `None`: one of the two cells has no value to divide.
    pub ratios: Vec<Vec<Option<Estimate>>>,
}

/// What the report shows of levels besides.
#[derive(Clone, Copy)]
pub(crate) struct Already<'a> {
    pub(crate) comparisons: &'a [ComparisonModel],
    pub(crate) effects: Option<&'a EffectsModel>,
}

/// Of each factor whose levels neither a comparison of two levels nor the effects of a single factor show one by one.
pub(crate) fn level_ratios(
    info: &RunInfo,
    factors: &[Factor],
    data: CellTrials<'_>,
    already: Already<'_>,
) -> Vec<LevelRatiosModel> {
    let varying = factors.iter().filter(|factor| factor.levels.len() > 1);
    let varying: Vec<&Factor> = varying.collect();
    let is_shown = |factor: &Factor| {
        let mut others = already.comparisons.iter();
        (varying.len() == 1 && already.effects.is_some())
            || others.any(|other| other.factor == factor.name)
    };
    if data.cells.len() > CELLS_AT_MOST {
        return Vec::new();
    }
    let wanted = varying.iter().filter(|factor| !is_shown(factor));
    let all = wanted.filter_map(|factor| {
        let others = varying.iter().copied();
        let others: Vec<&Factor> = others.filter(|other| other.name != factor.name).collect();
        of_factor(info, factor, &others, data)
    });
    all.collect()
}

/// `None` where no two cells can be compared.
fn of_factor(
    info: &RunInfo,
    factor: &Factor,
    others: &[&Factor],
    data: CellTrials<'_>,
) -> Option<LevelRatiosModel> {
    let cells = data.cells;
    let over = Over {
        factor: factor.name.clone(),
        levels: factor.levels.clone(),
        at: None,
    };
    let layout = Layout::new(over, others, cells);
    let lines = layout.lines.into_iter().zip(layout.cells);
    let is_compared =
        |cells: &[Option<usize>]| cells[0].is_some() && cells[1..].iter().any(Option::is_some);
    let (lines, places): (Vec<Line>, Vec<Vec<Option<usize>>>) =
        lines.filter(|(_, cells)| is_compared(cells)).unzip();
    let all: Vec<&CellModel> = cells.iter().collect();
    let outcomes = parallel_map(&outcomes(&all, info), |outcome| OutcomeRatios {
        name: outcome.name.clone(),
        column: outcome.named.column(),
        ratios: places
            .iter()
            .map(|line| ratios_of_line(outcome, line, data))
            .collect(),
    });
    let has_any = |outcome: &OutcomeRatios| outcome.ratios.iter().flatten().any(Option::is_some);
    let outcomes: Vec<OutcomeRatios> = outcomes.into_iter().filter(has_any).collect();
    (!outcomes.is_empty()).then(|| LevelRatiosModel {
        factor: factor.name.clone(),
        levels: factor.levels.clone(),
        lines,
        outcomes,
    })
}

fn ratios_of_line(
    outcome: &Outcome<'_>,
    line: &[Option<usize>],
    data: CellTrials<'_>,
) -> Vec<Option<Estimate>> {
    let ratio = |place: &Option<usize>| cell_ratio(outcome, (*place)?, line[0]?, data);
    line[1..].iter().map(ratio).collect()
}

/// The outcome of a cell ÷ that of another.
fn cell_ratio(
    outcome: &Outcome<'_>,
    place: usize,
    first: usize,
    data: CellTrials<'_>,
) -> Option<Estimate> {
    let [cell, first] = [&data.cells[place], &data.cells[first]];
    let [samples, first_samples] = [cell, first].map(|cell| outcome.samples(cell, data.trials));
    let resolution = outcome.resolution(&[cell, first], data.trials);
    Some(waggle_stats::ratio(&samples, &first_samples, resolution)?.estimate)
}

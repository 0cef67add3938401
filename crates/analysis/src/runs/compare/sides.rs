//! The two sides: which cells and trials belong to each, and what one value of a metric is.

use std::collections::BTreeMap;

use waggle_metrics::Metric;
use waggle_stats::{Bias, Sample};

use crate::{
    cell::{
        cell_model::CellModel,
        outcome::{Outcome, counted_trials},
    },
    metric::{biases::distinct, number::Number},
    run::{
        left_out::{LeftOutGroup, left_out_groups, left_out_of_run},
        run_model::Model,
    },
    runs::compare::{
        Key,
        conditions::{ConditionChange, conditions_changed},
    },
};

/// From so many runs of each side on, a run is one value.
const RUNS_MIN: usize = 3;
/// Repetitions of different runs are not the same.
const RUN_STRIDE: u32 = 100_000;
const SIDE_STRIDE: u32 = 1_000 * RUN_STRIDE;
/// Longest name of a side in tables.
const LONG_NAME: usize = 16;

/// Why two sides cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompareError {
    /// Runs of different studies.
    Studies { first: String, second: String },
    /// No cell of one has the levels of a cell of the other; the first cell of each.
    NoCommonCell { first: String, second: String },
    /// The run has no factor of this name with two levels.
    NoFactor(String),
    /// There is no metric of this path.
    NoMetric(String),
    /// The study searches for a level, so that the trials of a cell are at different ones.
    Search(String),
    /// No trial of this side has a result.
    NoTrials {
        side: String,
        is_being_written: bool,
    },
}

/// What one value of a side is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleUnit {
    /// A trial; both sides ran in the same repetitions.
    PairedTrials,
    /// A trial; one side ran after the other.
    Trials,
    /// The mean over the trials of a run; the runs of the two sides alternate.
    PairedRuns,
    /// The same; they do not.
    Runs,
}

/// A run, or a set of runs, as a side of a comparison; not empty.
#[derive(Debug, Clone, Copy)]
pub struct NamedRuns<'a> {
    pub name: &'a str,
    pub runs: &'a [Model],
}

/// A side, as it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideFacts {
    /// As the user calls it, or the level of the factor.
    pub name: String,
    /// Its longer name, if it has one.
    pub path: Option<String>,
    /// When its runs began, RFC 3339, UTC.
    pub started_utc: Vec<String>,
    /// Trials with a result, and planned ones.
    pub trials: usize,
    pub planned: usize,
    /// Whether a waggle still writes to one of its runs.
    pub is_being_written: bool,
}

/// Both sides.
pub(super) struct Sides<'a> {
    pub(super) sides: [Side<'a>; 2],
    pub(super) unit: SampleUnit,
}

/// The runs of a side, and the level that its cells have.
pub(super) struct Side<'a> {
    /// In place of a long name.
    letter: char,
    name: String,
    runs: Vec<&'a Model>,
    /// Factor and level of its cells; `None`: all cells are its own.
    level: Option<(&'a str, &'a str)>,
    /// The levels of its cells, without that of the side, in the order of the cells.
    keys: Vec<Key>,
    /// The cell in each run that has it, with the place of the run.
    cells: BTreeMap<Key, Vec<(usize, &'a CellModel)>>,
}

impl<'a> Sides<'a> {
    pub(super) fn from_runs(
        first: NamedRuns<'a>,
        second: NamedRuns<'a>,
    ) -> Result<Self, CompareError> {
        let side = |letter, named: NamedRuns<'a>| {
            let mut runs: Vec<&Model> = named.runs.iter().collect();
            runs.sort_by(|a, b| a.info.started_utc.cmp(&b.info.started_utc));
            Side::new(letter, named.name, runs, None)
        };
        let unit = if first.runs.len() < RUNS_MIN || second.runs.len() < RUNS_MIN {
            SampleUnit::Trials
        } else if alternate(first.runs, second.runs) {
            SampleUnit::PairedRuns
        } else {
            SampleUnit::Runs
        };
        Self {
            sides: [side('A', first), side('B', second)],
            unit,
        }
        .check()
    }

    pub(super) fn from_levels(model: &'a Model, factor: &'a str) -> Result<Self, CompareError> {
        let known = model
            .factors
            .iter()
            .find(|candidate| candidate.name == factor);
        let Some([first, second]) = known.map(|factor| factor.levels.as_slice()) else {
            return Err(CompareError::NoFactor(factor.to_owned()));
        };
        let side = |letter, level: &'a String| {
            Side::new(letter, level, vec![model], Some((factor, level)))
        };
        Self {
            sides: [side('A', first), side('B', second)],
            unit: SampleUnit::PairedTrials,
        }
        .check()
    }

    fn check(self) -> Result<Self, CompareError> {
        let [first, second] = &self.sides;
        let studies = [first, second].map(|side| side.reference().info.study.clone());
        let others = first.runs.iter().chain(&second.runs);
        let mut others = others.filter(|run| run.info.study != studies[0]);
        if let Some(other) = others.next() {
            return Err(CompareError::Studies {
                first: studies[0].clone(),
                second: other.info.study.clone(),
            });
        }
        let mut runs = first.runs.iter().chain(&second.runs);
        if runs.any(|run| run.search.is_some()) {
            return Err(CompareError::Search(studies[0].clone()));
        }
        for side in [first, second] {
            if side.facts().trials == 0 {
                let facts = side.facts();
                return Err(CompareError::NoTrials {
                    side: facts.name,
                    is_being_written: facts.is_being_written,
                });
            }
        }
        if self.shared_cells().is_empty() {
            let name = |side: &Side<'_>| side.keys.first().map(key_text).unwrap_or_default();
            return Err(CompareError::NoCommonCell {
                first: name(first),
                second: name(second),
            });
        }
        Ok(self)
    }

    /// Cells of both sides.
    pub(super) fn shared_cells(&self) -> Vec<Key> {
        let [first, second] = &self.sides;
        let keys = first.keys.iter();
        let shared = keys.filter(|key| second.cells.contains_key(*key));
        shared.cloned().collect()
    }

    pub(super) fn unmatched_names(&self) -> [Vec<String>; 2] {
        let [first, second] = &self.sides;
        [(first, second), (second, first)].map(|(side, other)| {
            let keys = side.keys.iter();
            let lone_keys = keys.filter(|key| !other.cells.contains_key(*key));
            lone_keys.map(|key| self.cell_name(key)).collect()
        })
    }

    /// The name that the study gives the cell, else its levels.
    pub(super) fn cell_name(&self, key: &Key) -> String {
        let of_runs = self.sides.iter().filter(|side| side.level.is_none());
        let cells = of_runs.flat_map(|side| side.cells(key).iter());
        let mut names = cells.filter_map(|(_, cell)| cell.name.clone());
        names.next().unwrap_or_else(|| key_text(key))
    }

    pub(super) fn has_one_load_model(&self) -> bool {
        let [first, second] = self.sides.each_ref().map(Side::reference);
        first.info.load_model == second.info.load_model
    }

    pub(super) fn changes(&self) -> Vec<ConditionChange> {
        let [first, second] = self.sides.each_ref().map(Side::reference);
        conditions_changed(first, second)
    }

    /// The values of a metric in a cell of a side.
    pub(super) fn samples(&self, index: usize, key: &Key, outcome: &Outcome<'_>) -> Vec<Sample> {
        let side = &self.sides[index];
        let offset = u32::try_from(index).unwrap_or(0) * SIDE_STRIDE;
        match self.unit {
            SampleUnit::PairedRuns => side.run_samples(key, outcome, 0),
            SampleUnit::Runs => side.run_samples(key, outcome, offset),
            // Both sides are of one run.
            SampleUnit::PairedTrials => side.trial_samples(key, outcome, 0),
            SampleUnit::Trials => side.trial_samples(key, outcome, offset),
        }
    }
}

impl<'a> Side<'a> {
    fn new(
        letter: char,
        name: &str,
        runs: Vec<&'a Model>,
        level: Option<(&'a str, &'a str)>,
    ) -> Self {
        let mut side = Self {
            letter,
            name: name.to_owned(),
            runs,
            level,
            keys: Vec::new(),
            cells: BTreeMap::new(),
        };
        for (index, run) in side.runs.iter().enumerate() {
            for cell in &run.cells {
                let Some(key) = cell_key(cell, level) else {
                    continue;
                };
                let known = side.cells.entry(key.clone()).or_insert_with(|| {
                    side.keys.push(key);
                    Vec::new()
                });
                known.push((index, cell));
            }
        }
        side
    }

    /// The first of its runs, from which names and units are taken.
    pub(super) fn reference(&self) -> &'a Model {
        self.runs[0]
    }

    pub(super) fn facts(&self) -> SideFacts {
        let cells = || self.cells.values().flatten();
        SideFacts {
            path: (self.level.is_none() && self.name.chars().count() > LONG_NAME)
                .then(|| self.name.clone()),
            name: self.short_name(),
            started_utc: self
                .runs
                .iter()
                .map(|run| run.info.started_utc.clone())
                .collect(),
            trials: cells().map(|(_, cell)| cell.ran).sum(),
            planned: cells()
                .map(|(_, cell)| usize::try_from(cell.planned).unwrap_or(usize::MAX))
                .sum(),
            is_being_written: self.runs.iter().any(|run| run.is_being_written),
        }
    }

    /// The cells that its runs left out, each reason once.
    pub(super) fn left_out(&self) -> Vec<LeftOutGroup> {
        let mut groups: Vec<LeftOutGroup> = Vec::new();
        for group in self.runs.iter().flat_map(|run| self.left_out_by(run)) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    fn left_out_by(&self, run: &Model) -> Vec<LeftOutGroup> {
        let Some((factor, level)) = self.level else {
            return left_out_of_run(&run.info);
        };
        let is_own = |(name, side_part): &(String, String)| name == factor && side_part == level;
        let mut side_part = run.info.left_out.clone();
        side_part.retain(|omission| omission.cell.levels.iter().any(is_own));
        left_out_groups(&run.info.cells, &side_part)
    }

    /// Names of columns are short.
    fn short_name(&self) -> String {
        match self.name.chars().count() > LONG_NAME {
            true => self.letter.to_string(),
            false => self.name.clone(),
        }
    }

    /// The cell in each run that has it, with the place of the run.
    pub(super) fn cells(&self, key: &Key) -> &[(usize, &'a CellModel)] {
        self.cells.get(key).map_or(&[], Vec::as_slice)
    }

    /// A value of each run; repetitions count from the offset.
    fn run_samples(&self, key: &Key, outcome: &Outcome<'_>, offset: u32) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (run, cell) in self.cells(key) {
            let trials = &self.runs[*run].trials;
            let number = outcome.number(cell, trials);
            let Some(number) = number.filter(|_| outcome.is_shown(cell, trials)) else {
                continue;
            };
            let place = u32::try_from(*run).unwrap_or(u32::MAX);
            samples.push(Sample {
                repetition: offset.saturating_add(place),
                least: number.ends_of_point().0,
                value: number.point(),
                most: number.point(),
            });
        }
        samples
    }

    /// A value of each trial; repetitions of different runs are not the same.
    fn trial_samples(&self, key: &Key, outcome: &Outcome<'_>, offset: u32) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (run, cell) in self.cells(key) {
            let stride = u32::try_from(*run).unwrap_or(0).saturating_mul(RUN_STRIDE);
            let offset = offset.saturating_add(stride);
            let trials = &self.runs[*run].trials;
            for sample in outcome.measured_samples(cell, trials) {
                let repetition = sample.repetition.saturating_add(offset);
                samples.push(Sample {
                    repetition,
                    ..sample
                });
            }
        }
        samples
    }

    pub(super) fn resolution(&self, key: &Key, outcome: &Outcome<'_>) -> f64 {
        let each = self.cells(key).iter();
        let each = each.map(|(run, cell)| outcome.resolution(&[*cell], &self.runs[*run].trials));
        each.fold(0.0, f64::max)
    }

    /// Over the trials of all its runs.
    pub(super) fn number(&self, key: &Key, outcome: &Outcome<'_>) -> Option<Number> {
        let trials = self.cells(key).iter();
        let trials = trials.flat_map(|(run, cell)| counted_trials(cell, &self.runs[*run].trials));
        outcome.number_of(&trials.collect::<Vec<_>>())
    }

    pub(super) fn biases(&self, key: &Key, metric: Metric) -> Vec<Bias> {
        let cells = self.cells(key).iter();
        distinct(cells.flat_map(|(_, cell)| cell.biases(metric)))
    }
}

/// The levels of a cell without that of its side; `None`: it is a cell of the other side.
fn cell_key(cell: &CellModel, level: Option<(&str, &str)>) -> Option<Key> {
    let Some((factor, level)) = level else {
        return Some(cell.levels.clone());
    };
    let mut levels = cell.levels.iter();
    let is_own = levels.any(|(name, cell_level)| name == factor && cell_level == level);
    let others = cell.levels.iter().filter(|(name, _)| name != factor);
    is_own.then(|| others.cloned().collect())
}

fn key_text(key: &Key) -> String {
    if key.is_empty() {
        return "the only cell".to_owned();
    }
    let levels = key.iter().map(|(name, level)| format!("{name}={level}"));
    levels.collect::<Vec<_>>().join(" ")
}

/// Whether the runs of the two sides were started in turn.
fn alternate(first: &[Model], second: &[Model]) -> bool {
    let (first, second) = (start_times(first), start_times(second));
    if first.len() != second.len() {
        return false;
    }
    // Each pair ends before the next one begins.
    let pairs: Vec<(&String, &String)> = first
        .into_iter()
        .zip(second)
        .map(|(a, b)| if a < b { (a, b) } else { (b, a) })
        .collect();
    pairs.windows(2).all(|pair| pair[0].1 < pair[1].0)
}

/// In ascending order.
fn start_times(runs: &[Model]) -> Vec<&String> {
    let mut times: Vec<&String> = runs.iter().map(|run| &run.info.started_utc).collect();
    times.sort_unstable();
    times
}

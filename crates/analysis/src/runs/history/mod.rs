//! Metrics over many runs of the same study, in order of time: levels, and the runs from which on the level differs.
//!
//! A series is one metric in one cell on one host, because hosts differ more than versions do. All series of a history together show
//! a change that is none in one of a hundred histories. A change at which the way of measuring changed as well (kernel, waggle, the
//! text of the study) is undecided. Reasons: docs/design/0051-history.md.

mod hosts;
mod metric_history;
#[cfg(test)]
mod tests;

use waggle_metrics::{Metric, Unit, Wish};
use waggle_results::Note;
use waggle_stats::{Estimate, MIN_HISTORY, MIN_RUNS, OverRuns, Verdict};

pub use self::hosts::is_same_host;
use self::{
    hosts::{Host, distinct_hosts},
    metric_history::{Sources, metric_history},
};
use crate::{
    cell::outcome::outcomes_with,
    info::factor::Counted,
    metric::number::Number,
    run::{
        left_out::{LeftOutGroup, left_out_of_run},
        run_model::Model,
    },
    runs::compare::{CompareError, Condition, ConditionChange, conditions_changed, resolve_asked},
};

/// A host that is in none of the last so many runs is no longer used.
const CURRENT_RUNS: usize = 10;

/// How a history is examined.
#[derive(Debug, Clone, PartialEq)]
pub struct HistorySettings {
    /// Changes of less than this are left out: a share.
    pub min_change: f64,
    /// Paths of the metrics; empty: those that the study asks about.
    pub metrics: Vec<Vec<String>>,
    pub hosts: HostScope,
}

/// What a series is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostScope {
    /// One host: its name, CPU model and number of CPUs, and the hosts of its agents.
    Each,
    /// All hosts, which count as alike.
    Together,
}

/// A run with the name of its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedRun {
    pub name: String,
    pub model: Model,
}

/// Why there is no history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryError {
    /// The runs cannot be taken together.
    Runs(CompareError),
    /// No cell has enough runs on one host; `runs` is the most that one has, `all` those of all hosts.
    TooFewRuns {
        runs: usize,
        all: usize,
        needed: usize,
    },
}

/// The metrics of a study over its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryModel {
    pub study: String,
    /// What goodput counts.
    pub counted: Counted,
    pub min_change: f64,
    pub hosts: HostScope,
    /// In order of time.
    pub runs: Vec<HistoryRunFacts>,
    /// The names of the hosts, in the order in which they first come.
    pub host_names: Vec<String>,
    /// Those of the newest run.
    pub cells: Vec<HistoryCell>,
    pub metrics: Vec<MetricHistory>,
    /// Cells that only earlier runs have.
    pub former_cells: Vec<String>,
    /// Cells that the newest run left out.
    pub left_out_cells: Vec<LeftOutGroup>,
    /// Runs of the same folder; the caller adds them.
    pub unreadable: Vec<UnreadableRun>,
}

/// A run whose files cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableRun {
    pub name: String,
    pub why: String,
}

/// A run, as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryRunFacts {
    pub name: String,
    /// RFC 3339, UTC.
    pub started_utc: String,
    /// Index in the names of the hosts.
    pub host: usize,
    /// Trials with a result, and planned ones.
    pub trials: usize,
    pub planned: usize,
    /// Whether a waggle still writes to it.
    pub is_being_written: bool,
    /// What differs from the run before on the same host.
    pub changes: Vec<ConditionChange>,
    /// What people have noted on it, the oldest first.
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryCell {
    pub name: String,
    pub levels: Vec<(String, String)>,
}

/// One metric, in every cell on every host.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricHistory {
    /// `Response time p99`, with the probe for a delay.
    pub name: String,
    /// Its name in files: `response_time_p99_us`.
    pub column: String,
    pub metric: Metric,
    pub unit: Unit,
    pub wish: Wish,
    /// By cell, then by host; only those that have a value.
    pub series: Vec<HistorySeries>,
}

/// One metric in one cell on one host.
#[derive(Debug, Clone, PartialEq)]
pub struct HistorySeries {
    /// Index in the cells.
    pub cell: usize,
    /// Index in the names of the hosts; `None`: all of them.
    pub host: Option<usize>,
    /// In order of time; too few have no change points.
    pub points: Vec<HistoryPoint>,
    pub changes: Vec<HistoryChange>,
    /// The smallest change, as a share, that would be found in four of five histories like it; `None`: too few runs since the last
    /// change.
    pub smallest_change: Option<f64>,
    /// The level with runs as the unit, and how runs scatter, since the last change; `None`: too few runs.
    pub over_runs: Option<OverRuns>,
    /// Whether it counts for what the history comes to: its host is still used.
    pub is_current: bool,
}

/// What one run has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryPoint {
    /// Index in the runs.
    pub run: usize,
    pub number: Number,
    pub verdict: Option<Verdict>,
    /// The system's own value may differ from it.
    pub is_doubtful: bool,
}

/// A run from which on the level differs.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryChange {
    /// Index of the first point of the new level.
    pub at: usize,
    /// Geometric means of both levels.
    pub before: f64,
    pub after: f64,
    /// `after ÷ before`.
    pub ratio: Estimate,
    pub p_value: f64,
    pub judgement: ChangeJudgement,
    /// What else changed at the same run, or within two runs of it if it is part of how was measured.
    pub conditions: Vec<ConditionChange>,
    /// A later level is as good as the one before the change.
    pub is_recovered: bool,
    /// Somebody accepted the new level, in a note on its first run or a later one.
    pub is_accepted: bool,
}

/// What a change shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeJudgement {
    Better,
    Worse,
    /// No direction is wished for.
    Different,
    Undecided(ChangeDoubt),
}

/// Why a change shows nothing of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeDoubt {
    /// How was measured changed, too.
    Conditions,
    /// Values of a level are doubtful.
    Values,
}

/// What a history comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryOutcome {
    /// There is no change.
    NoChange,
    /// The last changes are for the better.
    Better,
    /// Something became worse, and has not come back.
    Worse,
    /// Nothing is shown to be worse, and a change that may be for the worse is undecided.
    Undecided,
}

impl HistorySeries {
    /// Whether it has enough runs for a change.
    #[must_use]
    pub fn is_long_enough(&self) -> bool {
        self.points.len() >= MIN_HISTORY
    }

    /// First and last point of each level, and its value; none of a series that is too short.
    #[must_use]
    pub fn levels(&self) -> Vec<(usize, usize, f64)> {
        if !self.is_long_enough() {
            return Vec::new();
        }
        let starts = [0]
            .into_iter()
            .chain(self.changes.iter().map(|change| change.at));
        let ends = self.changes.iter().map(|change| change.at);
        let ends = ends.chain([self.points.len()]);
        let value = |level: usize| match level.checked_sub(1) {
            Some(before) => self.changes[before].after,
            None => match self.changes.first() {
                Some(first) => first.before,
                None => metric_history::geometric_mean(&self.points),
            },
        };
        let levels = starts.zip(ends).enumerate();
        levels
            .map(|(level, (start, end))| (start, end - 1, value(level)))
            .collect()
    }
}

impl HistoryModel {
    /// Each series with its metric.
    pub fn series(&self) -> impl Iterator<Item = (&MetricHistory, &HistorySeries)> {
        let metrics = self.metrics.iter();
        metrics.flat_map(|metric| metric.series.iter().map(move |series| (metric, series)))
    }

    /// Those that count for what the history comes to.
    pub fn current_series(&self) -> impl Iterator<Item = (&MetricHistory, &HistorySeries)> {
        self.series().filter(|(_, series)| series.is_current)
    }

    /// Runs from which on the study ran on a new host for good: the host before, and the index of the run. Levels before and after
    /// are in different series, so such a run is no change.
    #[must_use]
    pub fn host_moves(&self) -> Vec<(usize, usize)> {
        if self.hosts == HostScope::Together {
            return Vec::new();
        }
        let mut moves = Vec::new();
        for (index, pair) in self.runs.windows(2).enumerate() {
            let (before, after) = (pair[0].host, pair[1].host);
            let is_back = self.runs[index + 1..].iter().any(|run| run.host == before);
            let is_new = self.runs[..=index].iter().all(|run| run.host != after);
            if is_new && !is_back {
                moves.push((before, index + 1));
            }
        }
        moves
    }

    /// What it comes to.
    #[must_use]
    pub fn outcome(&self) -> HistoryOutcome {
        let last = || {
            let series = self.current_series();
            series.filter_map(|(metric, series)| Some((metric, series.changes.last()?)))
        };
        let mut changes = self
            .current_series()
            .flat_map(|(_, series)| &series.changes);
        if changes.any(HistoryChange::is_open) {
            HistoryOutcome::Worse
        } else if last().any(|(metric, change)| change.may_be_worse(metric.wish)) {
            HistoryOutcome::Undecided
        } else if last().any(|(_, change)| change.is_unaccepted_better()) {
            HistoryOutcome::Better
        } else {
            HistoryOutcome::NoChange
        }
    }
}

impl HistoryChange {
    /// Whether it is for the worse, and no later level is as good as the one before.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let is_for_worse = matches!(
            self.judgement,
            ChangeJudgement::Worse | ChangeJudgement::Different
        );
        is_for_worse && !self.is_recovered && !self.is_accepted
    }

    fn is_unaccepted_better(&self) -> bool {
        self.judgement == ChangeJudgement::Better && !self.is_accepted
    }

    /// Whether it is undecided, not for the better and not accepted.
    #[must_use]
    pub fn may_be_worse(&self, wish: Wish) -> bool {
        let is_for_better = match wish {
            Wish::More => self.ratio.point > 1.0,
            Wish::Less => self.ratio.point < 1.0,
            Wish::Neither => false,
        };
        let is_undecided = matches!(self.judgement, ChangeJudgement::Undecided(_));
        is_undecided && !is_for_better && !self.is_accepted
    }
}

/// The history of runs of the same study, of which there is one at least.
///
/// # Errors
/// They are not of one study, or too few.
pub fn history(
    mut runs: Vec<NamedRun>,
    settings: &HistorySettings,
) -> Result<HistoryModel, HistoryError> {
    runs.sort_by(|a, b| {
        let started = |run: &NamedRun| run.model.info.started_utc.clone();
        (started(a), &a.name).cmp(&(started(b), &b.name))
    });
    let Some(newest) = runs.last().map(|run| &run.model) else {
        return Err(too_few(0, 0));
    };
    check(&runs).map_err(HistoryError::Runs)?;
    let asked = resolve_asked(&newest.info, &settings.metrics).map_err(HistoryError::Runs)?;
    let mut outcomes = outcomes_with(&asked, &newest.cells, &newest.info);
    outcomes.retain(|outcome| outcome.is_asked(&asked));
    let cells: Vec<HistoryCell> = newest.cells.iter().map(history_cell).collect();
    let hosts = distinct_hosts(&runs);
    let sources = Sources::new(&runs, &hosts, settings);
    let points = outcomes.iter().map(|outcome| sources.series(outcome));
    let points: Vec<Vec<metric_history::Values>> = points.collect();
    let lengths = || points.iter().flatten().map(|values| values.points.len());
    let examined = lengths().filter(|length| *length >= MIN_HISTORY).count();
    // Fewer runs than a change needs have a level with an interval.
    if lengths().max().unwrap_or(0) < MIN_RUNS {
        return Err(too_few(lengths().max().unwrap_or(0), runs.len()));
    }
    let metrics = outcomes.iter().zip(points);
    let metrics =
        metrics.map(|(outcome, points)| metric_history(outcome, points, &sources, examined));
    Ok(HistoryModel {
        metrics: metrics.collect(),
        study: newest.info.study.clone(),
        counted: newest.counted,
        min_change: settings.min_change,
        hosts: settings.hosts,
        runs: sources.facts(),
        former_cells: former_cells(&runs, &cells),
        left_out_cells: left_out_of_run(&newest.info),
        unreadable: Vec::new(),
        cells,
        host_names: hosts.iter().map(Host::name).collect(),
    })
}

fn too_few(runs: usize, all: usize) -> HistoryError {
    HistoryError::TooFewRuns {
        runs,
        all,
        needed: MIN_RUNS,
    }
}

/// Runs of one study that searches for nothing.
fn check(runs: &[NamedRun]) -> Result<(), CompareError> {
    let first = &runs[0].model.info.study;
    let mut infos = runs.iter().map(|run| &run.model.info);
    if let Some(other) = infos.find(|info| info.study != *first) {
        return Err(CompareError::Studies {
            first: first.clone(),
            second: other.study.clone(),
        });
    }
    match runs.iter().any(|run| run.model.search.is_some()) {
        true => Err(CompareError::Search(first.clone())),
        false => Ok(()),
    }
}

fn history_cell(cell: &crate::cell::cell_model::CellModel) -> HistoryCell {
    let levels = cell.levels.iter();
    let levels = levels.map(|(name, level)| format!("{name}={level}"));
    let levels = levels.collect::<Vec<String>>().join(" ");
    HistoryCell {
        name: match (&cell.name, levels.is_empty()) {
            (Some(name), _) => name.clone(),
            (None, false) => levels,
            (None, true) => "the only cell".to_owned(),
        },
        levels: cell.levels.clone(),
    }
}

/// The names of cells that the newest run does not have.
fn former_cells(runs: &[NamedRun], cells: &[HistoryCell]) -> Vec<String> {
    let mut former: Vec<HistoryCell> = Vec::new();
    for cell in runs.iter().flat_map(|run| &run.model.cells) {
        let is_known = |known: &HistoryCell| known.levels == cell.levels;
        if !cells.iter().any(is_known) && !former.iter().any(is_known) {
            former.push(history_cell(cell));
        }
    }
    former.into_iter().map(|cell| cell.name).collect()
}

/// Whether it is part of how is measured, not of what is measured.
fn is_of_measurement(condition: &Condition, hosts: HostScope) -> bool {
    match condition {
        Condition::Host | Condition::AgentHosts => hosts == HostScope::Each,
        Condition::Kernel
        | Condition::CpuModel
        | Condition::Cpus
        | Condition::Memory
        | Condition::IdlePoll
        | Condition::CpuSets
        | Condition::AgentHardware
        | Condition::WaggleVersion
        | Condition::SystemPods
        | Condition::SystemNodes
        | Condition::LoadModel
        | Condition::Study => true,
        Condition::System
        | Condition::SystemImage
        | Condition::Component(_)
        | Condition::SystemText => false,
    }
}

/// What differs between two runs. Memory that differs by less than a hundredth is the kernel's own.
fn changes_between(first: &Model, second: &Model) -> Vec<ConditionChange> {
    let mut changes = conditions_changed(first, second);
    let [before, after] = [first, second].map(|model| model.info.host.memory_bytes);
    if before.abs_diff(after) < before.max(after) / 100 {
        changes.retain(|change| change.what != Condition::Memory);
    }
    changes
}

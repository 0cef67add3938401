//! The series of a history: what each run has of a metric, and what its changes show.

use waggle_metrics::{NamedMetric, Wish};
use waggle_results::Note;
use waggle_stats::{
    Bias, ChangeLimits, ChangePoint, HistoryRun, Range, Scale, change_points, over_runs,
    smallest_change,
};

use crate::{
    cell::{
        cell_model::CellModel,
        outcome::{Outcome, counted_trials},
    },
    metric::{biases::distinct, number::Number, scale::scale},
    run::run_model::Model,
    runs::{
        compare::{ConditionChange, invert},
        history::{
            CURRENT_RUNS, ChangeDoubt, ChangeJudgement, HistoryChange, HistoryPoint,
            HistoryRunFacts, HistorySeries, HistorySettings, HostScope, MetricHistory, NamedRun,
            changes_between, hosts::Host, is_of_measurement,
        },
    },
};

/// How often all series of a history together show a change that is none.
const FALSE_ALARMS: f64 = 0.01;
/// A change point may be so many runs away from where it is found.
const PLACE_ERROR: usize = 2;

/// The runs of a history, in order of time.
pub(super) struct Sources<'a> {
    runs: &'a [NamedRun],
    /// Of each run, its place among the hosts.
    hosts: Vec<usize>,
    host_count: usize,
    scope: HostScope,
    min_change: f64,
}

/// The values of a series.
pub(super) struct Values {
    cell: usize,
    host: Option<usize>,
    pub(super) points: Vec<HistoryPoint>,
    /// Of each point.
    biases: Vec<Vec<Bias>>,
    scale: Scale,
}

impl<'a> Sources<'a> {
    pub(super) fn new(runs: &'a [NamedRun], hosts: &[Host], settings: &HistorySettings) -> Self {
        let place = |run: &NamedRun| {
            let run_host = Host::new(&run.model);
            hosts.iter().position(|host| *host == run_host).unwrap_or(0)
        };
        Self {
            runs,
            hosts: runs.iter().map(place).collect(),
            host_count: hosts.len(),
            scope: settings.hosts,
            min_change: settings.min_change,
        }
    }

    /// Each run, with what differs from the one before.
    pub(super) fn facts(&self) -> Vec<HistoryRunFacts> {
        (0..self.runs.len())
            .map(|index| self.run_facts(index))
            .collect()
    }

    fn run_facts(&self, index: usize) -> HistoryRunFacts {
        let run = &self.runs[index];
        let is_before = |other: &usize| match self.scope {
            HostScope::Each => self.hosts[*other] == self.hosts[index],
            HostScope::Together => true,
        };
        let before = (0..index).rev().find(is_before);
        let cells = &run.model.cells;
        let planned = cells.iter().map(|cell| cell.planned);
        HistoryRunFacts {
            name: run.name.clone(),
            started_utc: run.model.info.started_utc.clone(),
            host: self.hosts[index],
            trials: cells.iter().map(|cell| cell.ran).sum(),
            planned: planned.fold(0, |sum, trial_count| {
                sum + usize::try_from(trial_count).unwrap_or(usize::MAX)
            }),
            is_being_written: run.model.is_being_written,
            changes: before.map_or_else(Vec::new, |before| {
                changes_between(&self.runs[before].model, &run.model)
            }),
            notes: run.model.notes.clone(),
        }
    }

    /// The values of a metric, by cell of the newest run, then by host.
    pub(super) fn series(&self, outcome: &Outcome<'_>) -> Vec<Values> {
        let newest = self.runs.last().map(|run| run.model.cells.as_slice());
        let hosts: Vec<Option<usize>> = match self.scope {
            HostScope::Each => (0..self.host_count).map(Some).collect(),
            HostScope::Together => vec![None],
        };
        let cells = newest.unwrap_or_default().iter().enumerate();
        let all = cells.flat_map(|(index, cell)| {
            let of_host = |host: &Option<usize>| self.values(outcome, index, cell, *host);
            hosts.iter().map(of_host).collect::<Vec<Values>>()
        });
        all.filter(|values| !values.points.is_empty()).collect()
    }

    fn values(
        &self,
        outcome: &Outcome<'_>,
        index: usize,
        cell: &CellModel,
        host: Option<usize>,
    ) -> Values {
        let mut values = Values {
            cell: index,
            host,
            points: Vec::new(),
            biases: Vec::new(),
            scale: Scale::default(),
        };
        for (run, NamedRun { model, .. }) in self.runs.iter().enumerate() {
            let is_own = host.is_none_or(|host| self.hosts[run] == host);
            let run_cell = model
                .cells
                .iter()
                .find(|run_cell| run_cell.levels == cell.levels);
            let Some(run_cell) = run_cell.filter(|_| is_own) else {
                continue;
            };
            let number = outcome.number(run_cell, &model.trials);
            let Some(number) = number.filter(|_| outcome.is_shown(run_cell, &model.trials)) else {
                continue;
            };
            let biases = run_cell.biases(outcome.named.row.metric);
            values.points.push(HistoryPoint {
                run,
                number,
                verdict: run_cell.verdict,
                is_doubtful: !biases.is_empty(),
            });
            values.biases.push(biases);
            let trials = counted_trials(run_cell, &model.trials).collect::<Vec<_>>();
            values.scale = values.scale.coarser(scale(&outcome.named, &trials));
        }
        values
    }

    fn model(&self, values: &Values, index: usize) -> &Model {
        &self.runs[values.points[index].run].model
    }

    /// What else changed at a change point that lies between two others.
    fn conditions(
        &self,
        values: &Values,
        index: usize,
        (start, end): (usize, usize),
    ) -> Vec<ConditionChange> {
        let between = |first: usize, second: usize| {
            changes_between(self.model(values, first), self.model(values, second))
        };
        let mut all = between(index - 1, index);
        // The change may be a little earlier or later.
        let first = (index - 1).saturating_sub(PLACE_ERROR).max(start);
        let last = (index + PLACE_ERROR).min(end - 1);
        let near = between(first, last).into_iter();
        let near = near.filter(|change| is_of_measurement(&change.what, self.scope));
        for change in near {
            if !all.iter().any(|known| known.what == change.what) {
                all.push(change);
            }
        }
        all
    }
}

/// The series of a metric, with their changes. `examined`: all series of the history in which changes are searched for.
pub(super) fn metric_history(
    outcome: &Outcome<'_>,
    values: Vec<Values>,
    sources: &Sources<'_>,
    examined: usize,
) -> MetricHistory {
    let row = outcome.named.row;
    let limits = ChangeLimits {
        false_alarms: FALSE_ALARMS
            / crate::recording::histogram::as_f64(u64::try_from(examined).unwrap_or(1).max(1)),
        min_change: sources.min_change,
    };
    let newest = sources.runs.len().saturating_sub(CURRENT_RUNS);
    let mut series = Vec::new();
    for values in values {
        let is_current = values.points.last().is_some_and(|last| last.run >= newest);
        let runs = history_runs(&values);
        let level_changes = change_points(&runs, values.scale, limits).unwrap_or_default();
        let starts: Vec<usize> = level_changes.iter().map(|change| change.index).collect();
        series.push(HistorySeries {
            cell: values.cell,
            host: values.host,
            changes: changes(&values, &level_changes, sources, &outcome.named),
            smallest_change: smallest_change(&runs, &starts, values.scale, limits),
            over_runs: over_runs(&runs[starts.last().copied().unwrap_or(0)..], values.scale),
            is_current,
            points: values.points,
        });
    }
    MetricHistory {
        name: outcome.name.clone(),
        column: outcome.named.column(),
        metric: row.metric,
        unit: row.unit,
        wish: row.wish,
        series,
    }
}

fn history_runs(values: &Values) -> Vec<HistoryRun> {
    let run = |point: &HistoryPoint| match point.number {
        Number::Estimate(estimate) => HistoryRun::from_estimate(&estimate),
        number => HistoryRun {
            value: number.point(),
            log_error: None,
        },
    };
    values.points.iter().map(run).collect()
}

fn changes(
    values: &Values,
    points: &[ChangePoint],
    sources: &Sources<'_>,
    metric: &NamedMetric<'_>,
) -> Vec<HistoryChange> {
    let wish = metric.row.wish;
    let afters: Vec<f64> = points.iter().map(|change| change.after).collect();
    let ends = |index: usize| {
        let before = index.checked_sub(1).map(|before| points[before].index);
        let after = points.get(index + 1).map(|next| next.index);
        (before.unwrap_or(0), after.unwrap_or(values.points.len()))
    };
    let accepted_until = accepted_until(values, points, sources, &metric.column());
    let mut all = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let conditions = sources.conditions(values, point.index, ends(index));
        let is_unlike = conditions
            .iter()
            .any(|change| is_of_measurement(&change.what, sources.scope));
        let judgement = match is_unlike {
            true => ChangeJudgement::Undecided(ChangeDoubt::Conditions),
            false => judge(values, point, ends(index), wish),
        };
        let mut later = afters[index + 1..].iter();
        all.push(HistoryChange {
            at: point.index,
            before: point.before,
            after: point.after,
            ratio: point.ratio,
            p_value: point.p_value,
            judgement,
            conditions,
            is_recovered: later
                .any(|later| is_as_good(*later, point.before, sources.min_change, wish)),
            is_accepted: accepted_until.is_some_and(|last| point.index <= last),
        });
    }
    all
}

/// The last point at which a change of the metric of this column is accepted: that of the last run with such a note. A note before all
/// changes is about the first one, which may be found a little later than it is.
fn accepted_until(
    values: &Values,
    points: &[ChangePoint],
    sources: &Sources<'_>,
    column: &str,
) -> Option<usize> {
    let is_accepting = |note: &Note| note.accepts && note.is_about(column);
    let accepts = |index: &usize| (sources.model(values, *index).notes.iter()).any(is_accepting);
    let accepted = (0..values.points.len()).rev().find(accepts)?;
    let has_change = points.iter().any(|change| change.index <= accepted);
    Some(match has_change {
        true => accepted,
        false => accepted + PLACE_ERROR,
    })
}

/// Of a change without one of the conditions.
fn judge(
    values: &Values,
    point: &ChangePoint,
    (start, end): (usize, usize),
    wish: Wish,
) -> ChangeJudgement {
    let before = level_biases(&values.biases[start..point.index]);
    let after = level_biases(&values.biases[point.index..end]);
    let interval = point.ratio.interval;
    let interval = interval.unwrap_or((point.ratio.point, point.ratio.point));
    let range = Range::new(
        interval,
        after.into_iter().chain(before.into_iter().map(invert)),
    );
    match (range.high < 1.0, range.low > 1.0, wish) {
        (false, false, _) => ChangeJudgement::Undecided(ChangeDoubt::Values),
        (.., Wish::Neither) => ChangeJudgement::Different,
        (is_less, _, Wish::Less) | (_, is_less, Wish::More) if is_less => ChangeJudgement::Better,
        _ => ChangeJudgement::Worse,
    }
}

/// In which directions the mean of a level may be wrong: none if half of its runs are without a doubt.
fn level_biases(runs: &[Vec<Bias>]) -> Vec<Bias> {
    let doubtful = runs.iter().filter(|biases| !biases.is_empty()).count();
    match 2 * doubtful > runs.len() {
        true => distinct(runs.concat()),
        false => Vec::new(),
    }
}

/// Whether a level is not worse than another one, by more than what counts as a change.
fn is_as_good(level: f64, before: f64, min_change: f64, wish: Wish) -> bool {
    let (low, high) = (before / (1.0 + min_change), before * (1.0 + min_change));
    match wish {
        Wish::More => level >= low,
        Wish::Less => level <= high,
        Wish::Neither => (low..=high).contains(&level),
    }
}

/// Over the points of a series without a change.
pub(super) fn geometric_mean(points: &[HistoryPoint]) -> f64 {
    let values: Vec<f64> = points.iter().map(|point| point.number.point()).collect();
    if values.iter().any(|value| *value <= 0.0) {
        return values.iter().sum::<f64>() / count(&values);
    }
    let logs = values.iter().map(|value| value.ln()).sum::<f64>();
    (logs / count(&values)).exp()
}

fn count(values: &[f64]) -> f64 {
    crate::recording::histogram::as_f64(u64::try_from(values.len()).unwrap_or(u64::MAX)).max(1.0)
}

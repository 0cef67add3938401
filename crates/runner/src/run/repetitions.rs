//! The trials of a study without a search: those of its plan, and repetitions that are added because an interval is too wide, or
//! because the machine has disturbed a trial.
//!
//! Repetitions are added block by block: a block has one trial of each cell that needs one, in random order. With
//! `restart: every_cell` they are added cell by cell. The decisions follow from the results on disk, and `run.json` has them: a run
//! that is resumed continues with them. Which trials are added, and why: docs/design/0047-added-repetitions.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use waggle_analysis::TrialSoFar;
use waggle_results::{
    AddedReason, AddedTrial, RunInfo, TrialInfo, TrialKey, WriteError, trial_info,
};
use waggle_spec::{Restart, TrialOrder};
use waggle_stats::{CLEAN_TRIALS_MIN, Verdict};
use waggle_study::{MAX_REPLACEMENTS, PlannedTrial, Study, expected_duration, since_sentinel};
use waggle_system::{components::driver::Driver, http::client::HttpConnector, shutdown::Shutdown};

use crate::{
    event::Event,
    event_sender::Events,
    load::load_run::Load,
    number::share,
    run::{
        early_failures::EarlyFailures,
        request::Ended,
        schedule,
        schedule::{Series, Task},
    },
    trial::{Environments, error::RunError},
};

/// Runs the rest of the plan, and adds repetitions to it.
pub(crate) async fn run_all<D: Driver, L: Load, W: HttpConnector>(
    environments: &mut Environments<D, L, W>,
    series: Series<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    let finished = series.folder.finished_trials()?;
    let mut finished: BTreeSet<TrialKey> = finished.into_iter().collect();
    let order = series.folder.info().order.len();
    schedule::report_start(series.plan, (order, finished.len()), events).await;
    let mut history = History::default();
    let mut failures = EarlyFailures::default();
    for cells in groups(series) {
        loop {
            while let Some(planned) =
                next_trial(&series.folder.info(), &cells, &finished, &failures)
            {
                if shutdown.is_asked() {
                    return Ok(Ended::Interrupted);
                }
                let next = Next {
                    series,
                    planned,
                    finished: &mut finished,
                };
                let Some(infos) = Box::pin(next.run(environments, events, shutdown)).await? else {
                    return Ok(Ended::Interrupted);
                };
                let mut is_over = false;
                for info in infos {
                    events.report(schedule::ended_event(&info)).await;
                    finished.insert(info.key);
                    let cells = series.study.cells.len();
                    is_over |= failures.note(&info, cells, events).await;
                }
                if is_over {
                    return Ok(Ended::Finished);
                }
            }
            let added = history.additions(series, &cells)?;
            let info = series.folder.info();
            let last = info.order.iter().rfind(|key| cells.contains(&key.cell));
            let Some(last) = last.filter(|_| !added.is_empty()) else {
                break;
            };
            series.folder.add_trials(&added, *last)?;
            events.report(Event::TrialsAdded(added)).await;
        }
    }
    Ok(Ended::Finished)
}

/// The cells between whose trials repetitions are added: all of them, or each by itself if the system is kept up over its trials.
fn groups(series: Series<'_>) -> Vec<Vec<u32>> {
    let mut cells: Vec<u32> = Vec::new();
    for trial in &series.plan.trials {
        if !cells.contains(&trial.cell) {
            cells.push(trial.cell);
        }
    }
    match series.study.restart {
        Restart::EveryTrial => vec![cells],
        Restart::EveryCell => cells.into_iter().map(|cell| vec![cell]).collect(),
    }
}

/// The first trial of these cells without a result; cells that fail alike have no more.
fn next_trial(
    info: &RunInfo,
    cells: &[u32],
    finished: &BTreeSet<TrialKey>,
    failures: &EarlyFailures,
) -> Option<PlannedTrial> {
    let mut left = (1..).zip(&info.order);
    let is_left = |key: &TrialKey| {
        cells.contains(&key.cell) && !finished.contains(key) && !failures.has_ended(key.cell)
    };
    let (position, key) = left.find(|(_, key)| is_left(key))?;
    Some(PlannedTrial {
        position,
        cell: key.cell,
        repetition: key.repetition,
    })
}

/// The next trial, or the next two if another one runs at the same time.
struct Next<'a> {
    series: Series<'a>,
    planned: PlannedTrial,
    finished: &'a mut BTreeSet<TrialKey>,
}

impl Next<'_> {
    /// `None`: interrupted.
    async fn run<D: Driver, L: Load, W: HttpConnector>(
        self,
        environments: &mut Environments<D, L, W>,
        events: &Events,
        shutdown: &Shutdown,
    ) -> Result<Option<Vec<TrialInfo>>, RunError> {
        let Self {
            series,
            planned,
            finished,
        } = self;
        let cell = schedule::cell_of(series, planned.cell);
        let Some(partner) = series.study.duet_partner(cell) else {
            let task = task(series, &planned, finished);
            let info = schedule::run_one(environments, series, task, events, shutdown).await?;
            return Ok(info.map(|info| vec![info]));
        };
        let partner = PlannedTrial {
            cell: partner.number,
            ..planned
        };
        let key = schedule::key_of(&partner);
        let position = series
            .folder
            .info()
            .position(key)
            .ok_or(WriteError::NotPlanned { key })?;
        let partner = PlannedTrial {
            position,
            ..partner
        };
        // A run that was killed while it wrote two results may have left one.
        if finished.remove(&key) {
            series.folder.discard(key)?;
        }
        let mut pair = [planned, partner];
        pair.sort_by_key(|planned| planned.cell);
        let tasks = pair
            .each_ref()
            .map(|planned| task(series, planned, finished));
        let infos = schedule::run_duet(environments, series, tasks, events, shutdown).await?;
        Ok(infos.map(Vec::from))
    }
}

fn task<'a>(
    series: Series<'a>,
    planned: &'a PlannedTrial,
    finished: &BTreeSet<TrialKey>,
) -> Task<'a> {
    let info = series.folder.info();
    let cell = schedule::cell_of(series, planned.cell);
    let partner = series.study.duet_partner(cell);
    let is_own = |key: &TrialKey| {
        let is_own = key.cell == planned.cell
            || partner.is_some_and(|partner_cell| partner_cell.number == key.cell);
        is_own && key.repetition == planned.repetition
    };
    let mut left = info
        .order
        .iter()
        .filter(|left| !finished.contains(left) && !is_own(left));
    let next = left.next();
    let may_add = may_add(series.study);
    Task {
        cell,
        planned,
        level: None,
        has_next: next.is_some() || may_add,
        next_shares_system: may_add
            || next.is_some_and(|next| {
                let next = schedule::cell_of(series, next.cell);
                series.study.share_preparation(cell, next)
            }),
        duet: None,
        quiet_wait: None,
    }
}

fn may_add(study: &Study) -> bool {
    study.repeat_max > study.repeat
}

/// The results so far, each read once.
#[derive(Debug, Default)]
struct History {
    trials: BTreeMap<TrialKey, Finished>,
}

/// A trial with a result.
#[derive(Debug)]
struct Finished {
    so_far: TrialSoFar,
    /// All of its phases.
    took: Duration,
}

/// A trial that would be added.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    trial: AddedTrial,
    /// How long it probably takes.
    takes: Duration,
    /// Those with a larger one come first if there is not time for all.
    urgency: f64,
}

/// What the need of a trial depends on, beside the trials of its cell.
#[derive(Clone, Copy)]
struct RunState<'a> {
    study: &'a Study,
    info: &'a RunInfo,
    /// Whether others disturbed every trial.
    is_contended_throughout: bool,
}

impl History {
    /// The next block of repetitions of these cells, of which every trial has a result; empty: no more are added.
    fn additions(
        &mut self,
        series: Series<'_>,
        cells: &[u32],
    ) -> Result<Vec<AddedTrial>, RunError> {
        if !may_add(series.study) {
            return Ok(Vec::new());
        }
        let info = series.folder.info();
        self.read(series, &info, cells)?;
        let sentinel = series.study.sentinel().map(|cell| cell.number);
        let candidates = cells.iter().filter(|cell| Some(**cell) != sentinel);
        let state = RunState {
            study: series.study,
            info: &info,
            is_contended_throughout: self.is_contended_throughout(),
        };
        let wanted = candidates.filter_map(|cell| self.trial_needed(state, *cell));
        let wanted = one_of_each_duet(series, wanted.collect());
        let chosen = in_time(wanted, self.time_left(series, cells));
        let mut added: Vec<AddedTrial> = chosen.into_iter().map(|wanted| wanted.trial).collect();
        match series.study.order {
            TrialOrder::AsListed => added.sort_by_key(|added| added.key),
            TrialOrder::Shuffled => {
                added.sort_by_key(|added| schedule::trial_seed(series.study.seed, added.key));
            }
        }
        added.extend(sentinel_trial(series.study, &info, &added));
        Ok(added
            .into_iter()
            .flat_map(|trial| with_partner(series, trial))
            .collect())
    }

    fn read(&mut self, series: Series<'_>, info: &RunInfo, cells: &[u32]) -> Result<(), RunError> {
        let path = series.folder.path();
        for key in info.order.iter().filter(|key| cells.contains(&key.cell)) {
            if self.trials.contains_key(key) {
                continue;
            }
            let Some(trial) = trial_info(path, *key)? else {
                continue;
            };
            let phases = trial.phases.first().zip(trial.phases.last());
            let took = phases.map_or(0.0, |(first, last)| last.end_s - first.start_s);
            let finished = Finished {
                so_far: waggle_analysis::trial_so_far(path, *key)?,
                took: Duration::try_from_secs_f64(took).unwrap_or_default(),
            };
            self.trials.insert(*key, finished);
        }
        Ok(())
    }

    fn of_cell(&self, cell: u32) -> impl Iterator<Item = (&TrialKey, &Finished)> {
        let trials = self.trials.iter();
        trials.filter(move |(key, _)| key.cell == cell)
    }

    /// The time that is left for further trials of these cells. If cells are run one after the other, each has its share of it.
    fn time_left(&self, series: Series<'_>, cells: &[u32]) -> Duration {
        let mut ended = self.trials.iter();
        let ended = ended.by_ref().filter(|(key, _)| cells.contains(&key.cell));
        let took: Duration = ended.map(|(_, finished)| finished.took).sum();
        let expected = |is_meant: &dyn Fn(u32) -> bool| {
            let all = series.study.cells.iter();
            let meant = all.filter(|cell| is_meant(cell.number));
            meant.map(expected_duration).sum::<Duration>().as_secs_f64()
        };
        let part = share(expected(&|cell| cells.contains(&cell)), expected(&|_| true));
        series.plan.adding_limit.mul_f64(part).saturating_sub(took)
    }

    /// Whether others disturbed every trial: then they will disturb the next ones, too.
    fn is_contended_throughout(&self) -> bool {
        let mut trials = self.trials.values();
        let is_contended = |trial: &Finished| has_reason(&trial.so_far, Verdict::Contended);
        !self.trials.is_empty() && trials.all(is_contended)
    }

    /// The trial that a cell needs, if it does.
    fn trial_needed(&self, state: RunState<'_>, cell: u32) -> Option<Wanted> {
        let (keys, trials): (Vec<_>, Vec<_>) = self.of_cell(cell).unzip();
        let judged: Vec<TrialSoFar> = trials.iter().map(|trial| trial.so_far.clone()).collect();
        let reason = reason(state, cell, &judged, &keys)?;
        let took: Duration = trials.iter().map(|trial| trial.took).sum();
        let number = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        let last = keys.iter().map(|key| key.repetition).max()?;
        Some(Wanted {
            trial: AddedTrial {
                key: TrialKey {
                    cell,
                    repetition: last + 1,
                },
                reason,
            },
            takes: took / number.max(1),
            urgency: match reason {
                AddedReason::Wide { width: Some(width) } => width,
                AddedReason::Wide { width: None }
                | AddedReason::Disturbed { .. }
                | AddedReason::Sentinel => f64::INFINITY,
            },
        })
    }
}

/// Of two cells that run at the same time, the more urgent one.
fn one_of_each_duet(series: Series<'_>, mut wanted: Vec<Wanted>) -> Vec<Wanted> {
    wanted.sort_by(|a, b| b.urgency.total_cmp(&a.urgency));
    let mut chosen: Vec<Wanted> = Vec::new();
    for candidate in wanted {
        let cell = schedule::cell_of(series, candidate.trial.key.cell);
        let partner = series.study.duet_partner(cell);
        let is_partner =
            |other: &Wanted| partner.is_some_and(|partner| partner.number == other.trial.key.cell);
        if !chosen.iter().any(is_partner) {
            chosen.push(candidate);
        }
    }
    chosen
}

/// The trial, and the one that runs at the same time for the same reason.
fn with_partner(series: Series<'_>, added: AddedTrial) -> Vec<AddedTrial> {
    let cell = schedule::cell_of(series, added.key.cell);
    let partner = series.study.duet_partner(cell).map(|partner| AddedTrial {
        key: TrialKey {
            cell: partner.number,
            ..added.key
        },
        ..added
    });
    let mut both: Vec<AddedTrial> = [Some(added), partner].into_iter().flatten().collect();
    both.sort_by_key(|added| added.key);
    both
}

fn has_reason(trial: &TrialSoFar, verdict: Verdict) -> bool {
    let mut reasons = trial.reasons.iter();
    reasons.any(|reason| reason.verdict == verdict)
}

/// What the machine did to a cell with this verdict, or to so many of its trials that it is not bounded by the others: a change of level
/// within a trial only widens the interval.
fn disturbance(verdict: Verdict, judged: &[TrialSoFar]) -> Option<Verdict> {
    let steady = |trial: &&TrialSoFar| !has_reason(trial, Verdict::Unsteady);
    let is_steady = judged.iter().filter(steady).count() >= CLEAN_TRIALS_MIN;
    match verdict {
        Verdict::Unsteady | Verdict::Contended | Verdict::InstrumentLimited => Some(verdict),
        Verdict::Valid if !is_steady => Some(Verdict::Unsteady),
        _ => None,
    }
}

/// Why a cell needs another trial, from those that it has.
fn reason(
    state: RunState<'_>,
    cell: u32,
    judged: &[TrialSoFar],
    keys: &[&TrialKey],
) -> Option<AddedReason> {
    let RunState {
        study,
        info,
        is_contended_throughout,
    } = state;
    let so_far = waggle_analysis::cell_so_far(judged);
    let verdict = so_far.verdict?;
    let study_cell = study.cells.iter().find(|known| known.number == cell)?;
    let expected = study_cell.expect_verdict.or(study.expect_verdict);
    let expected = expected.map(waggle_analysis::expected_verdict);
    let is_expected = expected == Some(verdict);
    let replaced = info.added.iter().filter(|added| {
        added.key.cell == cell && matches!(added.reason, AddedReason::Disturbed { .. })
    });
    let replaced = u32::try_from(replaced.count()).unwrap_or(u32::MAX);
    let disturbance = disturbance(verdict, judged).filter(|_| !is_contended_throughout);
    if let Some(disturbance) = disturbance
        && !is_expected
        && expected != Some(disturbance)
        && replaced < MAX_REPLACEMENTS
    {
        let mut trials = judged.iter().zip(keys);
        let disturbed = trials.rfind(|(trial, _)| has_reason(trial, disturbance));
        if let Some((_, key)) = disturbed {
            let repetition = key.repetition;
            return Some(AddedReason::Disturbed { repetition });
        }
    }
    let is_hopeless = match verdict {
        Verdict::Failed => true,
        // Its times grow with the load's duration, whatever their interval.
        Verdict::Overloaded => !is_expected,
        _ => false,
    };
    let counted = u32::try_from(judged.len()).unwrap_or(u32::MAX);
    let is_full = counted.saturating_sub(replaced) >= study.repeat_max;
    let is_wide = match so_far.widest {
        Some(width) => width > study.max_ci_width,
        None => judged.len() < 2,
    };
    (is_wide && !is_full && !is_hopeless).then_some(AddedReason::Wide {
        width: so_far.widest,
    })
}

/// The sentinel's next trial, if so many others run in between.
fn sentinel_trial(study: &Study, info: &RunInfo, added: &[AddedTrial]) -> Option<AddedTrial> {
    let (sentinel, every) = study.sentinel().zip(study.sentinel_every)?;
    let order = info
        .order
        .iter()
        .chain(added.iter().map(|added| &added.key));
    let order: Vec<u32> = order.map(|key| key.cell).collect();
    let is_due = !added.is_empty() && since_sentinel(sentinel, order.iter().copied()) >= every;
    let repetitions = order.iter().filter(|cell| **cell == sentinel.number);
    let repetition = u32::try_from(repetitions.count()).unwrap_or(u32::MAX);
    is_due.then_some(AddedTrial {
        key: TrialKey {
            cell: sentinel.number,
            repetition: repetition.saturating_add(1),
        },
        reason: AddedReason::Sentinel,
    })
}

/// The trials for which there is time, the most urgent first.
fn in_time(mut wanted: Vec<Wanted>, mut left: Duration) -> Vec<Wanted> {
    wanted.sort_by(|a, b| b.urgency.total_cmp(&a.urgency));
    wanted.retain(|wanted| match left.checked_sub(wanted.takes) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    wanted
}

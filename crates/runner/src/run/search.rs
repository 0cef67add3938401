//! The searches of a study for the highest level: cell after cell, each trial at the level that follows from those before it; then the
//! trials at operating points, whose levels follow from the answers.
//!
//! The state of a search is on disk: every trial with a result is passed to it again, so that an interrupted search continues
//! where it stopped.

use std::collections::BTreeMap;

use waggle_results::{TrialInfo, TrialKey};
use waggle_spec::LevelKind;
use waggle_stats::{Answer, Levels, Search, Settings, Step};
use waggle_study::{Cell, PlannedTrial};
use waggle_system::{components::driver::Driver, http::client::HttpConnector, shutdown::Shutdown};

use crate::{
    event::Event,
    event_sender::Events,
    load::load_run::Load,
    run::{
        early_failures::EarlyFailures,
        request::Ended,
        schedule,
        schedule::{Series, Task},
    },
    trial,
    trial::{TrialEnvironment, error::RunError},
};

/// Runs the rest of every cell's search, and of its trials at operating points, in the plan's order.
pub(crate) async fn run_all<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    asked: &waggle_spec::Search,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    let finished = series.folder.finished_trials()?;
    let trials = (series.plan.trials.len(), finished.len());
    schedule::report_start(series.plan, trials, events).await;
    let mut answers: BTreeMap<u32, Answer> = BTreeMap::new();
    let mut failures = EarlyFailures::default();
    let of_cells = series
        .plan
        .trials
        .chunk_by(|predecessor, next| predecessor.cell == next.cell);
    for planned in of_cells {
        let cell = schedule::cell_of(series, planned[0].cell);
        let is_step = |trial: &PlannedTrial| trial.repetition <= asked.max_trials;
        // Those of a cell at operating points are behind its steps.
        let (steps, points) = planned.split_at(planned.partition_point(is_step));
        if !steps.is_empty() {
            let of_cell = CellSteps {
                series,
                cell,
                asked,
                planned: steps,
                finished: &finished,
            };
            let searched = of_cell.run(environment, &mut failures, events, shutdown);
            let Some(answer) = searched.await? else {
                return Ok(Ended::Interrupted);
            };
            if failures.is_over() {
                return Ok(Ended::Finished);
            }
            answers.insert(cell.number, answer);
        }
        let answer = answers.get(&cell.number);
        for point in points {
            let level = answer.and_then(|answer| operating_level(series, point, answer));
            let Some(level) = level.filter(|_| !finished.contains(&schedule::key_of(point))) else {
                continue;
            };
            if shutdown.is_asked() {
                return Ok(Ended::Interrupted);
            }
            // With the pool that the capacity was found with.
            let pool = answer.and_then(|answer| answer.pool);
            let cell = cell_of_step(cell, pool.map(|pool| pool.connections), level);
            let task = step_task(&cell, point, level);
            let ran = run_step(environment, series, task, events, shutdown).await?;
            if ran.is_none() {
                return Ok(Ended::Interrupted);
            }
        }
        schedule::take_down(environment, series, events).await?;
    }
    Ok(Ended::Finished)
}

/// The level of a trial at an operating point; `None`: its cell has none.
fn operating_level(series: Series<'_>, planned: &PlannedTrial, answer: &Answer) -> Option<f64> {
    let info = series.folder.info();
    let search = info.search.as_ref()?;
    let share = search.operating_share(planned.repetition)?;
    waggle_analysis::operating_level(search, answer, share)
}

/// The search of one cell.
struct CellSteps<'a> {
    series: Series<'a>,
    cell: &'a Cell,
    asked: &'a waggle_spec::Search,
    planned: &'a [PlannedTrial],
    finished: &'a [TrialKey],
}

impl CellSteps<'_> {
    /// Runs the rest of it; `None`: interrupted.
    async fn run<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        failures: &mut EarlyFailures,
        events: &Events,
        shutdown: &Shutdown,
    ) -> Result<Option<Answer>, RunError> {
        let Self {
            series,
            cell,
            planned,
            ..
        } = *self;
        let search = Search::new(settings(self.asked));
        let mut search = search.expect("the levels of a checked study are in order");
        let mut steps = Vec::new();
        for trial in planned {
            let key = schedule::key_of(trial);
            if !self.finished.contains(&key) {
                break;
            }
            let step = waggle_analysis::evidence(series.folder.path(), key)?;
            search.report(step.tried);
            steps.push(step);
        }
        let answer = loop {
            if shutdown.is_asked() {
                return Ok(None);
            }
            let level = match search.next() {
                Step::Done(answer) => break answer,
                Step::Try(level) | Step::Confirm { level, .. } => level,
            };
            let Some(next) = planned.get(search.trials().len()) else {
                break search.answer();
            };
            let cell = cell_of_step(cell, search.connections(), level);
            let task = step_task(&cell, next, level);
            let Some(info) = run_step(environment, series, task, events, shutdown).await? else {
                return Ok(None);
            };
            let key = schedule::key_of(next);
            let mut step = waggle_analysis::evidence(series.folder.path(), key)?;
            search.report(step.tried);
            step.evidence = search.evidence().pop().unwrap_or(step.evidence);
            steps.push(step.clone());
            events.report(Event::Searched(step)).await;
            let cells = series.study.cells.len();
            failures.note_step(&info, cells, events).await;
            if failures.is_over() || failures.has_ended(cell.number) {
                break search.answer();
            }
        };
        let event = Event::Found {
            cell: cell.number,
            why: waggle_analysis::shortfalls_at_limit(&answer, &steps).to_vec(),
            not_needed: self.trials_not_needed(&answer),
            answer: answer.clone(),
        };
        events.report(event).await;
        Ok(Some(answer))
    }

    /// Of those that are planned for the cell.
    fn trials_not_needed(&self, answer: &Answer) -> u32 {
        let steps = u32::try_from(self.planned.len()).unwrap_or(u32::MAX);
        let points = match answer.capacity() {
            Some(_) => 0,
            None => self.asked.operating_trials(),
        };
        steps.saturating_sub(answer.trials).saturating_add(points)
    }
}

/// Runs one trial, and writes it; `None`: interrupted.
async fn run_step<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    task: Task<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Option<TrialInfo>, RunError> {
    match schedule::run_trial(environment, series, task, events, shutdown).await? {
        trial::Ended::Completed(unwritten) => {
            let info = unwritten.write()?;
            events.report(schedule::ended_event(&info)).await;
            Ok(Some(info))
        }
        trial::Ended::Interrupted => Ok(None),
    }
}

/// The cell at a level, with the pool of connections that its search has come to.
fn cell_of_step(cell: &Cell, connections: Option<u32>, level: f64) -> Cell {
    let load = match connections {
        Some(size) => cell.load.with_connections(size),
        None => cell.load.clone(),
    };
    Cell {
        load: load.at_level(level),
        ..cell.clone()
    }
}

fn step_task<'a>(cell: &'a Cell, planned: &'a PlannedTrial, level: f64) -> Task<'a> {
    Task {
        cell,
        planned,
        level: Some(level),
        // Whether another trial follows is known only after this one, so the host must become idle in any case.
        has_next: true,
        next_shares_system: true,
        duet: None,
        quiet_wait: None,
    }
}

fn settings(search: &waggle_spec::Search) -> Settings {
    Settings {
        start: search.start,
        min: search.min,
        max: search.max,
        precision: search.precision,
        confirmations: search.confirmations,
        max_trials: search.max_trials,
        max_connections: search.max_connections,
        levels: match search.maximize {
            LevelKind::Rate => Levels::Fine,
            LevelKind::Users | LevelKind::Connections => Levels::Whole,
        },
    }
}

//! The searches of a study for the highest level: cell after cell, each trial at the level that follows from those before it.
//!
//! The state of a search is on disk: every trial with a result is passed to it again, so that an interrupted search continues
//! where it stopped.

use waggle_stats::{Levels, Search, Settings, Step};
use waggle_study::{Cell, PlannedTrial, Sought};

use crate::{
    Ended, Event, RunError,
    driver::Driver,
    events::{Events, Shutdown},
    http::HttpConnector,
    load::Load,
    schedule::{self, Series, Task},
    trial::{self, TrialEnvironment},
};

/// Runs the rest of every cell's search, in the plan's order.
pub(crate) async fn run_all<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    asked: &waggle_study::Search,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    let finished = series.folder.finished_trials()?;
    let trials = (series.plan.trials.len(), finished.len());
    schedule::report_start(series.plan, trials, events).await;
    let of_cells = series
        .plan
        .trials
        .chunk_by(|one, next| one.cell == next.cell);
    for planned in of_cells {
        let cell = schedule::cell_of(series, planned[0].cell);
        let search = Search::new(settings(asked));
        let mut search = search.expect("the levels of a checked study are in order");
        let mut steps = Vec::new();
        for trial in planned {
            let key = schedule::key_of(trial);
            if !finished.contains(&key) {
                break;
            }
            let step = waggle_analysis::evidence(series.folder.path(), key)?;
            search.report(step.to_evidence());
            steps.push(step);
        }
        let answer = loop {
            if shutdown.is_asked() {
                return Ok(Ended::Interrupted);
            }
            let level = match search.next() {
                Step::Done(answer) => break answer,
                Step::Try(level) | Step::Confirm { level, .. } => level,
            };
            let Some(next) = planned.get(search.trials().len()) else {
                break search.answer();
            };
            match run_step(environment, series, (cell, next, level), events, shutdown).await? {
                trial::Ended::Completed(unwritten) => {
                    let info = unwritten.write()?;
                    events.report(schedule::ended_event(&info)).await;
                }
                trial::Ended::Interrupted => return Ok(Ended::Interrupted),
            }
            let key = schedule::key_of(next);
            let step = waggle_analysis::evidence(series.folder.path(), key)?;
            search.report(step.to_evidence());
            steps.push(step.clone());
            events.report(Event::Searched(step)).await;
        };
        let not_needed = planned.len() - search.trials().len();
        let found = Event::Found {
            cell: cell.number,
            why: waggle_analysis::shortfalls_at_limit(&answer, &steps).to_vec(),
            answer,
            not_needed: u32::try_from(not_needed).unwrap_or(u32::MAX),
        };
        events.report(found).await;
        schedule::take_down(environment, series, events).await?;
    }
    Ok(Ended::Finished)
}

async fn run_step<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    (cell, planned, level): (&Cell, &PlannedTrial, f64),
    events: &Events,
    shutdown: &Shutdown,
) -> Result<trial::Ended, RunError> {
    let cell = Cell {
        load: cell.load.at_level(level),
        ..cell.clone()
    };
    let task = Task {
        cell: &cell,
        planned,
        level: Some(level),
        // Whether another trial follows is known only after this one, so the host must become idle in any case.
        has_next: true,
        next_shares_system: true,
        duet: None,
    };
    schedule::run_trial(environment, series, task, events, shutdown).await
}

fn settings(search: &waggle_study::Search) -> Settings {
    Settings {
        start: search.start,
        min: search.min,
        max: search.max,
        precision: search.precision,
        confirmations: search.confirmations,
        max_trials: search.max_trials,
        levels: match search.maximize {
            Sought::Rate => Levels::Fine,
            Sought::Users | Sought::Connections => Levels::Whole,
        },
    }
}

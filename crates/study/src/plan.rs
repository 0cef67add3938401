//! The plan: which trial runs when. A value that can be printed before anything starts.

use std::{fmt, time::Duration};

use waggle_spec::{Restart, TrialOrder};

use crate::{
    Cell, Preparation, Settle, Study,
    sentinel::{sentinel_trials, with_sentinel},
    shuffle::Shuffle,
};

/// Estimated time to start, check and stop a system if nothing is known yet.
const UP_AND_DOWN: Duration = Duration::from_millis(800);
/// Repetitions are added for so many times the duration of the fewest, by default.
const ADDING_FACTOR: u32 = 3;
/// Trials that replace disturbed ones, for each cell.
pub const MAX_REPLACEMENTS: u32 = 2;

/// One value of a factor or of a system's parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Level {
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// Anything else, durations and sizes included, as written.
    Text(String),
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Boolean(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Every trial, in the order of execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub trials: Vec<PlannedTrial>,
    /// Sum of the phases whose length is known (warm-up at its longest, drain at its shortest); of a search, if it makes
    /// every trial that it may.
    pub expected: Duration,
    /// The same if every cell gets all the repetitions that it may.
    pub expected_max: Duration,
    /// No repetition beyond the fewest is added that would end later than this after the start.
    pub adding_limit: Duration,
    /// Sum of all deadlines, with all repetitions that may be added.
    pub at_most: Duration,
}

/// One run of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTrial {
    /// Position in the order of execution, counted from 1.
    pub position: u32,
    /// [`crate::Cell::number`].
    pub cell: u32,
    /// Counted from 1.
    pub repetition: u32,
}

/// The trials in the order of execution: repetition by repetition, in each of them every cell once. Shuffled, the
/// order follows from the study's seed alone, and is the same in every version (see `shuffle`).
///
/// With a search: cell by cell, all trials that the search may need, because each step depends on those before it; then those at
/// operating points, repetition by repetition. The order is cell by cell throughout if the system is kept up over a cell's trials.
#[must_use]
pub fn plan(study: &Study) -> Plan {
    let mut shuffle = Shuffle::new(study.seed);
    let by_cell = match (&study.search, study.restart) {
        (_, Restart::EveryCell) => study.repeat,
        (Some(search), Restart::EveryTrial) => search.max_trials,
        (None, Restart::EveryTrial) => 0,
    };
    let mut each: Vec<(u32, u32)> = Vec::new();
    if by_cell > 0 {
        for cell in regular_cells(study, &mut shuffle) {
            each.extend((1..=by_cell).map(|repetition| (cell, repetition)));
        }
    }
    for repetition in by_cell + 1..=study.repeat {
        let cells = regular_cells(study, &mut shuffle).into_iter();
        each.extend(cells.map(|cell| (cell, repetition)));
    }
    let trials = (1..)
        .zip(with_sentinel(study, each))
        .map(|(position, (cell, repetition))| PlannedTrial {
            position,
            cell,
            repetition,
        })
        .collect();
    // A cell that runs at the same time as another one adds only its start and its end.
    let own_duration = |cell: &Cell| match study.follows_partner(cell) {
        true => UP_AND_DOWN,
        false => expected_duration(cell),
    };
    let expected = over_cells(study, &own_duration, study.repeat);
    let adding_limit = study
        .repeat_max_duration
        .unwrap_or(expected * ADDING_FACTOR);
    let all = over_cells(study, &own_duration, study.repeat_max);
    let most = match study.repeat_max > study.repeat {
        true => study.repeat_max + MAX_REPLACEMENTS,
        false => study.repeat_max,
    };
    Plan {
        trials,
        expected,
        expected_max: all.min(adding_limit).max(expected),
        adding_limit,
        at_most: over_cells(study, &|cell| deadlines(cell) + study.system_at_most, most),
    }
}

/// The cells of a repetition in their order. Two cells that run at the same time stay together.
fn regular_cells(study: &Study, shuffle: &mut Shuffle) -> Vec<u32> {
    let cells = study.cells.iter().filter(|cell| !cell.is_sentinel);
    let mut cells: Vec<&Cell> = cells.filter(|cell| !study.follows_partner(cell)).collect();
    if study.order == TrialOrder::Shuffled {
        shuffle.shuffle(&mut cells);
    }
    let each = study.grown(cells).into_iter();
    let each = each.flat_map(|cell| [Some(cell), study.duet_partner(cell)]);
    each.flatten().map(|cell| cell.number).collect()
}

/// The sum of a duration over all trials of so many repetitions.
fn over_cells(study: &Study, duration: &dyn Fn(&Cell) -> Duration, repetitions: u32) -> Duration {
    let cells = study.cells.iter().filter(|cell| !cell.is_sentinel);
    let trials = cells.clone().count() * usize::try_from(repetitions).unwrap_or(usize::MAX);
    let regular = cells.map(duration).sum::<Duration>() * repetitions;
    match (study.sentinel(), study.sentinel_every) {
        (Some(cell), Some(every)) => regular + duration(cell) * sentinel_trials(trials, every),
        _ => regular,
    }
}

/// How long a trial of a cell is likely to last.
#[must_use]
pub fn expected_duration(cell: &Cell) -> Duration {
    let schedule = &cell.schedule;
    let last_poll = cell
        .delivery
        .as_ref()
        .map_or(Duration::ZERO, |delivery| delivery.poll_interval);
    let down = cell.last_restart().unwrap_or_default();
    // How long clients take is not known before they have run.
    let measured = match cell.load.is_clients() {
        true => schedule.interval,
        false => schedule.measure + schedule.recovery_duration(),
    };
    let loaded = schedule.warm_up + measured.max(down);
    let settle = cell
        .preparation
        .as_ref()
        .and_then(|preparation| preparation.settle.as_ref());
    let settle = match settle {
        Some(Settle::Time(time)) => *time,
        Some(Settle::Quiet { quiet_period, .. }) => *quiet_period,
        None => Duration::ZERO,
    };
    UP_AND_DOWN + settle + loaded + last_poll + schedule.expected_cool_down()
}

/// Sum of the deadlines of a trial's phases, without the system's own. Answers in flight when the load stops are awaited until
/// their timeout, killed components until they are ready again.
fn deadlines(cell: &Cell) -> Duration {
    let schedule = &cell.schedule;
    let restart = cell.last_restart();
    let up_again = restart.map_or(Duration::ZERO, |restart| {
        restart.saturating_sub(schedule.measure) + schedule.ready_timeout
    });
    let preparation = cell.preparation.as_ref();
    let preparation = preparation.map_or(Duration::ZERO, Preparation::at_most);
    up_again
        + preparation
        + schedule.ready_timeout
        + schedule.warm_up
        + schedule.measure
        + schedule.recovery_duration()
        + cell.longest_timeout()
        + schedule.drain_timeout
        + schedule.cool_down
}

//! `--filter`, `--quick` and `--pilot`: reduce a checked study.

use std::time::Duration;

use anyhow::{Result, bail};
use waggle_convert::input::question;
use waggle_spec::{Selection, WarmUpUntil};
use waggle_study::{Cell, MIN_STEADY_INTERVALS, MIN_WARM_UP_INTERVALS, Study, nearest_word};

use crate::arguments::form::Form;

/// Precision and maximum number of trials per cell of a quick search.
const QUICK_PRECISION: f64 = 0.5;
const QUICK_TRIALS: u32 = 8;

/// Repetitions of a pilot: the fewest whose scatter says something.
const PILOT: u32 = 3;

/// Reduces a study to what `--filter`, `--quick` and `--pilot` leave of it.
pub(crate) fn select(study: &mut Study, filters: &[String], form: Form) -> Result<()> {
    let cells = study.cells.len();
    keep_cells(study, filters)?;
    match form {
        Form::Whole => {}
        Form::Pilot if study.search.is_some() => bail!(
            "--pilot: the study searches for a level, and its trials are at different ones; a pilot needs fixed levels"
        ),
        Form::Pilot => (study.repeat, study.repeat_max) = (PILOT, PILOT),
        Form::Quick => shorten(study),
    }
    if form != Form::Whole || !filters.is_empty() {
        study.selection = Some(Selection {
            quick: form == Form::Quick,
            pilot: form == Form::Pilot,
            filters: filters.to_vec(),
            cells,
        });
    }
    Ok(())
}

/// Keeps the cells that match every `FACTOR=LEVEL`; cells keep their numbers.
fn keep_cells(study: &mut Study, filters: &[String]) -> Result<()> {
    let mut chosen: Vec<&str> = Vec::new();
    for filter in filters {
        let Some((factor, level)) = filter.split_once('=') else {
            bail!(
                "--filter {filter}: expected FACTOR=LEVEL, e.g. --filter {}",
                example(study)
            );
        };
        let derived = study.derived.iter().map(|entry| &entry.name);
        let known: Vec<&str> = study
            .factors
            .iter()
            .chain(derived)
            .map(String::as_str)
            .collect();
        if known.is_empty() {
            bail!("--filter {filter}: this study has no factors, and one cell");
        }
        if !known.contains(&factor) {
            bail!(
                "--filter {filter}: this study has no factor \"{factor}\"; its factors are {}{}",
                known.join(", "),
                question(nearest_word(factor, known.iter().copied()))
            );
        }
        if chosen.contains(&factor) {
            bail!("--filter {filter}: {factor} is chosen twice, and a cell has one level of it");
        }
        chosen.push(factor);
        let levels = levels_of(study, factor);
        if !levels.iter().any(|known| known == level) {
            bail!(
                "--filter {filter}: {factor} has no level \"{level}\"; its levels are {}",
                levels.join(", ")
            );
        }
        study.cells.retain(|cell| {
            cell.all_levels()
                .any(|(name, value)| name == factor && value.to_string() == level)
        });
    }
    Ok(())
}

/// One repetition, a coarse search, phases just long enough for the checks.
fn shorten(study: &mut Study) {
    study.repeat = match &mut study.search {
        Some(search) => {
            search.confirmations = 1;
            search.precision = search.precision.max(QUICK_PRECISION);
            search.max_trials = search.max_trials.min(QUICK_TRIALS);
            if let Some(points) = &mut search.operating_points {
                points.repeat = 1;
            }
            search.trials()
        }
        None => 1,
    };
    study.repeat_max = study.repeat;
    study.sentinel_every = None;
    for cell in &mut study.cells {
        let shortest = cell.schedule.interval * MIN_STEADY_INTERVALS;
        // Faults need the whole measured phase.
        if cell.faults.is_empty() {
            cell.schedule.measure = cell.schedule.measure.min(shortest);
        }
        let mut warm_up = match cell.schedule.warm_up_until {
            WarmUpUntil::Steady => cell.schedule.interval * MIN_WARM_UP_INTERVALS,
            WarmUpUntil::Duration | WarmUpUntil::Requests(_) => shortest,
        };
        if let Some(ramp_up) = &mut cell.schedule.ramp_up {
            ramp_up.duration = ramp_up.duration.min(shortest);
            warm_up += ramp_up.duration;
        }
        if let Some(recovery) = &mut cell.schedule.recovery {
            recovery.duration = recovery.duration.min(shortest);
            recovery.control = recovery.control.map(|control| control.min(shortest));
            warm_up += recovery.control.unwrap_or_default();
        }
        cell.schedule.warm_up = cell.schedule.warm_up.min(warm_up);
        cell.schedule.cool_down = Duration::ZERO;
        cell.schedule.cool_down_until = None;
    }
}

/// The levels that the cells have of a factor.
pub(crate) fn levels_of(study: &Study, factor: &str) -> Vec<String> {
    let mut levels: Vec<String> = Vec::new();
    for (name, level) in study.cells.iter().flat_map(Cell::all_levels) {
        let level = level.to_string();
        if name == factor && !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels
}

fn example(study: &Study) -> String {
    study
        .cells
        .first()
        .and_then(|cell| cell.levels.first())
        .map_or_else(
            || "workers=2".to_owned(),
            |(name, level)| format!("{name}={level}"),
        )
}

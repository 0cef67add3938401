//! `--only` and `--quick`: a smaller study out of a checked one.

use std::time::Duration;

use anyhow::{Result, bail};
use waggle_study::{MIN_STEADY_INTERVALS, Study};

/// How close the ends of a quick search come, as a share, and in how many trials of a cell at most.
const QUICK_PRECISION: f64 = 0.5;
const QUICK_TRIALS: u32 = 8;

/// Keeps the cells in which every `FACTOR=LEVEL` holds; cells keep their numbers.
pub(crate) fn keep_cells(study: &mut Study, filters: &[String]) -> Result<()> {
    for filter in filters {
        let Some((factor, level)) = filter.split_once('=') else {
            bail!(
                "--only {filter}: expected FACTOR=LEVEL, e.g. --only {}",
                example(study)
            );
        };
        if !study.factors.iter().any(|name| name == factor) {
            bail!(
                "--only {filter}: this study has no factor \"{factor}\"; its factors are {}",
                study.factors.join(", ")
            );
        }
        let levels = levels_of(study, factor);
        if !levels.iter().any(|known| known == level) {
            bail!(
                "--only {filter}: {factor} has no level \"{level}\" here; its levels are {}",
                levels.join(", ")
            );
        }
        study.cells.retain(|cell| {
            cell.levels
                .iter()
                .any(|(name, value)| name == factor && value.to_string() == level)
        });
    }
    Ok(())
}

/// One repetition, a coarse search, phases just long enough to be judged.
pub(crate) fn quick(study: &mut Study) {
    study.repeat = match &mut study.find {
        Some(find) => {
            find.confirm = 1;
            find.precision = find.precision.max(QUICK_PRECISION);
            find.trials_at_most = find.trials_at_most.min(QUICK_TRIALS);
            find.trials_at_most
        }
        None => 1,
    };
    for cell in &mut study.cells {
        let shortest = cell.measure.interval * MIN_STEADY_INTERVALS;
        // What is killed in the middle of a phase needs the whole of it.
        if cell.disturbances.is_empty() {
            cell.schedule.measure = cell.schedule.measure.min(shortest);
        }
        let mut warm_up = shortest;
        if let Some(first) = &mut cell.schedule.first {
            first.time = first.time.min(shortest);
            warm_up += first.time;
        }
        cell.schedule.warm_up_at_most = cell.schedule.warm_up_at_most.min(warm_up);
        cell.schedule.cool_down = Duration::ZERO;
        if let Some(recovery) = &mut cell.schedule.recovery {
            recovery.at_most = recovery.at_most.min(shortest);
        }
    }
}

fn levels_of(study: &Study, factor: &str) -> Vec<String> {
    let mut levels: Vec<String> = Vec::new();
    for (name, level) in study.cells.iter().flat_map(|cell| &cell.levels) {
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

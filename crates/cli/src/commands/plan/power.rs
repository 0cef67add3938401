//! Which difference the planned repetitions show, by the scatter of trials in earlier runs: what `waggle plan` says of it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use waggle_analysis::{Model, history::is_same_host, model, planned_power};
use waggle_report::wording::{format::plural, power::plan_lines};
use waggle_results::{Run, parallel_map, run_info};
use waggle_spec::Agents;
use waggle_study::Study;

use crate::{
    arguments::Plan,
    commands::compare,
    inputs::{against, runs},
};

/// So many runs, the newest, show the scatter well enough.
const RUNS_MAX: usize = 10;

/// Lines of the plan; none of a search, whose trials are at different levels.
pub(crate) fn lines(study: &Study, arguments: &Plan) -> Result<Vec<String>> {
    if study.search.is_some() {
        return Ok(Vec::new());
    }
    let (folders, source) = match &arguments.scatter_from {
        Some(path) => (given_runs(path)?, path.display().to_string()),
        None => {
            let folders = earlier_runs(&arguments.runs, study);
            let source = format!("{} on this host", plural(folders.len(), "earlier run"));
            (folders, source)
        }
    };
    let models: Vec<Option<Model>> = parallel_map(&folders, |folder| {
        Run::read(folder).ok().map(|run| model(&run))
    });
    let models: Vec<Model> = models.into_iter().flatten().collect();
    let planned = planned_power(&models, &levels(study), study.repeat as usize);
    match (planned, &arguments.scatter_from) {
        (Some(planned), _) => Ok(plan_lines(&planned, &source)),
        (None, Some(path)) => bail!(
            "--scatter-from {}: it has no cell of this plan with two trials, so it does not show how they scatter",
            path.display()
        ),
        (None, None) => Ok(vec![format!(
            "which difference they show is not known: {} has no run of {} on this host in which a cell has two trials; a pilot of three \
             repetitions shows it: waggle run {} --pilot",
            arguments.runs.display(),
            study.name,
            runs::shell_word(&arguments.choice.study.display().to_string())
        )]),
    }
}

/// The runs at a path that the user gives.
fn given_runs(path: &Path) -> Result<Vec<PathBuf>> {
    let mut runs = Vec::new();
    for folder in compare::list_runs(path)? {
        let info = run_info(&folder);
        let info = info.with_context(|| format!("--scatter-from {}", path.display()))?;
        runs.push((info.started_utc, folder));
    }
    Ok(newest(runs))
}

/// The newest runs of the study on this host, of which the phases are as long as those that are planned. What cannot be read is none.
fn earlier_runs(runs: &Path, study: &Study) -> Vec<PathBuf> {
    let host = waggle_system::this_host();
    let agents = study.agents.as_ref().map_or(0, Agents::count) as usize;
    let measure = study.cells.first().map(|cell| cell.schedule.measure);
    let measure_s = measure.map(|measure| measure.as_secs_f64());
    let mut alike = Vec::new();
    for folder in runs::runs_in(runs).unwrap_or_default() {
        let Ok(info) = run_info(&folder) else {
            continue;
        };
        let is_quick = (info.selection.as_ref()).is_some_and(|selection| selection.quick);
        if info.study == study.name
            && is_same_host(&info.host, &host)
            // Which hosts join is not known before the run.
            && info.agents.len() == agents
            && info.imported.is_none()
            && !is_quick
            && measure_s == Some(info.schedule.measure_s)
        {
            alike.push((info.started_utc, folder));
        }
    }
    newest(alike)
}

/// The newest of runs with the times of their starts.
fn newest(mut runs: Vec<(String, PathBuf)>) -> Vec<PathBuf> {
    runs.sort();
    let older = runs.len().saturating_sub(RUNS_MAX);
    runs.drain(older..).map(|(_, folder)| folder).collect()
}

/// The levels of the planned cells, of two versions also without the version, which earlier runs do not have.
fn levels(study: &Study) -> Vec<Vec<(String, String)>> {
    let cells = waggle_runner::cell_infos(study).into_iter();
    let cell_levels = cells
        .filter(|cell| !cell.is_sentinel)
        .map(|cell| cell.levels);
    let mut all: Vec<Vec<(String, String)>> = cell_levels.collect();
    if study.versions.is_some() {
        let mut alone = all.clone();
        for levels in &mut alone {
            levels.retain(|(factor, _)| factor != against::VERSION);
        }
        all.extend(alone);
    }
    all
}

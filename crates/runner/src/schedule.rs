//! Every trial of a plan that has no result yet, in the plan's order.

use std::{
    fs,
    path::{Path, PathBuf},
};

use waggle_results::{RunFolder, TrialEnd, TrialInfo, TrialKey};
use waggle_study::{Cell, LoadModel, Plan, PlannedTrial, Restart, Study, System};

use crate::{
    Ended, Event, RunError, SampleLimits,
    calibration::Calibration,
    counts::{as_f64, share},
    cpu_time::CpuClocks,
    cpus::Shares,
    driver::Driver,
    events::{Events, Shutdown},
    http::HttpConnector,
    load::Load,
    random,
    records::RecordFiles,
    repetitions, search,
    secrets::Secrets,
    trial::{self, RunningSystem, TrialContext, TrialEnvironment},
};

/// Folder below the run folder in which a trial's system writes.
const SYSTEM_FOLDER: &str = ".system";
/// Folder below that, for the logs of a system that outlives its trial.
const LOGS_FOLDER: &str = "logs";

/// What all trials of a run share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Series<'a> {
    pub(crate) study: &'a Study,
    pub(crate) system: &'a System,
    pub(crate) plan: &'a Plan,
    pub(crate) folder: &'a RunFolder,
    pub(crate) records: &'a RecordFiles,
    /// For a server that runs already with https.
    pub(crate) tls: Option<&'a waggle_load::Tls>,
    pub(crate) shares: &'a Shares,
    pub(crate) calibration: &'a Calibration,
    /// CPU clocks of the CPUs that waggle may use; `None`: they are not read.
    pub(crate) clocks: Option<&'a CpuClocks>,
    /// How much of a store probes read under load.
    pub(crate) sample_limits: SampleLimits,
}

/// A trial to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) planned: &'a PlannedTrial,
    /// The load level, if the study searches for one.
    pub(crate) level: Option<f64>,
    /// Another trial follows, so the host must become idle.
    pub(crate) has_next: bool,
    /// The next trial is of the same cell, or may be.
    pub(crate) next_is_of_cell: bool,
}

/// Runs the rest of the plan; no system is up afterwards.
pub(crate) async fn run_all<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    let ended = run_each(environment, series, events, shutdown).await;
    take_down(environment, series, events).await?;
    ended
}

/// Brings down a system that was kept up for another trial.
pub(crate) async fn take_down<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    events: &Events,
) -> Result<(), RunError> {
    if environment.running_system.take().is_none() {
        return Ok(());
    }
    for remark in environment.driver.stop_all().await {
        events.report(Event::Warning(remark)).await;
    }
    remove(&series.folder.path().join(SYSTEM_FOLDER))
}

async fn run_each<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    if let Some(asked) = &series.study.search {
        return search::run_all(environment, series, asked, events, shutdown).await;
    }
    repetitions::run_all(environment, series, events, shutdown).await
}

/// The cell with this number in the plan.
pub(crate) fn cell_of(series: Series<'_>, number: u32) -> &Cell {
    let mut cells = series.study.cells.iter();
    cells
        .find(|cell| cell.number == number)
        .expect("a plan is made from the cells of its study")
}

/// Runs one trial.
pub(crate) async fn run_trial<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    task: Task<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<trial::Ended, RunError> {
    let Task { cell, planned, .. } = task;
    let key = key_of(planned);
    let started = Event::TrialStarted {
        position: planned.position,
        key,
        levels: levels(cell),
        level: task.level,
        workers: series.shares.workers(cell.load_workers).len(),
    };
    events.report(started).await;
    if environment
        .running_system
        .as_ref()
        .is_some_and(|kept| kept.cell != cell.number)
    {
        take_down(environment, series, events).await?;
    }
    let kept = environment.running_system.take();
    let folder = system_folder(series, kept.is_some())?;
    let writer = series.folder.begin(key)?;
    // Components run in their own folders, so paths must not depend on the current one.
    let kept_logs = std::path::absolute(writer.logs_folder())
        .map_err(|problem| io_error("find", &folder, problem))?;
    let partial = writer.logs_folder().parent().map(Path::to_path_buf);
    // A system that outlives its trial cannot write its log into the trial's folder.
    let logs = match series.study.restart {
        Restart::EveryTrial => kept_logs.clone(),
        Restart::EveryCell => folder.join(LOGS_FOLDER),
    };
    fs::create_dir_all(&logs).map_err(|problem| io_error("create", &logs, problem))?;
    let is_up = kept.is_some();
    let secrets = kept.map_or_else(
        || Secrets::from_given(&series.study.secrets, &series.study.taken),
        |kept| kept.secrets,
    );
    let system = series.system.configure(&cell.parameters);
    let context = TrialContext {
        system: &system,
        secrets: &secrets,
        cell,
        key,
        position: planned.position,
        level: task.level,
        seed: trial_seed(series.study.seed, key),
        records: series.records,
        tls: series.tls,
        shares: series.shares,
        clocks: series.clocks,
        sample_limits: series.sample_limits,
        possible_per_s: possible_per_s(series, task),
        folder: &folder,
        logs: &logs,
        kept_logs: &kept_logs,
        has_next: task.has_next,
        is_up,
        may_stay_up: series.study.restart == Restart::EveryCell && task.next_is_of_cell,
    };
    let (ended, stays_up) = trial::run(environment, context, writer, events, shutdown).await?;
    if stays_up {
        environment.running_system = Some(RunningSystem {
            cell: cell.number,
            secrets,
        });
    }
    if let (trial::Ended::Interrupted, Some(partial)) = (&ended, &partial) {
        remove(partial)?;
    }
    Ok(ended)
}

/// The folder of a trial's system as an absolute path; empty, unless the system is up already.
fn system_folder(series: Series<'_>, is_up: bool) -> Result<PathBuf, RunError> {
    let folder = series.folder.path().join(SYSTEM_FOLDER);
    // A run that was killed may have left its last system's files.
    if folder.exists() && !is_up {
        remove(&folder)?;
    }
    fs::create_dir_all(&folder).map_err(|problem| io_error("create", &folder, problem))?;
    std::path::absolute(&folder).map_err(|problem| io_error("find", &folder, problem))
}

/// The capacity of the engine at the trial's shape of load. It was measured with the cell's own connections; if a search changes
/// their number, the capacity is unknown.
fn possible_per_s(series: Series<'_>, task: Task<'_>) -> Option<f64> {
    let same_shape = task.level.is_none() || matches!(task.cell.load, LoadModel::Open { .. });
    series
        .calibration
        .possible_per_s(task.cell)
        .filter(|_| same_shape)
}

/// Reports the start of a run with this many trials, of which this many have a result.
pub(crate) async fn report_start(plan: &Plan, (trials, finished): (usize, usize), events: &Events) {
    let all = u32::try_from(trials).unwrap_or(u32::MAX);
    let done = u32::try_from(finished).unwrap_or(u32::MAX).min(all);
    let planned = u32::try_from(plan.trials.len()).unwrap_or(u32::MAX);
    let left = share(f64::from(all - done), f64::from(planned));
    let started = Event::RunStarted {
        trials: all,
        already_done: done,
        expected: plan.expected.mul_f64(left),
    };
    events.report(started).await;
}

pub(crate) fn ended_event(info: &TrialInfo) -> Event {
    let failure = match &info.end {
        TrialEnd::Completed => None,
        TrialEnd::Failed { phase, reason, .. } => Some(format!("{phase:?}: {reason}")),
    };
    let goodput_per_s = share(as_f64(info.measured.succeeded), info.measured.seconds);
    Event::TrialEnded {
        key: info.key,
        failure,
        goodput_per_s,
    }
}

pub(crate) fn key_of(planned: &PlannedTrial) -> TrialKey {
    TrialKey {
        cell: planned.cell,
        repetition: planned.repetition,
    }
}

fn levels(cell: &Cell) -> String {
    let level = |(factor, level): &(String, waggle_study::Level)| format!("{factor}={level}");
    cell.levels.iter().map(level).collect::<Vec<_>>().join(" ")
}

/// Each trial has its own random numbers, which do not depend on when it runs.
pub(crate) fn trial_seed(study: u64, key: TrialKey) -> u64 {
    let trial = u64::from(key.cell) << 32 | u64::from(key.repetition);
    random::mix_word(study ^ trial.wrapping_mul(random::STEP))
}

fn remove(folder: &Path) -> Result<(), RunError> {
    fs::remove_dir_all(folder).map_err(|problem| io_error("remove", folder, problem))
}

fn io_error(attempt: &'static str, path: &Path, problem: std::io::Error) -> RunError {
    RunError::Folder {
        attempt,
        path: path.to_path_buf(),
        problem,
    }
}

//! Every trial of a plan that has no result yet, in the plan's order.

use std::{
    fs,
    path::{Path, PathBuf},
};

use futures_util::future::join;
use waggle_results::{QuietWaitInfo, RunFolder, TrialEnd, TrialInfo, TrialKey, private_file};
use waggle_spec::{LoadModel, Restart};
use waggle_study::{Cell, Design, DuetCpus, Plan, PlannedTrial, Study, System, Version};
use waggle_system::{
    components::driver::Driver,
    host::{cpu_time::CpuClocks, cpus::Shares, measuring::Measuring, quiet::QuietWaits},
    http::client::HttpConnector,
    secrets::{oauth2::TokenSource, words::Secrets},
    shutdown::Shutdown,
};

use crate::{
    event::Event,
    event_sender::Events,
    load::{calibration::Calibration, load_run::Load, random, records::RecordFiles},
    number::{as_f64, share},
    probe::SampleLimits,
    run::{repetitions, request::Ended, search},
    trial,
    trial::{
        Duet, Environments, Part, RunningSystem, TrialContext, TrialEnvironment,
        error::{RunError, io_error},
        snapshot::{FoundSnapshot, Prepared, Snapshots},
    },
};

/// Folder below the run folder in which a trial's system writes.
pub(crate) const SYSTEM_FOLDER: &str = ".system";
/// The same, of the changed version, if it has an environment of its own.
pub(crate) const CHANGED_SYSTEM_FOLDER: &str = ".system-changed";
/// Folder below that, for the logs of a system that outlives its trial.
const LOGS_FOLDER: &str = "logs";

/// What all trials of a run share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Series<'a> {
    pub(crate) study: &'a Study,
    pub(crate) system: &'a System,
    /// The system of the changed version, if it is another one.
    pub(crate) changed_system: Option<&'a System>,
    pub(crate) plan: &'a Plan,
    pub(crate) folder: &'a RunFolder,
    pub(crate) records: &'a RecordFiles,
    /// Where tokens come from; `None`: requests have none.
    pub(crate) tokens: Option<&'a TokenSource>,
    pub(crate) shares: &'a Shares,
    pub(crate) calibration: &'a Calibration,
    /// CPU clocks of the CPUs that waggle may use; `None`: they are not read.
    pub(crate) clocks: Option<&'a CpuClocks>,
    /// Waits for a quiet machine.
    pub(crate) quiet: &'a QuietWaits,
    /// How much of a store probes read under load.
    pub(crate) sample_limits: SampleLimits,
    /// `None`: nobody looks for others that measure.
    pub(crate) measuring: Option<&'a Measuring>,
    /// `None`: prepared systems are not kept.
    pub(crate) snapshots: Option<Snapshots<'a>>,
}

impl<'a> Series<'a> {
    fn system_of(&self, cell: &Cell) -> &'a System {
        let is_changed = is_changed(cell);
        self.changed_system
            .filter(|_| is_changed)
            .unwrap_or(self.system)
    }
}

pub(crate) fn is_changed(cell: &Cell) -> bool {
    cell.version
        .is_some_and(|version| version.version == Version::Changed)
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
    /// The next trial can use the same system, or may.
    pub(crate) next_shares_system: bool,
    /// `None`: no other trial runs at the same time.
    pub(crate) duet: Option<Part<'a>>,
    /// How it waited for a quiet machine; `None`: it did not.
    pub(crate) quiet_wait: Option<QuietWaitInfo>,
}

/// Runs the rest of the plan; no system is up afterwards.
pub(crate) async fn run_all<D: Driver, L: Load, W: HttpConnector>(
    environments: &mut Environments<D, L, W>,
    series: Series<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    let ended = run_each(environments, series, events, shutdown).await;
    take_down(&mut environments.baseline, series, events).await?;
    if let Some(changed) = &mut environments.changed {
        take_down(changed, series, events).await?;
    }
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
    environment.namespace = None;
    remove(&series.folder.path().join(environment.system_folder))
}

async fn run_each<D: Driver, L: Load, W: HttpConnector>(
    environments: &mut Environments<D, L, W>,
    series: Series<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    if let Some(asked) = &series.study.search {
        let environment = &mut environments.baseline;
        return search::run_all(environment, series, asked, events, shutdown).await;
    }
    repetitions::run_all(environments, series, events, shutdown).await
}

/// The cell with this number in the plan.
pub(crate) fn cell_of(series: Series<'_>, number: u32) -> &Cell {
    let mut cells = series.study.cells.iter();
    cells
        .find(|cell| cell.number == number)
        .expect("a plan is made from the cells of its study")
}

/// `shares`: the CPUs of this trial.
async fn report_trial(shares: &Shares, series: Series<'_>, task: Task<'_>, events: &Events) {
    let key = key_of(task.planned);
    let info = series.folder.info();
    let search = info.search.as_ref();
    let started = Event::TrialStarted {
        position: task.planned.position,
        key,
        levels: levels(task.cell),
        level: task.level,
        operating_share: search.and_then(|search| search.operating_share(key.repetition)),
        workers: shares
            .workers(task.cell.load_workers, task.cell.generators)
            .len(),
    };
    events.report(started).await;
}

/// Runs one trial in the environment of its version, and writes it.
pub(crate) async fn run_one<D: Driver, L: Load, W: HttpConnector>(
    environments: &mut Environments<D, L, W>,
    series: Series<'_>,
    task: Task<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Option<TrialInfo>, RunError> {
    let Environments { baseline, changed } = environments;
    let (environment, other) = match (is_changed(task.cell), changed) {
        (true, Some(changed)) => (changed, Some(baseline)),
        (_, changed) => (baseline, changed.as_mut()),
    };
    if let Some(other) = other {
        take_down(other, series, events).await?;
    }
    match run_trial(environment, series, task, events, shutdown).await? {
        trial::Ended::Completed(unwritten) => Ok(Some(unwritten.write()?)),
        trial::Ended::Interrupted => Ok(None),
    }
}

/// Runs the trials of both versions at the same time, and writes both or none.
pub(crate) async fn run_duet<D: Driver, L: Load, W: HttpConnector>(
    environments: &mut Environments<D, L, W>,
    series: Series<'_>,
    tasks: [Task<'_>; 2],
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Option<[TrialInfo; 2]>, RunError> {
    let Environments {
        baseline,
        changed: Some(changed),
    } = environments
    else {
        unreachable!("a run with duets has two environments");
    };
    let is_odd = tasks[0].planned.repetition % 2 == 1;
    let [first, second] = duet_shares(series, is_odd);
    let partner_events = events.partner();
    let duet = Duet::new();
    let [first_part, second_part] = duet.parts();
    let [first_task, second_task] = tasks;
    report_trial(&first, series, first_task, events).await;
    report_trial(&second, series, second_task, &partner_events).await;
    let quiet_wait = wait_for_quiet(baseline, series, first_task.cell, events, shutdown).await;
    let [first_series, second_series] = [&first, &second].map(|shares| Series { shares, ..series });
    let first_task = Task {
        duet: Some(first_part),
        quiet_wait,
        ..first_task
    };
    let second_task = Task {
        duet: Some(second_part),
        quiet_wait,
        ..second_task
    };
    let first = execute_trial(baseline, first_series, first_task, events, shutdown);
    let second = execute_trial(
        changed,
        second_series,
        second_task,
        &partner_events,
        shutdown,
    );
    // The one that is polled first is brought up first and loaded a moment earlier; they take turns.
    let (first, second) = match is_odd {
        true => join(first, second).await,
        false => {
            let (second, first) = join(second, first).await;
            (first, second)
        }
    };
    match (first?, second?) {
        (trial::Ended::Completed(first), trial::Ended::Completed(second)) => {
            Ok(Some([first.write()?, second.write()?]))
        }
        (first, second) => {
            for ended in [first, second] {
                if let trial::Ended::Completed(unwritten) = ended {
                    let partial = unwritten.into_writer().logs_folder();
                    partial.parent().map_or(Ok(()), remove)?;
                }
            }
            Ok(None)
        }
    }
}

/// Whether each of two versions has its half of the CPUs.
pub(crate) fn has_halves(study: &Study) -> bool {
    let versions = study.versions.as_ref();
    versions.is_some_and(|versions| versions.design == Design::Duet(DuetCpus::Swapped))
}

/// The CPUs of the baseline and of the changed version.
fn duet_shares(series: Series<'_>, is_odd: bool) -> [Shares; 2] {
    let halves = match has_halves(series.study) {
        true => series.shares.halves(),
        false => None,
    };
    match halves {
        Some([first, second]) if is_odd => [first, second],
        Some([first, second]) => [second, first],
        None => [series.shares.clone(), series.shares.clone()],
    }
}

/// Runs one trial.
pub(crate) async fn run_trial<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    task: Task<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<trial::Ended, RunError> {
    report_trial(series.shares, series, task, events).await;
    let quiet_wait = wait_for_quiet(environment, series, task.cell, events, shutdown).await;
    let task = Task { quiet_wait, ..task };
    execute_trial(environment, series, task, events, shutdown).await
}

/// Waits until other programs leave the CPUs alone, as the study allows, or until the caller requests a stop.
async fn wait_for_quiet<D: Driver, L: Load, W: HttpConnector>(
    environment: &TrialEnvironment<D, L, W>,
    series: Series<'_>,
    cell: &Cell,
    events: &Events,
    shutdown: &Shutdown,
) -> Option<QuietWaitInfo> {
    let driver = &environment.driver;
    let report = async |info: QuietWaitInfo, at_most| {
        events
            .report(Event::WaitingForQuiet {
                other_cores: info.other_cores,
                cpus: info.cpus,
                at_most,
            })
            .await
    };
    let timeout = cell.schedule.quiet_timeout;
    let wait = series.quiet.wait(timeout, || driver.cpu_reading(), report);
    let mut shutdown = shutdown.clone();
    tokio::select! {
        biased;
        () = shutdown.wait_for_stop() => None,
        info = wait => info,
    }
}

/// Brings down a system that was kept up, unless it can serve a trial of this cell.
async fn take_down_unless_fit<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    cell: &Cell,
    events: &Events,
) -> Result<(), RunError> {
    let serves = |kept: &RunningSystem| {
        let study = series.study;
        study.share_preparation(cell_of(series, kept.cell), cell)
            && environment.prepared.can_grow(cell)
    };
    if !environment.running_system.as_ref().is_some_and(serves) {
        take_down(environment, series, events).await?;
        environment.prepared = Prepared::default();
    }
    Ok(())
}

/// Runs one trial whose start was reported.
async fn execute_trial<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    series: Series<'_>,
    task: Task<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<trial::Ended, RunError> {
    let Task { cell, planned, .. } = task;
    let key = key_of(planned);
    take_down_unless_fit(environment, series, cell, events).await?;
    let kept = environment.running_system.take();
    let is_up = kept.is_some();
    let folder = system_folder(series, environment.system_folder, is_up)?;
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
    private_file::create_folder(&logs).map_err(|problem| io_error("create", &logs, problem))?;
    if !is_up {
        environment.enter_network(cell)?;
    }
    let secrets = kept.map_or_else(
        || Secrets::from_given(&series.study.secrets, &series.study.taken),
        |kept| kept.secrets,
    );
    let system = series.system_of(cell).configure(&cell.parameters);
    let snapshots = series.snapshots.filter(|_| !is_up);
    let snapshot = match snapshots {
        Some(snapshots) => snapshots.restore(cell, &system, is_changed(cell), &folder)?,
        None => None,
    };
    if let Some(restored) = snapshot.as_ref().and_then(FoundSnapshot::restored_system) {
        secrets.restore(restored.secrets.clone());
        environment.prepared = restored.prepared.clone();
    }
    let context = TrialContext {
        system: &system,
        secrets: &secrets,
        tokens: series.tokens,
        cell,
        key,
        position: planned.position,
        level: task.level,
        seed: trial_seed(series.study.seed, key),
        records: series.records,
        shares: series.shares,
        clocks: series.clocks,
        sample_limits: series.sample_limits,
        measuring: series.measuring,
        possible_per_s: possible_per_s(series, task),
        folder: &folder,
        logs: &logs,
        kept_logs: &kept_logs,
        has_next: task.has_next,
        is_up,
        may_stay_up: series.study.restart == Restart::EveryCell && task.next_shares_system,
        snapshot: snapshot.as_ref().map(FoundSnapshot::as_use),
        duet: task.duet,
        quiet_wait: task.quiet_wait,
    };
    // On the heap: two of them at once are too large for a thread's stack.
    let (ended, stays_up) =
        Box::pin(trial::run(environment, context, writer, events, shutdown)).await?;
    environment.keep_up(stays_up.then_some(RunningSystem {
        cell: cell.number,
        secrets,
    }));
    if let (trial::Ended::Interrupted, Some(partial)) = (&ended, &partial) {
        remove(partial)?;
    }
    Ok(ended)
}

/// The folder of a trial's system as an absolute path; empty, unless the system is up already.
fn system_folder(series: Series<'_>, name: &str, is_up: bool) -> Result<PathBuf, RunError> {
    let folder = series.folder.path().join(name);
    // A run that was killed may have left its last system's files.
    if folder.exists() && !is_up {
        remove(&folder)?;
    }
    private_file::create_folder(&folder).map_err(|problem| io_error("create", &folder, problem))?;
    std::path::absolute(&folder).map_err(|problem| io_error("find", &folder, problem))
}

/// The capacity of the engine at the trial's shape of load. It was measured with the cell's own connections; if a search changes
/// their number, the capacity is unknown.
fn possible_per_s(series: Series<'_>, task: Task<'_>) -> Option<f64> {
    // A search may have enlarged the pool.
    let connections = |cell: &Cell| cell.load.connections();
    let same_shape = task.level.is_none()
        || matches!(task.cell.load, LoadModel::Open { .. })
            && connections(task.cell) == connections(cell_of(series, task.cell.number));
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

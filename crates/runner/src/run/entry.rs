//! The entry: checks before the first trial everything that can be wrong by then, and runs the trials on their own thread.
//!
//! The thread is pinned to the load's CPUs, and so is the rest of this process: the system has its own.

use std::{fs, path::Path, sync::Arc, thread};

use tokio::{
    runtime,
    sync::{mpsc, oneshot, watch},
};
use waggle_results::RunFolder;
use waggle_study::{Address, System};
use waggle_system::{
    components::limits::Limiter,
    host,
    host::{cpu_time::CpuClocks, cpus, cpus::Shares, idle_poll::IdlePoll, quiet::QuietWaits},
    http::transport::Transports,
    secrets::oauth2::TokenSource,
    shutdown::Shutdown,
};

use crate::{
    event::Event,
    event_sender::Events,
    load::{
        calibration,
        calibration::{Basis, Calibration},
        records::RecordFiles,
    },
    run::{
        agents::{Gathering, RunAgents, gather_agents},
        drivers,
        drivers::DriverParts,
        external_server, info,
        info::Inventory,
        networks,
        request::{CpuUse, Ended, RunRequest},
        schedule,
        schedule::Series,
        version_programs::VersionPrograms,
    },
    trial::{cool_down, error::RunError, snapshot::Snapshots},
};

/// Runs every trial of the plan that has no finished result in the folder yet. Call it from a Tokio runtime.
///
/// Dropping the future has the same effect as `shutdown`: the system is torn down, finished trials are kept.
///
/// # Errors
/// A mistake of the user that is not in the study's text (a missing program, wrong records, another study in the folder), or an
/// error of the disk. A failure in a trial is a result, not an error.
pub async fn run(
    request: RunRequest,
    events: mpsc::Sender<Event>,
    shutdown: watch::Receiver<bool>,
) -> Result<Ended, RunError> {
    let (sender, receiver) = oneshot::channel();
    // Closed when this future is dropped.
    let (still_wanted, wanted) = oneshot::channel::<()>();
    let thread = thread::Builder::new()
        .name("runner".to_owned())
        .spawn(move || {
            let ended = on_this_thread(&request, &Events::new(events), shutdown, wanted);
            // The receiver is gone if the future was dropped.
            sender.send(ended).ok();
        })
        .map_err(RunError::Thread)?;
    let ended = receiver.await;
    drop(still_wanted);
    match ended {
        Ok(ended) => ended,
        // The thread ended without a result, so it panicked: the panic continues here.
        Err(_) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("the thread's last act is to send its result"),
        },
    }
}

fn on_this_thread(
    request: &RunRequest,
    events: &Events,
    shutdown: watch::Receiver<bool>,
    wanted: oneshot::Receiver<()>,
) -> Result<Ended, RunError> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Thread)?;
    runtime.block_on(async {
        let (ask, asked) = watch::channel(false);
        let mut shutdown = Shutdown::new(shutdown);
        let forward = tokio::spawn(async move {
            tokio::select! {
                () = shutdown.wait_for_stop() => {}
                _ = wanted => {}
            }
            ask.send_replace(true);
            // Keeps the channel open: a closed one means that the sender is gone.
            ask.closed().await;
        });
        let shutdown = Shutdown::new(asked).or_of_load(request.end_load.clone());
        let ended = prepare_and_run(request, events, &shutdown).await;
        forward.abort();
        ended
    })
}

async fn prepare_and_run(
    request: &RunRequest,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    names_exist(request)?;
    let records = RecordFiles::read(&request.study, &request.study_file)?;
    let tls = Transports::read(&request.system, &request.study_file)?;
    let tokens = TokenSource::read(&request.study, &request.study_file)?;
    let programs = VersionPrograms::find(request)?;
    let allowed = cpus::allowed_cpus();
    let shares = match &request.study.agents {
        None => shares(request, &allowed)?,
        Some(_) => shares(request, &allowed)?.without_load(),
    };
    let limiter = limiter(request, &shares)?;
    cool_down::check_sensors(&request.study).await?;
    networks::check_networks(&request.study)?;
    // Kept until the last trial is over.
    let idle_poll = start_idle_poll(request).await?;
    let clocks = CpuClocks {
        cpus: allowed,
        loops: idle_poll.as_ref().map(IdlePoll::pid),
    };
    external_server::find(request, events, shutdown).await?;
    let folder = open(request, &records, &programs, &shares).await?;
    let gathering = Gathering {
        request,
        folder: &folder,
        events,
        shutdown,
    };
    let agents = gather_agents(gathering).await?;
    let shares = Shares {
        agents: agents.as_ref().map_or_else(Vec::new, RunAgents::cpus),
        ..shares
    };
    let is_here = agents.is_none();
    if is_here {
        warn_of_shared_cpus(request, &shares, clocks.cpus.len(), events).await;
    }
    let has_halves = schedule::has_halves(&request.study);
    if has_halves && shares.halves().is_none() {
        return Err(RunError::NoHalves);
    }
    // The runner takes the same from both halves.
    let is_pinned = request.cpus == CpuUse::Shared && !has_halves && is_here;
    let _pinned = is_pinned.then(|| Pinned::pin(&shares.load()));
    let run_info = folder.info();
    // What this machine could send says nothing of agents on others.
    let calibration = match request.calibration_file.as_ref().filter(|_| is_here) {
        Some(file) => {
            let basis = Basis {
                study: &request.study,
                system: &request.system,
                records: &records,
                shares: &shares,
                host: &run_info.host,
                file,
            };
            calibration::calibrate(basis, events, shutdown).await
        }
        None => Calibration::default(),
    };
    let quiet = QuietWaits::new(&request.plan);
    let series = Series {
        study: &request.study,
        system: &request.system,
        changed_system: request.changed.as_ref().map(|changed| &changed.system),
        plan: &request.plan,
        folder: &folder,
        records: &records,
        tokens: tokens.as_ref(),
        shares: &shares,
        calibration: &calibration,
        clocks: Some(&clocks),
        quiet: &quiet,
        sample_limits: request.sample_limits,
        measuring: request.measuring.as_deref(),
        snapshots: request.snapshots_folder.as_deref().map(|store| Snapshots {
            store,
            system_folder: &request.system_folder,
            changed_folder: request.changed.as_ref().map(|changed| &*changed.folder),
        }),
    };
    let parts = DriverParts {
        request,
        limiter,
        tls,
        clocks: &clocks,
        fleet: agents.as_ref().map(|agents| Arc::clone(&agents.fleet)),
    };
    let ended = drivers::run_trials(parts, programs, series, events, shutdown).await;
    if let Some(agents) = agents {
        agents.end(gathering).await;
    }
    ended
}

/// Says where load and system share CPUs; `cpus`: how many waggle may use.
async fn warn_of_shared_cpus(request: &RunRequest, shares: &Shares, cpus: usize, events: &Events) {
    if request.cpus == CpuUse::Shared && !shares.are_disjoint() {
        let warning = match cpus {
            1 => "only one CPU: load and system share it, and the results say so",
            _ if shares.engine.is_empty() => {
                "the system uses all CPUs: the load shares them, and the results say so"
            }
            _ => "the load uses all CPUs: the system shares them, and the results say so",
        };
        events.report(Event::Warning(warning.to_owned())).await;
    }
}

/// The means for the study's limits; tries before anything is started whether there are any for each of them.
fn limiter(request: &RunRequest, shares: &Shares) -> Result<Limiter, RunError> {
    let cells = || request.study.cells.iter();
    if cells().all(|cell| cell.limits.is_empty()) {
        return Ok(Limiter::without_limits());
    }
    let limiter = Limiter::find(&request.cgroups);
    for (component, limits) in cells().flat_map(|cell| &cell.limits) {
        if let Err(why) = limiter.apply(*limits, 0, &shares.system) {
            return Err(RunError::Limit {
                component: component.clone(),
                why: why.to_string(),
            });
        }
    }
    Ok(limiter)
}

/// The CPUs of load and system.
fn shares(request: &RunRequest, allowed: &[usize]) -> Result<Shares, RunError> {
    let study = &request.study;
    match &request.cpus {
        CpuUse::Shared => {
            let lists = [
                ("load.cpuset", &study.load_cpuset),
                ("system.cpuset", &study.system_cpuset),
            ];
            for (key, cpus) in lists {
                if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
                    return Err(RunError::Cpu {
                        key,
                        cpu: *cpu,
                        allowed: allowed.to_vec(),
                    });
                }
            }
            Ok(cpus::share_for(
                &study.load_cpuset,
                &study.system_cpuset,
                allowed,
            ))
        }
        CpuUse::Free { engine } => Ok(Shares {
            engine: engine.clone(),
            ..Shares::default()
        }),
    }
}

/// Starts idle polling if it is requested.
async fn start_idle_poll(request: &RunRequest) -> Result<Option<IdlePoll>, RunError> {
    if !request.idle_poll {
        return Ok(None);
    }
    let program = request.supervisor.clone();
    let starting = tokio::task::spawn_blocking(move || IdlePoll::start(&program));
    let idle_poll = starting
        .await
        .unwrap_or_else(|problem| std::panic::resume_unwind(problem.into_panic()));
    Ok(Some(idle_poll?))
}

/// Pins this process to the load's CPUs as long as it exists.
struct Pinned {
    before: Vec<usize>,
}

impl Pinned {
    fn pin(cpus: &[usize]) -> Self {
        let before = cpus::allowed_cpus();
        // A refusal is ignored; the system's processes are pinned, or fail to start, on their own.
        cpus::pin_this_process(cpus).ok();
        Self { before }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        cpus::pin_this_process(&self.before).ok();
    }
}

/// The study's checker has verified this too; but a caller may combine study and system itself.
fn names_exist(request: &RunRequest) -> Result<(), RunError> {
    let system = &request.system;
    let mut secrets = request.study.secrets.iter();
    if let Some(secret) = secrets.find(|secret| secret.value.is_none()) {
        return Err(RunError::NoSecret(secret.name.clone()));
    }
    for cell in &request.study.cells {
        let name = &cell.endpoint;
        if !system
            .endpoints
            .iter()
            .any(|endpoint| endpoint.name == *name)
        {
            return Err(RunError::NotInSystem {
                what: "endpoint",
                name: name.clone(),
            });
        }
        for fault in &cell.faults {
            let name = &fault.component;
            if !system.components.iter().any(|known| known.name == *name) {
                return Err(RunError::NotInSystem {
                    what: "component",
                    name: name.clone(),
                });
            }
        }
        let places = cell.delivery.iter().flat_map(|asked| &asked.probes);
        for name in places {
            if !system.probes.iter().any(|probe| probe.name == *name) {
                return Err(RunError::NotInSystem {
                    what: "probe",
                    name: name.clone(),
                });
            }
        }
    }
    Ok(())
}

/// Opens the run folder: a new one, or the one of the run that is resumed.
async fn open(
    request: &RunRequest,
    records: &RecordFiles,
    programs: &VersionPrograms,
    shares: &Shares,
) -> Result<RunFolder, RunError> {
    let mut host = host::host(shares);
    host.idle_poll = request.idle_poll;
    if !is_on_this_machine(&request.system) {
        host.shared_with_system = false;
        host.system_cpus.clear();
    }
    if request.study.agents.is_some() {
        host.load_cpus.clear();
    }
    let inventory = Inventory {
        host,
        components: programs.versions(request).await,
        artifacts: programs.artifacts(request),
    };
    if request.resume {
        let folder = RunFolder::open(&request.run_folder)?;
        is_the_same(request, &folder, &inventory)?;
        return Ok(folder);
    }
    let info = info::run_info(request, records, inventory);
    let (study, system) = (&request.study_text, &request.system_text);
    Ok(RunFolder::create(
        &request.run_folder,
        &info,
        study,
        system,
    )?)
}

/// Whether a component runs on this machine, judged by host names: any name but localhost counts as another machine.
fn is_on_this_machine(system: &System) -> bool {
    if let Some(server) = &system.external {
        return server.address().is_on_this_machine();
    }
    system
        .components
        .iter()
        .any(|component| match &component.external {
            None => true,
            Some(ports) => ports
                .iter()
                .flat_map(|port| &port.at)
                .any(Address::is_on_this_machine),
        })
}

/// Letters of a line of a study that an error shows.
const SHOWN_LINE_MAX: usize = 80;

/// Trials of one run are comparable only if nothing has changed in between.
fn is_the_same(
    request: &RunRequest,
    folder: &RunFolder,
    inventory: &Inventory,
) -> Result<(), RunError> {
    let different = |what| RunError::Different {
        folder: request.run_folder.clone(),
        what,
        line: None,
    };
    let texts = [
        ("the study", "study.yaml", &request.study_text),
        ("the system", "system.yaml", &request.system_text),
    ];
    for (what, name, now) in texts {
        let then = read(&request.run_folder, name)?;
        if then != *now {
            return Err(RunError::Different {
                folder: request.run_folder.clone(),
                what,
                line: first_difference(&then, now),
            });
        }
    }
    let begun = folder.info();
    let scenario_then = begun
        .scenario
        .as_ref()
        .and_then(|scenario| scenario.file.as_ref());
    if scenario_then != info::scenario_file(&request.study).as_ref() {
        return Err(different("the scenario's file"));
    }
    let (then, now) = (&begun.host, &inventory.host);
    let same_cpus = then.load_cpus == now.load_cpus && then.system_cpus == now.system_cpus;
    if (&then.name, &then.cpu_model, then.cpus) != (&now.name, &now.cpu_model, now.cpus)
        || !same_cpus
    {
        return Err(different("the machine"));
    }
    if then.idle_poll != now.idle_poll {
        return Err(different("the option --idle-poll"));
    }
    if begun.components != inventory.components {
        return Err(different("a component's version"));
    }
    if begun.versions != info::versions(request) {
        return Err(different("what is compared, --against or --design,"));
    }
    if begun.seed != request.study.seed {
        return Err(different("the seed"));
    }
    let same_schedule = begun.schedule == info::schedule(&request.study, &request.study.cells[0]);
    if begun.cells != info::cell_infos(&request.study)
        || begun.derived != request.study.derived
        || begun.planned_order() != info::order(&request.plan)
        || begun.search != request.study.search
        || !same_schedule
    {
        return Err(different("the choice of trials"));
    }
    Ok(())
}

/// Where two texts first differ: `line 7 was "repeat: 3" and is "repeat: 5"`.
fn first_difference(then: &str, now: &str) -> Option<String> {
    let lines = then.lines().count().max(now.lines().count());
    let nth_line = |text: &str, line: usize| text.lines().nth(line).map(str::to_owned);
    let line = (0..lines).find(|line| nth_line(then, *line) != nth_line(now, *line))?;
    let shown = |text: &str| match nth_line(text, line) {
        Some(content) if content.trim().is_empty() => "empty".to_owned(),
        Some(content) => {
            let cut: String = content.trim().chars().take(SHOWN_LINE_MAX).collect();
            format!("{cut:?}")
        }
        None => "not there".to_owned(),
    };
    Some(format!(
        "line {} was {} and is {}",
        line + 1,
        shown(then),
        shown(now)
    ))
}

fn read(folder: &Path, name: &str) -> Result<String, RunError> {
    fs::read_to_string(folder.join(name)).map_err(|problem| RunError::CannotCompare {
        folder: folder.to_path_buf(),
        problem,
    })
}

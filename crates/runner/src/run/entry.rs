//! The entry: checks before the first trial everything that can be wrong by then, and runs the trials on their own thread.
//!
//! The thread is pinned to the load's CPUs, and so is the rest of this process: the system has its own.

use std::{sync::Arc, thread};

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
        resumption, schedule,
        schedule::Series,
        version_programs::VersionPrograms,
    },
    trial::{cool_down, error::RunError, snapshot::Snapshots},
};

/// As much as a main thread has: without optimization the futures of a trial, one in another, are large.
const STACK_BYTES: usize = 8 * 1024 * 1024;

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
        .stack_size(STACK_BYTES)
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

/// What is read and found before anything is started.
struct Inputs {
    records: RecordFiles,
    tls: Transports,
    tokens: Option<TokenSource>,
    programs: VersionPrograms,
    allowed: Vec<usize>,
    shares: Shares,
    limiter: Limiter,
}

async fn read_inputs(request: &RunRequest) -> Result<Inputs, RunError> {
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
    Ok(Inputs {
        records,
        tls,
        tokens,
        programs,
        allowed,
        shares,
        limiter,
    })
}

#[expect(
    clippy::too_many_lines,
    reason = "what a run has, in the order in which it comes and goes"
)]
async fn prepare_and_run(
    request: &RunRequest,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    let Inputs {
        records,
        tls,
        tokens,
        programs,
        allowed,
        shares,
        limiter,
    } = read_inputs(request).await?;
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
    let basis = request.calibration_file.as_ref().map(|file| Basis {
        study: &request.study,
        system: &request.system,
        records: &records,
        shares: &shares,
        host: &run_info.host,
        file,
    });
    // What this machine could send says nothing of agents on others.
    let calibration = match basis.filter(|_| is_here) {
        Some(basis) => calibration::calibrate(basis, events, shutdown).await,
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
            image: (request.study.system_pods.as_ref()).map(|pods| pods.image.as_str()),
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
        let has_failed = ended.is_err() || folder.has_failed_trial().unwrap_or(true);
        agents.end(gathering, has_failed).await;
    }
    ended
}

/// Says where load and system share CPUs; `cpus`: how many waggle may use.
async fn warn_of_shared_cpus(request: &RunRequest, shares: &Shares, cpus: usize, events: &Events) {
    let is_here = request.study.system_pods.is_none();
    if is_here && request.cpus == CpuUse::Shared && !shares.are_disjoint() {
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
    // Limits of pods are those of their containers.
    let are_pods = request.study.system_pods.is_some();
    if are_pods || cells().all(|cell| cell.limits.is_empty()) {
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
    if request.study.system_pods.is_some() || !is_on_this_machine(&request.system) {
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
        resumption::check_same(request, &folder, &inventory)?;
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
    if system.manifests.is_some() {
        return false;
    }
    if let Some(server) = &system.external {
        return server.address().is_on_this_machine();
    }
    system
        .components
        .iter()
        .any(|component| match &component.external {
            None => component.workload.is_none(),
            Some(ports) => ports
                .iter()
                .flat_map(|port| &port.at)
                .any(Address::is_on_this_machine),
        })
}

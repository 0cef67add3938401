//! The whole scheduler with a fake system and a paused clock: the order of phases, and what happens when one of them
//! fails, hangs, is interrupted or panics.

mod background;
mod cool_down;
mod duet;
mod ended_loads;
mod ends;
mod faults;
mod limits;
mod order;
mod phase_failures;
mod quiet;
mod recovery;
mod repetitions;
mod search;
mod stops;
mod tokens;
mod verdicts;
mod world;

use std::{cell::RefCell, path::Path, rc::Rc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    time::{sleep, timeout},
};
use waggle_results::{PhaseName, Run, RunFolder};
use waggle_study::{Plan, Source, Study, System};
use waggle_system::{
    host,
    host::{cpus::Shares, quiet::QuietWaits},
    secrets::oauth2::TokenSource,
    shutdown::Shutdown,
};

use self::world::{Shared, World};
use crate::{
    event::Event,
    event_sender::Events,
    load::{calibration::Calibration, records::RecordFiles},
    run::{info, request::Ended, schedule, schedule::Series},
    trial::{Environments, error::RunError},
};

const SYSTEM: &str = "
system: fake
summary: A system in memory.
components:
  fake:
    ports: [http]
    process: { command: [fake] }
    ready: { tcp: { port: http } }
    stop_timeout: 5s
endpoints:
  records: { component: fake, port: http }
probes:
  store:
    component: fake
    port: http
    tail:
      get: /store/${offset}/${limit}
    limit: 150
    extract:
      offset: { after: '\"offset\":' }
      time: { after: '\"time\":' }
      run: { after: '\"run\":\"' }
      key: { after: '\"key\":' }
verify:
  - name: it answers
    endpoint: records
    get: /check
    timeout: 1s
    expect: { status: 200 }
";

const STUDY: &str = "
study: fake
question: Does the scheduler keep its order?
system: { use: fake }
factors:
  connections: [1, 2]
load:
  model: closed
  connections: ${connections}
  pipelining: 1
  request:
    name: put
    put: /records
    endpoint: records
    records: { file: records.lp, per_request: 1 }
schedule:
  warm_up: 1s
  measure: 2s
  interval: 250ms
  sampling_interval: 500ms
  drain: { timeout: 2s }
  ready_timeout: 3s
  cool_down: 4s
  repeat: 2
  order: as_listed
delivery: { probes: store, poll_interval: 100ms }
";

/// A study on the fake system, checked and planned.
struct Bench {
    folder: tempfile::TempDir,
    study: Study,
    system: System,
    plan: Plan,
    tokens: Option<TokenSource>,
}

/// What happens the moment a phase begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Nothing,
    Shutdown(PhaseName),
    /// In the trial with this number, counted from 1.
    ShutdownIn(usize, PhaseName),
    Die(PhaseName),
    /// As soon as a replica is killed by a fault.
    ShutdownWhenKilled,
    DieWhenKilled,
    /// As soon as a background load has begun, before the measured one has.
    ShutdownWhenBegun,
    /// The load is ended, and its trial kept.
    EndLoad(PhaseName),
    /// The same once this many intervals of the measured phase have come.
    EndLoadAfter(usize),
    /// The same, and a stop as soon as only answers are outstanding.
    EndLoadThenShutdown(usize),
}

impl Bench {
    fn new() -> Self {
        Self::new_with_study(STUDY)
    }

    fn new_with_study(study: &str) -> Self {
        Self::with_system(SYSTEM, study)
    }

    fn with_system(system: &str, study: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("records.lp"), "m,host=a value=1 1\n").unwrap();
        let source = |text: &str| Source {
            name: "file".to_owned(),
            text: text.to_owned(),
        };
        let system = waggle_study::read_system(&source(system))
            .unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let mut study = waggle_study::read_study(&source(study), &system)
            .unwrap_or_else(|mistakes| panic!("{mistakes}"));
        study.add_sentinel();
        let plan = waggle_study::plan(&study);
        Self {
            folder,
            study,
            system,
            plan,
            tokens: None,
        }
    }

    fn run_folder(&self) -> std::path::PathBuf {
        self.folder.path().join("run")
    }

    /// Runs the rest of the study and returns the events.
    async fn run(&self, world: &Shared, then: Then) -> (Result<Ended, RunError>, Vec<Event>) {
        self.run_versions(world, None, then).await
    }

    /// The same with a second system, for the changed version.
    async fn run_versions(
        &self,
        world: &Shared,
        changed: Option<&Shared>,
        then: Then,
    ) -> (Result<Ended, RunError>, Vec<Event>) {
        let records =
            RecordFiles::read(&self.study, &self.folder.path().join("study.yaml")).unwrap();
        let folder = self.open(&records);
        let shares = Shares::default();
        let calibration = Calibration::default();
        let quiet = QuietWaits::new(&self.plan);
        let series = Series {
            study: &self.study,
            system: &self.system,
            changed_system: None,
            plan: &self.plan,
            folder: &folder,
            records: &records,
            tokens: self.tokens.as_ref(),
            shares: &shares,
            calibration: &calibration,
            clocks: None,
            quiet: &quiet,
            measuring: None,
            sample_limits: crate::SampleLimits::default(),
            snapshots: None,
        };
        let (sender, mut receiver) = mpsc::channel(10);
        let (wishes, shutdown) = Wishes::new();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let watcher = async {
            let (mut begun, mut measured) = (0, 0);
            while let Some(event) = receiver.recv().await {
                begun += usize::from(matches!(event, Event::TrialStarted { .. }));
                measured += usize::from(is_measured(&event));
                match (&event, then) {
                    (Event::Phase { phase, .. }, Then::Die(last_phase)) if *phase == last_phase => {
                        world.borrow().die()
                    }
                    (Event::FaultBegan { .. }, Then::DieWhenKilled) => world.borrow().die(),
                    _ => wishes.on_event(&event, then, (begun, measured)),
                }
                seen.borrow_mut().push(event);
            }
        };
        let mut environments = Environments {
            baseline: world::environment(world, schedule::SYSTEM_FOLDER),
            changed: changed
                .map(|world| world::environment(world, schedule::CHANGED_SYSTEM_FOLDER)),
        };
        let run = async {
            let events = Events::new(sender);
            schedule::run_all(&mut environments, series, &events, &shutdown).await
        };
        let begun = async {
            if then == Then::ShutdownWhenBegun {
                wait_until_begun(world).await;
                wishes.at_once.send_replace(true);
            }
        };
        let (ended, (), ()) = tokio::join!(run, watcher, begun);
        for world in std::iter::once(world).chain(changed) {
            assert!(!world.borrow().is_up, "the system was left behind");
        }
        for folder in [schedule::SYSTEM_FOLDER, schedule::CHANGED_SYSTEM_FOLDER] {
            assert!(
                !self.run_folder().join(folder).exists(),
                "the system's files were left behind"
            );
        }
        (ended, seen.take())
    }

    fn open(&self, records: &RecordFiles) -> RunFolder {
        if self.run_folder().join("run.json").exists() {
            return RunFolder::open(&self.run_folder()).unwrap();
        }
        let request = crate::run::request::RunRequest {
            study: self.study.clone(),
            study_text: STUDY.to_owned(),
            study_file: "study.yaml".into(),
            system: self.system.clone(),
            system_text: SYSTEM.to_owned(),
            system_folder: ".".into(),
            run_folder: self.run_folder(),
            plan: self.plan.clone(),
            left_out: Vec::new(),
            resume: false,
            program_folders: Vec::new(),
            artifacts_folder: None,
            snapshots_folder: None,
            created_folder: None,
            cluster_notes_folder: None,
            in_pod: None,
            keeps_failed_pods: false,
            supervisor: "none".into(),
            calibration_file: None,
            idle_poll: false,
            cpus: crate::CpuUse::Shared,
            cgroups: waggle_system::components::limits::CGROUPS.into(),
            server_at: None,
            sample_limits: crate::SampleLimits::default(),
            measuring: None,
            end_load: None,
            changed: None,
        };
        let inventory = info::Inventory {
            host: waggle_results::Host {
                cpus: 2,
                ..host::host(&Shares::default())
            },
            components: Vec::new(),
            artifacts: Vec::new(),
        };
        let info = info::run_info(&request, records, inventory);
        RunFolder::create(&self.run_folder(), &info, STUDY, SYSTEM).unwrap()
    }

    fn results(&self) -> Run {
        read(&self.run_folder())
    }
}

/// The senders of a stop.
struct Wishes {
    at_once: watch::Sender<bool>,
    of_load: watch::Sender<bool>,
}

impl Wishes {
    fn new() -> (Self, Shutdown) {
        let (at_once, asked) = watch::channel(false);
        let (of_load, load_asked) = watch::channel(false);
        let shutdown = Shutdown::new(asked).or_of_load(Some(load_asked));
        (Self { at_once, of_load }, shutdown)
    }

    /// Sends the stop that belongs to an event, in the trial with this number and with this many measured intervals.
    fn on_event(&self, event: &Event, then: Then, (begun, measured): (usize, usize)) {
        let event_phase = match event {
            Event::Phase { phase, .. } => Some(*phase),
            _ => None,
        };
        let (at_once, of_load) = match then {
            Then::Shutdown(phase) => (event_phase == Some(phase), false),
            Then::ShutdownIn(trial, phase) => (event_phase == Some(phase) && begun == trial, false),
            Then::ShutdownWhenKilled => (matches!(event, Event::FaultBegan { .. }), false),
            Then::EndLoad(phase) => (false, event_phase == Some(phase)),
            Then::EndLoadAfter(intervals) => (false, measured == intervals),
            Then::EndLoadThenShutdown(intervals) => (
                event_phase == Some(PhaseName::Finish),
                measured == intervals,
            ),
            Then::Nothing | Then::Die(_) | Then::DieWhenKilled | Then::ShutdownWhenBegun => {
                (false, false)
            }
        };
        if at_once {
            self.at_once.send_replace(true);
        }
        if of_load {
            self.of_load.send_replace(true);
        }
    }
}

/// Waits for a background load.
async fn wait_until_begun(world: &Shared) {
    let has_begun = |world: &World| world.done.iter().any(|done| done.starts_with("begin "));
    let wait = async {
        while !has_begun(&world.borrow()) {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(3_600), wait).await.unwrap();
}

fn is_measured(event: &Event) -> bool {
    let measure = PhaseName::Measure;
    matches!(event, Event::Interval { phase, .. } if *phase == measure)
}

fn read(folder: &Path) -> Run {
    Run::read(folder).unwrap()
}

/// The phases that began, as one line per trial.
fn phases(events: &[Event]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for event in events {
        match event {
            Event::TrialStarted { key, .. } => {
                lines.push(format!("c{} r{}:", key.cell, key.repetition))
            }
            Event::Phase { phase, .. } => {
                let line = lines.last_mut().unwrap();
                line.push_str(&format!(" {phase:?}"));
            }
            _ => {}
        }
    }
    lines
}

fn world(fault: Option<world::Fault>) -> Shared {
    World::new(fault)
}

//! A fake system with its load and its network, under the clock of the test. It keeps records in memory, serves them as a store
//! would, and can fail in each phase.

use waggle_spec::{LoadModel, LoadStage};
mod fake_http;
pub(super) mod fake_load;
pub(super) mod fake_run;

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    time::Duration,
};

use rustix::param::clock_ticks_per_second;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use waggle_load::{Job, RequestOutcomes, What};
use waggle_results::PhaseName;
use waggle_study::Level;
use waggle_system::{
    components::{
        driver::{Death, Deaths, Driver, Failure, LimitReading, Setup},
        limits::Throttled,
    },
    host::{
        cpu_time::{CpuReading, Ticks},
        usage::Usage,
    },
    http::peer::Peer,
};

use crate::{
    clock::Clock,
    load::load_run::{Load, LoadError},
    tests::world::{
        fake_http::ADDRESS,
        fake_load::{Course, LoadEnd, connections, keeps_in_flight, mark_in},
        fake_run::FakeRun,
    },
    trial::TrialEnvironment,
};

/// How long a step of the fake system takes.
pub(super) const STEP: Duration = Duration::from_millis(10);
/// Requests of one interval, one record each.
pub(crate) const PER_INTERVAL: u64 = 100;

/// The fault, and its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The phase's work fails.
    Fails(PhaseName),
    /// The phase's work never ends.
    Hangs(PhaseName),
    /// The runner's own code panics.
    Panics(PhaseName),
    /// The store loses every n-th record.
    Loses(u64),
    /// The store keeps every n-th record twice.
    Doubles(u64),
    /// Every n-th request gets no answer. Once the load has stopped, the store takes one of their records every so many
    /// milliseconds.
    LeavesUnanswered(u64, u64),
    /// After the load the store has all records a second time, after the first ones.
    ShowsAgain,
    /// Each poll of the store takes a second.
    ReadsSlowly,
    /// After the load the store shows ten records per poll, and then the poll does not end.
    Trickles,
    /// A killed component is not ready again, is ready after two seconds, or never returns.
    StaysDead,
    RisesSlowly,
    HangsDead,
    /// A killed component has kept its records.
    Remembers,
    /// So many intervals of the load are delivered as one, from this one on, counted from 0.
    HandsOverLate(u32, u32),
    /// Every request is refused, from this interval on, counted from 0.
    Refuses(u32),
    /// With more connections than this the server refuses every second request.
    HoldsAtMost(u64),
    /// A request was skipped before others were sent.
    Skips,
    /// So many requests of this interval, counted from 0, are answered only after the load has stopped.
    StallsAt(u32, u64),
    /// The measured load takes a step to start.
    StartsSlowly,
    /// The store has two replicas, which its probe cannot read.
    TwoStores,
    /// Background loads end by themselves in this interval, counted from 0.
    BackgroundEnds(u32),
    /// Background loads have no connection.
    BackgroundUnconnected,
}

/// The state of the fake system, and its history.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) fault: Option<Fault>,
    /// The behaviour of each load without a fault.
    pub(super) course: Course,
    /// The behaviour of the next loads, before those with `course`.
    pub(super) next_courses: VecDeque<Course>,
    pub(crate) done: Vec<String>,
    pub(crate) is_up: bool,
    /// It was killed: it has lost all records, and does not answer.
    pub(super) is_dead: bool,
    /// When each load was started.
    pub(super) loads_started: Vec<Instant>,
    begun: Instant,
    /// The model of each load that was started.
    pub(crate) models: Vec<(LoadModel, Vec<LoadStage>)>,
    /// The connections for which room was made before each trial's loads, those beside it included.
    pub(super) reserved: Vec<u64>,
    /// What replaced what a load sends.
    pub(crate) replaced: Vec<What>,
    /// Tokens that were given, and the most that are.
    pub(crate) tokens: (u64, u64),
    pub(super) at_most: Vec<Duration>,
    pub(super) stored: Vec<(u64, u64)>,
    mark: String,
    deaths: watch::Sender<Vec<Death>>,
    idle_checks: u32,
    pub(super) load_has_stopped: bool,
    /// Records of requests without an answer: those that the store has not taken, and when it takes the next one.
    pub(super) unanswered: VecDeque<(u64, u64)>,
    pub(super) takes_next_at: Option<Instant>,
    /// Cores that other programs use of two CPUs, each until so many seconds since the start; `None`: nothing is known of them.
    pub(super) others: Option<Vec<(f64, f64)>>,
    /// The limits of its replicas. Each reading finds ten more periods, four of them throttled.
    pub(super) limits: Vec<LimitReading>,
}

pub(crate) type Shared = Rc<RefCell<World>>;

impl World {
    pub(crate) fn new(fault: Option<Fault>) -> Shared {
        Rc::new(RefCell::new(Self {
            fault,
            course: Course::default(),
            next_courses: VecDeque::new(),
            done: Vec::new(),
            is_up: false,
            is_dead: false,
            loads_started: Vec::new(),
            begun: Instant::now(),
            models: Vec::new(),
            reserved: Vec::new(),
            replaced: Vec::new(),
            tokens: (0, u64::MAX),
            at_most: Vec::new(),
            stored: Vec::new(),
            mark: String::new(),
            deaths: watch::channel(Vec::new()).0,
            idle_checks: 0,
            load_has_stopped: false,
            unanswered: VecDeque::new(),
            takes_next_at: None,
            others: None,
            limits: Vec::new(),
        }))
    }

    pub(super) fn take_unanswered(&mut self) {
        let Some(Fault::LeavesUnanswered(_, each_ms)) = self.fault else {
            return;
        };
        while let Some(instant) = self
            .takes_next_at
            .filter(|instant| *instant <= Instant::now())
            && let Some(taken) = self.unanswered.pop_front()
        {
            self.stored.push(taken);
            self.takes_next_at = Some(instant + Duration::from_millis(each_ms));
        }
    }

    /// Writes the store's records from this offset on.
    pub(super) fn show(&self, offset: usize, limit: usize, chunk: &mut dyn FnMut(&[u8])) {
        for (offset, (key, time)) in self.stored.iter().enumerate().skip(offset).take(limit) {
            let mark = &self.mark;
            let line = format!(
                "{{\"offset\":{offset},\"time\":{time},\"run\":\"{mark}\",\"key\":{key}}}\n"
            );
            chunk(line.as_bytes());
        }
    }

    /// The only component ends by itself.
    pub(crate) fn die(&self) {
        let death = Death {
            replica: "fake-0".to_owned(),
            how: "with exit code 7".to_owned(),
        };
        self.deaths.send_modify(|deaths| deaths.push(death));
    }
}

pub(crate) fn environment(
    world: &Shared,
    system_folder: &'static str,
) -> TrialEnvironment<Fake, Fake, Fake> {
    let fake = || Fake(Rc::clone(world));
    TrialEnvironment {
        driver: fake(),
        load: fake(),
        http: fake(),
        system_folder,
        running_system: None,
        namespace: None,
        prepared: crate::trial::snapshot::Prepared::default(),
    }
}

/// The driver, the load and the network of a fake system.
#[derive(Debug)]
pub(crate) struct Fake(pub(super) Shared);

impl Fake {
    /// Takes some time, and fails if the fault is in this phase.
    pub(super) async fn step(&self, phase: PhaseName, what: &str) -> Result<(), Failure> {
        self.0.borrow_mut().done.push(what.to_owned());
        sleep(STEP).await;
        let fault = self.0.borrow().fault;
        match fault {
            Some(Fault::Fails(fault_phase)) if fault_phase == phase => {
                Err(Failure::new(format!("{what} failed")))
            }
            Some(Fault::Hangs(fault_phase)) if fault_phase == phase => std::future::pending().await,
            Some(Fault::Panics(fault_phase)) if fault_phase == phase => panic!("{what} panicked"),
            _ => Ok(()),
        }
    }
}

impl Fake {
    /// Becomes ready again after some time, or whatever the fault has in its place.
    async fn rise(&self, name: &str, done: String, deadline: Instant) -> Result<(), Failure> {
        self.0.borrow_mut().done.push(done);
        let fault = self.0.borrow().fault;
        match fault {
            Some(Fault::StaysDead) => {
                sleep_until(deadline).await;
                return Err(Failure::new(format!("{name} was not ready in time")));
            }
            Some(Fault::HangsDead) => std::future::pending().await,
            Some(Fault::RisesSlowly) => sleep(Duration::from_secs(2)).await,
            _ => sleep(STEP).await,
        }
        Ok(())
    }
}

impl Driver for Fake {
    async fn start_all(&mut self, _: Setup<'_>) -> Result<(), Failure> {
        {
            let mut world = self.0.borrow_mut();
            assert!(!world.is_up, "two systems at once");
            world.is_up = true;
            world.is_dead = false;
            world.stored.clear();
            world.unanswered.clear();
            world.takes_next_at = None;
            world.deaths = watch::channel(Vec::new()).0;
        }
        self.step(PhaseName::Up, "up").await
    }

    async fn ready(&mut self, _: Setup<'_>) -> Result<(), Failure> {
        self.step(PhaseName::Ready, "ready").await
    }

    fn deaths(&self) -> Deaths {
        Deaths(self.0.borrow().deaths.subscribe())
    }

    fn log_tail(&self, replica: &str) -> Vec<String> {
        vec![format!("last words of {replica}")]
    }

    fn peers(&self, _: &str, _: &str) -> Vec<Peer> {
        match self.0.borrow().fault {
            Some(Fault::TwoStores) => vec![ADDRESS.into(), ADDRESS.into()],
            _ => vec![ADDRESS.into()],
        }
    }

    fn usage(&self) -> Vec<Usage> {
        let usage = |replica: &str| Usage {
            replica: replica.to_owned(),
            cpu: Duration::from_secs(1),
            rss_bytes: 1,
            threads: 1,
            read_at: None,
        };
        vec![usage("fake-0"), usage("waggle")]
    }

    fn cpu_reading(&self) -> Option<CpuReading> {
        let world = self.0.borrow();
        let others = world.others.as_ref()?;
        let seconds = world.begun.elapsed().as_secs_f64();
        let mut from_s = 0.0;
        let used = others.iter().map(|(until_s, cores)| {
            let length = until_s.min(seconds) - from_s;
            from_s = until_s.min(seconds);
            cores * length
        });
        let ticks = |cpu_s: f64| {
            let ticks =
                Duration::from_secs_f64(cpu_s) * u32::try_from(clock_ticks_per_second()).unwrap();
            ticks.as_secs()
        };
        let all = ticks(2.0 * seconds);
        Some(CpuReading {
            ticks: Ticks {
                all,
                idle: all - ticks(used.sum()).min(all),
                stolen: 0,
            },
            cpus: 2,
            own: Duration::ZERO,
            system: Duration::ZERO,
            is_whole: true,
        })
    }

    fn find_processes(&self) {}

    fn limits(&self) -> Vec<LimitReading> {
        let mut world = self.0.borrow_mut();
        for reading in &mut world.limits {
            let more = Throttled {
                periods: 10,
                throttled_periods: 4,
                time: STEP,
            };
            reading.throttled = reading.throttled.map(|before| before.plus(more));
        }
        world.limits.clone()
    }

    async fn kill(&self, component: &str, replica: u32) -> Result<(), Failure> {
        {
            let mut world = self.0.borrow_mut();
            world.done.push(format!("kill {component}-{replica}"));
            world.is_dead = true;
            if world.fault != Some(Fault::Remembers) {
                world.stored.clear();
            }
        }
        sleep(STEP).await;
        Ok(())
    }

    async fn start_again(
        &self,
        component: &str,
        replica: u32,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let name = format!("{component}-{replica}");
        assert!(self.0.borrow().is_dead, "{name} was not killed");
        self.rise(&name, format!("start {name} again"), deadline)
            .await?;
        self.0.borrow_mut().is_dead = false;
        Ok(())
    }

    async fn upgrade(
        &self,
        component: &str,
        levels: Option<&BTreeMap<String, Level>>,
        deadline: Instant,
    ) -> Result<Vec<String>, Failure> {
        let levels = levels.into_iter().flatten();
        let levels: Vec<String> = levels
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        let done = format!("upgrade {component} to {}", levels.join(" "));
        self.rise(component, done, deadline).await?;
        Ok(vec![component.to_owned()])
    }

    async fn drain(
        &self,
        component: &str,
        replica: u32,
        deadline: Instant,
    ) -> Result<Vec<String>, Failure> {
        let name = format!("{component}-{replica}");
        let done = format!("drain the node of {name}");
        self.rise(&name, done, deadline).await?;
        Ok(vec![component.to_owned()])
    }

    async fn stop_all(&mut self) -> Vec<String> {
        self.0.borrow_mut().is_up = false;
        match self.step(PhaseName::Down, "down").await {
            Ok(()) => Vec::new(),
            Err(failure) => vec![failure.reason],
        }
    }

    fn hide(&self, _: &waggle_system::secrets::words::Secrets) {}

    fn is_host_idle(&mut self) -> bool {
        let mut world = self.0.borrow_mut();
        world.idle_checks += 1;
        world.fault != Some(Fault::Hangs(PhaseName::CoolDown))
            && world.idle_checks.is_multiple_of(3)
    }
}

impl Load for Fake {
    type Run = FakeRun;

    fn reserve_files(&self, jobs: &[&Job]) -> Result<(), LoadError> {
        let all = jobs.iter().map(|job| connections(&job.model));
        self.0.borrow_mut().reserved.push(all.sum());
        Ok(())
    }

    async fn start_on(&mut self, job: Job, _agent: usize) -> Result<FakeRun, LoadError> {
        self.start(job, 1).await
    }

    async fn start(&mut self, job: Job, _generators: u32) -> Result<FakeRun, LoadError> {
        let mark = match &job.what {
            What::Requests { requests, .. } => mark_in(&requests[0].bytes),
            What::Scenario(_) => Some(String::new()),
        };
        let fault = self.0.borrow().fault;
        if fault == Some(Fault::StartsSlowly) && mark.is_some() {
            sleep(STEP).await;
        }
        let mut world = self.0.borrow_mut();
        let background = mark.is_none().then(|| job.name.clone());
        world.done.push(match &background {
            Some(name) => format!("begin {name}"),
            None => "load".to_owned(),
        });
        if world.fault == Some(Fault::Fails(PhaseName::WarmUp)) {
            return Err(LoadError::Thread(std::io::Error::other("none is left")));
        }
        world.load_has_stopped = false;
        let connections = connections(&job.model);
        let keeps_in_flight = keeps_in_flight(&job.model);
        world.loads_started.push(Instant::now());
        world.models.push((job.model.clone(), job.stages.clone()));
        world.at_most.push(job.max_duration);
        if let Some(mark) = mark.filter(|mark| !mark.is_empty()) {
            world.mark = mark;
        }
        let course = world.next_courses.pop_front().unwrap_or(world.course);
        let started_monotonic = world.begun.elapsed();
        drop(world);
        Ok(FakeRun {
            world: Rc::clone(&self.0),
            start: Instant::now(),
            started_monotonic,
            clock: Clock::start(),
            interval: job.interval,
            connections,
            keeps_in_flight,
            course,
            done: 0,
            due: 0,
            waiting: 0,
            failed: 0,
            account: RequestOutcomes::default(),
            unanswered: 0,
            end: LoadEnd::from_job(&job),
            stop: watch::channel(false).0,
            background,
        })
    }
}

//! The process driver: components are processes of this machine, on free ports of the loopback address. External components are
//! located before the others are started, and never touched.
// long: one driver

mod again;
mod port_tls;
mod set_up;
mod started_by;

use std::{
    cell::RefCell,
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::TcpSocket,
    sync::watch,
    time::{Instant, sleep},
};
use waggle_results::{ReplicaPod, log_tail};
use waggle_study::{Component, System};

use self::started_by::StartedBy;
use crate::{
    components::{
        certificates::Certificates,
        created::{Ledger, Place},
        driver::{
            Death, Deaths, Driver, Failure, LimitReading, Setup,
            child::{Child, KILL_AT_MOST},
            elsewhere::{Elsewhere, Site, Way},
            env::{ReplicaEnv, replicas},
            external,
            idle_check::IdleCheck,
            ports::Ports,
            program::Programs,
            ready,
        },
        limits::{Limiter, ReplicaLimits, Throttled},
        supervise::redaction::HiddenText,
    },
    host::{
        cpu_time::{CpuClocks, CpuReading},
        proc,
        server_processes::ServerProcesses,
        usage::{INSTRUMENT, Usage},
    },
    http::{peer::Peer, transport::TlsOfPorts},
    problem::Problem,
    secrets::words::Secrets,
};

/// How often a system is started again because another process took one of its ports.
const STARTS_MAX: u32 = 3;

/// Brings components up as processes.
#[derive(Debug)]
pub struct ProcessDriver {
    /// With the components of all configurations.
    whole: Arc<System>,
    /// The components of the configuration that is up.
    system: Arc<System>,
    system_folder: PathBuf,
    programs: Programs,
    supervisor: PathBuf,
    limiter: Limiter,
    ports: Ports,
    /// Made at each start; `None`: the system has none.
    certificates: Option<Certificates>,
    /// Of the components that run already.
    external_tls: TlsOfPorts,
    /// The TLS of ports of the components that are ready, and of those that run already. Never borrowed across an `.await`.
    port_tls: RefCell<TlsOfPorts>,
    /// All components that are to be started were started, since the last stop.
    is_started: bool,
    /// In the order in which they were started. Never borrowed across an `.await`.
    running: RefCell<Vec<Running>>,
    /// Indices of the components whose setup was carried out.
    set_up: BTreeSet<usize>,
    /// What the logs may not have, for components that are started again. Never borrowed across an `.await`.
    hidden: RefCell<Vec<HiddenText>>,
    /// In components that run already.
    created: Ledger,
    deaths: watch::Sender<Vec<Death>>,
    idle_check: IdleCheck,
    clocks: CpuClocks,
    /// Of the components that run already. Never borrowed across an `.await`.
    external_processes: RefCell<ServerProcesses>,
    /// Where the components are that are not on this machine; `None`: all are.
    elsewhere: Option<Elsewhere>,
}

/// A replica that was started.
#[derive(Debug)]
struct Running {
    /// Index into the system's components.
    component: usize,
    number: u32,
    /// For starting it again.
    launch: StartedBy,
    limits: ReplicaLimits,
    /// Files of authorities that it writes, each with the port that they are for.
    authority_files: Vec<(String, PathBuf)>,
    child: Child,
    is_ready: bool,
    /// CPU time of its earlier lives; `None`: it was never killed.
    earlier: Option<Duration>,
    /// How it was throttled in its earlier lives.
    earlier_throttled: Option<Throttled>,
    /// It was killed and is not started again yet.
    is_down: bool,
    /// Its reserved ports while it is down.
    kept: Vec<TcpSocket>,
}

/// Why a start did not succeed.
enum NotUp {
    /// Another process took a port after its release and before the component could bind it.
    PortTaken {
        failure: Failure,
    },
    Failed(Failure),
}

impl From<Failure> for NotUp {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What the driver is made from.
#[derive(Debug)]
pub struct ProcessParts {
    pub system: Arc<System>,
    /// The folder of the system's file.
    pub system_folder: PathBuf,
    pub programs: Programs,
    pub supervisor: PathBuf,
    pub limiter: Limiter,
    /// Of the components that run already.
    pub external_tls: TlsOfPorts,
    /// Where it is noted what is made in them.
    pub created: Option<Place>,
}

impl ProcessDriver {
    pub fn new(parts: ProcessParts) -> Self {
        let ProcessParts {
            system,
            system_folder,
            programs,
            supervisor,
            limiter,
            external_tls,
            created,
        } = parts;
        Self {
            whole: Arc::clone(&system),
            system,
            system_folder,
            programs,
            supervisor,
            limiter,
            ports: Ports::default(),
            certificates: None,
            external_tls,
            port_tls: RefCell::default(),
            is_started: false,
            running: RefCell::default(),
            set_up: BTreeSet::new(),
            hidden: RefCell::default(),
            created: Ledger::new(created),
            deaths: watch::channel(Vec::new()).0,
            idle_check: IdleCheck::default(),
            clocks: CpuClocks::default(),
            external_processes: RefCell::default(),
            elsewhere: None,
        }
    }

    /// The same with replicas that are not on this machine. `version`: that of waggle, which must be the same there.
    pub fn with_site(self, site: Box<dyn Site>, version: &str) -> Self {
        Self {
            elsewhere: Some(Elsewhere::new(site, version)),
            ..self
        }
    }

    /// The run is over: removes what was made for replicas that are not on this machine. Returns what went wrong.
    pub async fn end(&mut self) -> Vec<String> {
        match &mut self.elsewhere {
            Some(elsewhere) => elsewhere.end().await,
            None => Vec::new(),
        }
    }

    /// The same with the clocks of the CPUs, and so with the process of idle polling.
    pub fn with_clocks(self, clocks: CpuClocks) -> Self {
        Self {
            idle_check: IdleCheck::new(clocks.loops),
            clocks,
            ..self
        }
    }

    /// Starts every component, and waits only for those that others need, or for all.
    async fn start(&mut self, setup: Setup<'_>, until_all_ready: bool) -> Result<(), NotUp> {
        if !self.is_started {
            self.system = Arc::new(self.whole.configure(setup.parameters));
            self.hold_ports(setup).await?;
            self.make_certificates(setup)?;
            let system = Arc::clone(&self.system);
            let given = system.components.iter();
            let given = given.flat_map(Component::given_secrets);
            setup.secrets.wait_for(given);
            let external = |component: &&Component| component.external.is_some();
            for component in system.components.iter().filter(external) {
                external::find_ports(component, &mut self.ports, setup.deadline).await?;
                let peers = self.peers_of(&component.name, component.ready.port());
                external::wait_until_ready(component, &peers, setup.deadline).await?;
                self.set_up_external(component, setup).await?;
            }
            let external = self.ports.external();
            *self.external_processes.borrow_mut() = ServerProcesses::find(external);
            for (index, component) in system.components.iter().enumerate() {
                if component.external.is_some() {
                    continue;
                }
                for need in &component.depends_on {
                    self.wait_for(setup, |other| other.name == *need).await?;
                }
                for number in 0..replicas(component, setup)? {
                    self.launch(index, number, setup).await?;
                }
            }
            self.is_started = true;
        }
        if until_all_ready {
            self.wait_for(setup, |_| true).await?;
        }
        Ok(())
    }

    /// Starts again with other ports if another process took one.
    async fn start_or_retry(
        &mut self,
        setup: Setup<'_>,
        until_all_ready: bool,
    ) -> Result<(), Failure> {
        for start in 1.. {
            match self.start(setup, until_all_ready).await {
                Ok(()) => return Ok(()),
                Err(NotUp::PortTaken { .. }) if start < STARTS_MAX => {
                    self.stop_all().await;
                }
                Err(NotUp::Failed(failure) | NotUp::PortTaken { failure }) => return Err(failure),
            }
        }
        unreachable!("the last start returns")
    }

    async fn hold_ports(&mut self, setup: Setup<'_>) -> Result<(), Failure> {
        self.deaths = watch::channel(Vec::new()).0;
        self.ports = Ports::default();
        let started = |component: &&Component| component.external.is_none();
        let started = self.system.components.iter().filter(started);
        if let Some(elsewhere) = &mut self.elsewhere {
            let started: Vec<&Component> = started.collect();
            elsewhere.make(&started, setup, &mut self.ports).await?;
            if setup.is_restored {
                elsewhere.copy_folders(Way::There, setup.folder).await?;
            }
            return Ok(());
        }
        for component in started {
            for number in 0..replicas(component, setup)? {
                for port in &component.ports {
                    self.ports
                        .hold(&component.name, number, port)
                        .map_err(|problem| {
                            Failure::new(format!("no free port for {}: {problem}", component.name))
                        })?;
                }
            }
        }
        Ok(())
    }

    fn make_certificates(&mut self, setup: Setup<'_>) -> Result<(), Failure> {
        *self.port_tls.get_mut() = self.external_tls.clone();
        let asked = &self.system.certificates;
        self.certificates = match asked.is_empty() {
            true => None,
            false => {
                let made = Certificates::make(asked, setup.folder);
                Some(made.map_err(|why| Failure::new(why.to_string()))?)
            }
        };
        Ok(())
    }

    async fn launch(&mut self, index: usize, number: u32, setup: Setup<'_>) -> Result<(), Failure> {
        let component = &self.system.components[index];
        let limits = setup.limits.get(&component.name).copied();
        let limits = limits.unwrap_or_default();
        let limits = match &self.elsewhere {
            Some(_) => ReplicaLimits::of_container(limits),
            None => {
                let applied = self.limiter.apply(limits, number, setup.cpus);
                applied.map_err(|why| {
                    Failure::new(format!("{} cannot be limited to {why}", component.name))
                })?
            }
        };
        let env = self.env(setup);
        let launch = match &self.elsewhere {
            None => {
                let launch = env.launch(component, number, &self.supervisor, &limits)?;
                StartedBy::Supervisor(launch)
            }
            Some(elsewhere) => {
                let place = elsewhere.place(&component.name, number);
                let place = place.expect("a place was made for each replica");
                let hosts = elsewhere.hosts();
                let launch = env.remote_launch(component, number, place, hosts)?;
                StartedBy::Pod(Arc::clone(&place.remote), launch)
            }
        };
        let authority_files = env.authority_files(component, number)?;
        if launch.log().exists() {
            let why = match setup.is_restored {
                true => "started it again here, in the folder that it left",
                false => "started it again here, because another process took a port",
            };
            launch.remark(why);
        }
        self.ports.release(&component.name, number);
        let replica = format!("{}-{number}", component.name);
        let failed = |why: Problem| Failure::new(format!("{replica} could not be started: {why}"));
        let hidden = setup.secrets.hidden_texts();
        let child = launch.begin(&hidden, self.deaths.clone()).map_err(failed)?;
        let mut start = child.start_signal();
        self.running.get_mut().push(Running {
            component: index,
            number,
            launch,
            limits,
            authority_files,
            child,
            is_ready: false,
            earlier: None,
            earlier_throttled: None,
            is_down: false,
            kept: Vec::new(),
        });
        start.wait_started().await.map_err(failed)
    }

    fn env<'a>(&'a self, setup: Setup<'a>) -> ReplicaEnv<'a> {
        ReplicaEnv {
            ports: &self.ports,
            programs: &self.programs,
            certificates: self.certificates.as_ref(),
            setup,
            system_folder: &self.system_folder,
            elsewhere: self.elsewhere.as_ref(),
        }
    }

    /// Waits until every replica of the chosen components is ready, and carries out their setup.
    async fn wait_for(
        &mut self,
        setup: Setup<'_>,
        chosen: impl Fn(&Component) -> bool,
    ) -> Result<(), NotUp> {
        let system = Arc::clone(&self.system);
        for index in 0..self.running.get_mut().len() {
            let replica = &self.running.get_mut()[index];
            let component = &system.components[replica.component];
            if replica.is_ready || !chosen(component) {
                continue;
            }
            let number = replica.number;
            self.wait_for_one(component, number, setup.deadline).await?;
            self.running.get_mut()[index].is_ready = true;
        }
        for (index, component) in system.components.iter().enumerate() {
            let is_own = component.external.is_none();
            if is_own && chosen(component) && self.set_up.insert(index) {
                self.read_secrets(component, setup).await?;
                if !setup.is_restored {
                    self.set_up_one(component, setup).await?;
                }
                self.hide(setup.secrets);
            }
        }
        Ok(())
    }

    async fn wait_for_one(
        &self,
        component: &Component,
        number: u32,
        deadline: Instant,
    ) -> Result<(), NotUp> {
        let name = &format!("{}-{number}", component.name);
        loop {
            let asked = self.ask(component, number).await;
            // Another process may have answered on this port if the replica has ended.
            if let Some(death) = self.death_of(name) {
                let failure = self.blame(
                    name,
                    format!("{name} ended {} before it was ready", death.how),
                );
                return Err(if self.ports.is_taken(&component.name, number) {
                    NotUp::PortTaken { failure }
                } else {
                    NotUp::Failed(failure)
                });
            }
            // A component that it needs may have ended; its own log would not show that.
            if let Some(failure) = self.loss() {
                return Err(failure.into());
            }
            match asked {
                Ok(()) => return Ok(()),
                Err(why) if Instant::now() >= deadline => {
                    return Err(self
                        .blame(name, format!("{name} was not ready in time: {why}"))
                        .into());
                }
                Err(_) => sleep(ready::ASK_EVERY).await,
            }
        }
    }

    /// Whether a replica is ready; `Err`: why not.
    async fn ask(&self, component: &Component, number: u32) -> Result<(), Problem> {
        self.set_up_tls(component)?;
        let port = component.ready.port();
        let peer = self.peer_of(&component.name, number, port);
        let peer = peer.ok_or_else(|| format!("it has no port \"{port}\""))?;
        ready::ask(&component.ready, &peer).await
    }

    fn death_of(&self, replica: &str) -> Option<Death> {
        self.deaths
            .borrow()
            .iter()
            .find(|death| death.replica == replica)
            .cloned()
    }

    /// The death of a replica that was ready already.
    fn loss(&self) -> Option<Failure> {
        let deaths = self.deaths.borrow().clone();
        let was_ready = |replica: &str| {
            let running = self.running.borrow();
            let mut ready = running.iter().filter(|running| running.is_ready);
            ready.any(|running| running.child.replica == replica)
        };
        let death = deaths.iter().find(|death| was_ready(&death.replica))?;
        let reason = format!("{} ended {}", death.replica, death.how);
        Some(self.blame(&death.replica, reason))
    }

    fn blame(&self, replica: &str, reason: String) -> Failure {
        Failure {
            reason,
            log_tail: self.log_tail(replica),
        }
    }

    /// Replicas end; what was made for them is still there.
    async fn stop_replicas(&mut self) -> Vec<String> {
        let mut remarks = Vec::new();
        let mut running = std::mem::take(self.running.get_mut());
        // Components stop in the reverse order of their start, so those that need others stop first.
        while let Some(last) = running.last() {
            let component = last.component;
            let first = running
                .iter()
                .position(|replica| replica.component == component)
                .unwrap_or(0);
            let mut replicas = running.split_off(first);
            let within = self.system.components[component].stop_timeout;
            let is_asked = !within.is_zero();
            for replica in &mut replicas {
                if is_asked {
                    replica.child.ask_to_stop().await;
                } else {
                    replica.child.stop_at_once().await;
                }
            }
            let asked = Instant::now();
            let within = if is_asked { within } else { KILL_AT_MOST };
            for replica in replicas {
                remarks.extend(replica.child.wait_or_kill(asked, within).await);
            }
        }
        remarks
    }

    /// Removes what was made for replicas, which have ended.
    async fn forget_replicas(&mut self) -> Vec<String> {
        let mut remarks = self.created.remove_all().await;
        if let Some(elsewhere) = &mut self.elsewhere {
            remarks.extend(elsewhere.remove().await);
        }
        self.ports = Ports::default();
        self.is_started = false;
        self.set_up.clear();
        self.idle_check.forget();
        remarks
    }
}

impl Driver for ProcessDriver {
    async fn start_all(&mut self, setup: Setup<'_>) -> Result<(), Failure> {
        self.start_or_retry(setup, false).await
    }

    async fn ready(&mut self, setup: Setup<'_>) -> Result<(), Failure> {
        self.start_or_retry(setup, true).await
    }

    fn deaths(&self) -> Deaths {
        Deaths(self.deaths.subscribe())
    }

    fn log_tail(&self, replica: &str) -> Vec<String> {
        let running = self.running.borrow();
        let mut running = running.iter();
        let process = running.find(|running| running.child.replica == replica);
        process
            .and_then(|running| log_tail(&running.child.log).ok())
            .unwrap_or_default()
    }

    fn peers(&self, component: &str, port: &str) -> Vec<Peer> {
        self.peers_of(component, port)
    }

    fn usage(&self) -> Vec<Usage> {
        let running = self.running.borrow();
        let replicas = running.iter().filter_map(Running::usage);
        let instrument = proc::own_usage(self.clocks.loops).map(|used| used.into_usage(INSTRUMENT));
        let external = self.external_processes.borrow();
        replicas.chain(external.usage()).chain(instrument).collect()
    }

    fn cpu_reading(&self) -> Option<CpuReading> {
        let is_whole = self.external_processes.borrow().is_whole();
        if self.elsewhere.is_none() {
            return self.clocks.reading(&self.usage(), is_whole);
        }
        // What replicas elsewhere use is not of this machine, and one of them may be here, too.
        let mut here = self.usage();
        here.retain(|used| used.replica == INSTRUMENT);
        self.clocks.reading(&here, false)
    }

    fn find_processes(&self) {
        self.external_processes.borrow_mut().refresh();
    }

    fn limits(&self) -> Vec<LimitReading> {
        let running = self.running.borrow();
        let limited = running.iter().filter(|running| running.limits.is_some());
        limited.map(Running::limit_reading).collect()
    }

    fn pods(&self) -> Vec<ReplicaPod> {
        self.elsewhere
            .as_ref()
            .map_or_else(Vec::new, Elsewhere::pods)
    }

    async fn kill(&self, component: &str, replica: u32) -> Result<(), Failure> {
        self.kill_one(component, replica).await
    }

    async fn start_again(
        &self,
        component: &str,
        replica: u32,
        deadline: Instant,
    ) -> Result<(), Failure> {
        self.start_one_again(component, replica, deadline).await
    }

    fn removal_timeout(&self) -> Duration {
        let elsewhere = self.elsewhere.as_ref();
        elsewhere.map_or(Duration::ZERO, Elsewhere::removal_timeout)
    }

    async fn stop_all(&mut self) -> Vec<String> {
        let mut remarks = self.stop_replicas().await;
        remarks.extend(self.forget_replicas().await);
        remarks
    }

    async fn stop_and_fetch(&mut self, folder: &Path) -> (Vec<String>, Result<(), Problem>) {
        let mut remarks = self.stop_replicas().await;
        let fetched = match &self.elsewhere {
            Some(elsewhere) => elsewhere.copy_folders(Way::Here, folder).await,
            None => Ok(()),
        };
        remarks.extend(self.forget_replicas().await);
        (remarks, fetched)
    }

    fn hide(&self, secrets: &Secrets) {
        let hidden = secrets.hidden_texts();
        for running in self.running.borrow_mut().iter_mut() {
            running.child.hide(&hidden);
        }
        *self.hidden.borrow_mut() = hidden;
    }

    fn is_host_idle(&mut self) -> bool {
        self.idle_check.poll()
    }
}

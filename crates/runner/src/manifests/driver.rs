//! Brings a system of manifests up and down, for one trial after another.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::{
    sync::{Mutex, watch},
    task::JoinHandle,
    time::{Instant, timeout},
};
use waggle_cluster::{
    Access, Claim, Created, Holder, Ledger, Namespace, Place, PodUsage, Scope, selector_of,
};
use waggle_results::ReplicaPod;
use waggle_study::{Level, Manifests, System};
use waggle_system::{
    components::driver::{Death, Deaths, Driver, Failure, IdleCheck, LimitReading, Setup},
    host::{
        cpu_time::{CpuClocks, CpuReading},
        proc,
        usage::{INSTRUMENT, Usage},
    },
    http::peer::Peer,
    secrets::words::Secrets,
};

use super::{
    addresses::{Addresses, find_addresses},
    evidence::{Keeping, LOGS_TIMEOUT, write_applied},
    leaving::Leaving,
    objects::{ManifestsError, Reading, SystemObject, to_await, with_kinds},
    source::{Rendered, read_rendered},
    watch::{Known, KnownPod, State, USAGE_INTERVAL, Watched},
};
use crate::run::pod_places::{Nodes, read_nodes};

/// How long all objects may take to be gone, and as long the claims of volumes.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(120);
/// How long that may take at the end of a run, of what did not go after a trial.
const REMOVAL_AGAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Some seconds for each object, and for what is told of it.
const REMOVAL_SPARE: Duration = Duration::from_secs(60);
/// How long it may take to read what nodes are.
const NODES_TIMEOUT: Duration = Duration::from_secs(10);
const LEASE: Duration = Duration::from_secs(60);

/// What the driver is made of.
#[derive(Debug)]
pub(crate) struct ManifestParts {
    pub(crate) system: System,
    pub(crate) system_folder: PathBuf,
    pub(crate) access: Access,
    pub(crate) namespace: String,
    /// By which the run's objects are known.
    pub(crate) run: String,
    /// Where it is noted what is made; `None`: nowhere.
    pub(crate) notes: Option<Place>,
    /// To which all objects of the run belong, if its runner is a pod.
    pub(crate) anchor: Option<Created>,
    /// Charts were rendered by who submitted the run.
    pub(crate) is_in_pod: bool,
    /// The namespace is this run's already: it was taken for its agents.
    pub(crate) is_claimed: bool,
}

/// Applies manifests, and removes what it has applied.
#[derive(Debug)]
pub(crate) struct ManifestDriver {
    pub(super) parts: ManifestParts,
    rendered: Option<Rendered>,
    /// Faults note in it, too.
    pub(super) ledger: Mutex<Ledger>,
    claim: Option<Claim>,
    /// The system that is up, or was brought up in part.
    pub(super) up: Up,
    deaths: watch::Sender<Vec<Death>>,
    /// What goes on beside a system that is up.
    tasks: Vec<JoinHandle<()>>,
    clocks: CpuClocks,
    idle_check: IdleCheck,
}

/// What was applied, and what is known of it.
#[derive(Debug, Default)]
pub(super) struct Up {
    /// As they were applied last.
    pub(super) objects: RefCell<Vec<SystemObject>>,
    /// Upgrades that were begun.
    pub(super) upgrades: Cell<usize>,
    /// As configured.
    pub(super) system: Option<System>,
    pub(super) folder: PathBuf,
    /// Secrets in all their forms, each with what stands in its place.
    hidden: RefCell<Vec<(String, String)>>,
    pub(super) addresses: Addresses,
    /// The pods of each component when it was ready.
    pub(super) wanted: RefCell<BTreeMap<String, usize>>,
    /// By which components find their pods.
    pub(super) selectors: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) known: Known,
    /// Those that were ended or replaced.
    pub(super) leaving: Leaving,
    /// Of the pods that were ready at the start.
    pub(super) nodes: Nodes,
}

impl ManifestDriver {
    pub(crate) fn new(parts: ManifestParts, clocks: CpuClocks) -> Result<Self, ManifestsError> {
        let rendered = match parts.is_in_pod {
            true => read_rendered(&parts.system_folder)?,
            false => None,
        };
        let mut ledger = Ledger::new(parts.access.clone(), parts.notes.as_ref(), &parts.run);
        if let Some(anchor) = &parts.anchor {
            ledger.adopt(anchor.clone());
        }
        Ok(Self {
            ledger: Mutex::new(ledger),
            rendered,
            claim: None,
            up: Up::default(),
            deaths: watch::channel(Vec::new()).0,
            tasks: Vec::new(),
            idle_check: IdleCheck::new(clocks.loops),
            clocks,
            parts,
        })
    }

    /// Reads the manifests for these levels: what is wrong in them is known before the first trial.
    pub(crate) async fn check(
        &self,
        levels: &BTreeMap<String, Level>,
    ) -> Result<(), ManifestsError> {
        self.reading().manifests(levels).await.map(drop)
    }

    pub(super) fn reading(&self) -> Reading<'_> {
        Reading {
            system: &self.parts.system,
            folder: &self.parts.system_folder,
            namespace: &self.parts.namespace,
            rendered: self.rendered.as_ref(),
        }
    }

    /// The system's own label on its objects.
    pub(super) fn part(&self) -> &str {
        &self.parts.system.name
    }

    pub(super) fn manifests(&self) -> Option<&Manifests> {
        self.parts.system.manifests.as_ref()
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        Scope {
            namespace: &self.parts.namespace,
            run: &self.parts.run,
            part: self.part(),
        }
    }

    pub(super) fn to_watch(&self) -> Watched {
        Watched {
            access: self.parts.access.clone(),
            namespace: self.parts.namespace.clone(),
            run: self.parts.run.clone(),
            part: self.part().to_owned(),
            known: self.up.known.clone(),
            leaving: self.up.leaving.clone(),
        }
    }

    async fn claim(&mut self) -> Result<(), Failure> {
        if self.parts.is_claimed || self.claim.is_some() {
            return Ok(());
        }
        let host = rustix::system::uname();
        let holder = Holder {
            host: host.nodename().to_string_lossy().into_owned(),
            lease: LEASE,
        };
        let namespace = Namespace::Given(self.parts.namespace.clone());
        let claim = Claim::acquire(self.ledger.get_mut(), &namespace, &holder).await;
        self.claim = Some(claim.map_err(|why| Failure::new(why.to_string()))?);
        Ok(())
    }

    /// Applies all objects, once none of them is there.
    async fn apply(&mut self, levels: &BTreeMap<String, Level>) -> Result<(), ManifestsError> {
        let manifests = self.reading().manifests(levels).await?;
        let objects = with_kinds(&self.parts.access, manifests).await?;
        let (namespace, part) = (self.parts.namespace.clone(), self.part().to_owned());
        for SystemObject { manifest, kind } in &objects {
            let ledger = self.ledger.get_mut();
            let checked = ledger.check_new(kind, &namespace, &manifest.object, &part);
            checked.await?;
        }
        write_applied(&self.up.folder, &objects, None)
            .map_err(waggle_cluster::ObjectError::Note)?;
        *self.up.objects.get_mut() = objects.clone();
        for SystemObject { manifest, kind } in &objects {
            let ledger = self.ledger.get_mut();
            let applied = ledger.apply(kind, &namespace, &manifest.object, &part);
            let object = applied.await?;
            self.note_selector(&manifest.kind, &manifest.name, &object);
        }
        Ok(())
    }

    fn note_selector(&mut self, kind: &str, name: &str, object: &serde_json::Value) {
        let components = self.parts.system.components.iter();
        for component in components {
            let Some(workload) = &component.workload else {
                continue;
            };
            if workload.object.name == name && workload.object.kind.eq_ignore_ascii_case(kind) {
                let selector = selector_of(object);
                self.up.selectors.insert(component.name.clone(), selector);
            }
        }
    }

    /// Waits until all is ready, and notes the pods and where they are reached.
    async fn wait(&mut self, deadline: Instant) -> Result<(), Failure> {
        let Some(manifests) = self.manifests() else {
            return Ok(());
        };
        let awaited = to_await(self.up.objects.borrow().iter(), manifests);
        let waiting = self
            .parts
            .access
            .watch_workloads(self.scope(), &awaited, deadline);
        if let Err(why) = waiting.await {
            return Err(Failure::new(self.redact(&why.to_string())));
        }
        let pods = self.to_watch().pods().await;
        let pods = pods.map_err(|why| Failure::new(why.to_string()))?;
        let names = pods.iter().filter_map(|pod| pod.node.as_deref());
        let reading = read_nodes(&self.parts.access, &self.parts.run, names);
        self.up.nodes = timeout(NODES_TIMEOUT, reading).await.unwrap_or_default();
        self.note_pods(&pods);
        self.note_wanted(&pods);
        let Some(system) = &self.up.system else {
            return Ok(());
        };
        let pods_of = |component: &str| self.ready_pods(component, &pods);
        let addresses = find_addresses(&self.parts.access, &self.parts.namespace, system, pods_of);
        self.up.addresses = addresses.await?;
        Ok(())
    }

    pub(super) fn redact(&self, text: &str) -> String {
        self.keeping().redact(text)
    }

    fn keeping(&self) -> Keeping<'_> {
        Keeping {
            access: &self.parts.access,
            namespace: &self.parts.namespace,
            folder: &self.up.folder,
            hidden: self.up.hidden.borrow().clone(),
            objects: self.up.objects.borrow().clone(),
        }
    }

    /// Keeps what there is to see of the system.
    async fn keep_evidence(&self) -> Vec<String> {
        if self.up.objects.borrow().is_empty() {
            return Vec::new();
        }
        let (pods, mut problems) = match self.to_watch().pods().await {
            Ok(pods) => (pods, Vec::new()),
            Err(why) => (
                Vec::new(),
                vec![format!("logs of pods are not kept: {why}")],
            ),
        };
        let left = self.up.leaving.finish(&pods).await;
        problems.extend(self.keeping().keep(&pods, &left).await);
        problems
    }

    async fn remove(&mut self) -> Vec<String> {
        let mut problems: Vec<String> = Vec::new();
        let left = self.ledger.get_mut().delete_all(REMOVAL_TIMEOUT).await;
        problems.extend(left.iter().map(ToString::to_string));
        // The lease is renewed until it is deleted.
        self.claim = None;
        let has_claims = self
            .up
            .objects
            .borrow()
            .iter()
            .any(|object| object.manifest.kind == "StatefulSet");
        if has_claims {
            let (namespace, part) = (&self.parts.namespace, &self.parts.system.name);
            match self
                .ledger
                .get_mut()
                .delete_claims(namespace, part, REMOVAL_TIMEOUT)
                .await
            {
                Ok(left) => problems.extend(left.iter().map(ToString::to_string)),
                Err(why) => problems.push(format!("claims of volumes may be left: {why}")),
            }
        }
        problems
    }

    /// The run is over: removes what did not go after a trial. Returns what is still there.
    pub(crate) async fn end(&mut self) -> Vec<String> {
        let ledger = self.ledger.get_mut();
        if ledger.is_empty() {
            return Vec::new();
        }
        let left = ledger.delete_all(REMOVAL_AGAIN_TIMEOUT).await;
        left.iter().map(ToString::to_string).collect()
    }

    fn usage_remark(&self) -> Option<String> {
        let state = self.up.known.state();
        if state.pods.is_empty() {
            return None;
        }
        Some(match &state.no_usage {
            Some(why) => format!("CPU and memory of pods are unknown: {why}"),
            None => format!(
                "CPU and memory of pods are what kubelets say, which look every {} s or less often",
                USAGE_INTERVAL.as_secs()
            ),
        })
    }
}

fn pod_usage(known: &KnownPod, used: &PodUsage) -> Usage {
    let read_at = SystemTime::from(used.time).duration_since(UNIX_EPOCH);
    Usage {
        replica: known.replica.clone(),
        cpu: used.cpu,
        rss_bytes: used.rss_bytes,
        threads: 0,
        read_at: read_at.ok(),
    }
}

impl Driver for ManifestDriver {
    async fn start_all(&mut self, setup: Setup<'_>) -> Result<(), Failure> {
        self.deaths.send_replace(Vec::new());
        // Of a tear-down that was too slow.
        if !self.up.objects.get_mut().is_empty() {
            let left = self.remove().await;
            if let Some(first) = left.into_iter().next() {
                return Err(Failure::new(first));
            }
        }
        self.up = Up {
            system: Some(self.parts.system.configure(setup.parameters)),
            folder: setup.logs.to_path_buf(),
            hidden: RefCell::new(setup.secrets.hidden_texts()),
            ..Up::default()
        };
        self.claim().await?;
        if setup.has_drains {
            let checked = self.parts.access.check_drains(&self.parts.namespace).await;
            checked.map_err(|why| {
                Failure::new(format!(
                    "the study drains nodes, which is not allowed: {why}"
                ))
            })?;
        }
        let applied = match self.apply(setup.parameters).await {
            Ok(()) => self.check_upgrades(setup.upgrades).await,
            Err(why) => Err(why),
        };
        applied.map_err(|why| Failure::new(self.redact(&why.to_string())))
    }

    async fn ready(&mut self, setup: Setup<'_>) -> Result<(), Failure> {
        self.wait(setup.deadline).await?;
        let watched = self.to_watch();
        let deaths = watched.clone().watch_deaths(self.deaths.clone());
        self.tasks.push(tokio::spawn(deaths));
        self.tasks.push(tokio::spawn(watched.watch_usage()));
        Ok(())
    }

    fn deaths(&self) -> Deaths {
        Deaths(self.deaths.subscribe())
    }

    fn log_tail(&self, replica: &str) -> Vec<String> {
        let state = self.up.known.state();
        let lines = state.last_lines.get(replica).cloned().unwrap_or_default();
        drop(state);
        lines.iter().map(|line| self.redact(line)).collect()
    }

    fn peers(&self, component: &str, port: &str) -> Vec<Peer> {
        let key = (component.to_owned(), port.to_owned());
        let addresses = self.up.addresses.get(&key).into_iter().flatten();
        addresses.map(|address| Peer::from(*address)).collect()
    }

    fn usage(&self) -> Vec<Usage> {
        let state = self.up.known.state();
        let State { pods, usage, .. } = &*state;
        let pods = pods.iter();
        let pods = pods.filter_map(|(uid, known)| Some(pod_usage(known, usage.get(uid)?)));
        let instrument = proc::own_usage(self.clocks.loops).map(|used| used.into_usage(INSTRUMENT));
        pods.chain(instrument).collect()
    }

    fn cpu_reading(&self) -> Option<CpuReading> {
        // What pods use is not of this machine, or not known to be.
        let instrument = proc::own_usage(self.clocks.loops).map(|used| used.into_usage(INSTRUMENT));
        let usage: Vec<Usage> = instrument.into_iter().collect();
        self.clocks.reading(&usage, false)
    }

    fn find_processes(&self) {}

    fn limits(&self) -> Vec<LimitReading> {
        Vec::new()
    }

    fn pods(&self) -> Vec<ReplicaPod> {
        let mut places = self.up.known.state().places.clone();
        // Those of one replica stay in the order in which they came.
        places.sort_by(|a, b| a.replica.cmp(&b.replica));
        places
    }

    async fn kill(&self, component: &str, replica: u32) -> Result<(), Failure> {
        self.kill_pod(component, replica).await
    }

    async fn start_again(
        &self,
        component: &str,
        _replica: u32,
        deadline: Instant,
    ) -> Result<(), Failure> {
        self.wait_for_pods(component, deadline).await
    }

    async fn upgrade(
        &self,
        component: &str,
        levels: Option<&BTreeMap<String, Level>>,
        deadline: Instant,
    ) -> Result<Vec<String>, Failure> {
        self.upgrade_component(component, levels, deadline).await
    }

    async fn drain(
        &self,
        component: &str,
        replica: u32,
        deadline: Instant,
    ) -> Result<Vec<String>, Failure> {
        self.drain_node(component, replica, deadline).await
    }

    fn removal_timeout(&self) -> Duration {
        LOGS_TIMEOUT + 2 * REMOVAL_TIMEOUT + REMOVAL_SPARE
    }

    async fn stop_all(&mut self) -> Vec<String> {
        self.tasks.drain(..).for_each(|task| task.abort());
        self.idle_check.forget();
        let mut remarks: Vec<String> = self.usage_remark().into_iter().collect();
        remarks.extend(self.keep_evidence().await);
        remarks.extend(self.remove().await);
        self.up = Up::default();
        remarks
    }

    fn hide(&self, secrets: &Secrets) {
        *self.up.hidden.borrow_mut() = secrets.hidden_texts();
    }

    fn is_host_idle(&mut self) -> bool {
        self.idle_check.poll()
    }
}

impl Drop for ManifestDriver {
    fn drop(&mut self) {
        self.tasks.drain(..).for_each(|task| task.abort());
    }
}

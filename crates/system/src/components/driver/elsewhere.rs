//! Replicas that are not on this machine: where they are, and how they are reached.

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};
use waggle_results::{PodInfo, ReplicaPod, log_tail};
use waggle_study::{Component, Limits};

use crate::{
    components::{
        driver::{Failure, Setup, env::replicas, ports::Ports, program::Programs},
        replica::{Opener, RemoteReplica, fetch_folder, send_folder},
    },
    problem::Problem,
};

/// One folder: some gigabytes over the API server.
const COPY_AT_MOST: Duration = Duration::from_secs(900);

/// A future of a [`Site`], which stays on the thread of its trial.
pub type SiteFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Makes places for replicas that are not on this machine.
pub trait Site: fmt::Debug {
    /// Makes a place for each replica, in which the process beside it runs.
    fn make<'a>(
        &'a mut self,
        wanted: &'a [WantedReplica],
        deadline: Instant,
    ) -> SiteFuture<'a, Result<Vec<MadeReplica>, Failure>>;

    /// Writes what is known of the places into this folder, and removes all of them. Returns what went wrong.
    fn remove<'a>(&'a mut self, logs: &'a Path) -> SiteFuture<'a, Vec<String>>;

    /// How long [`Site::remove`] may take at most.
    fn removal_timeout(&self) -> Duration;

    /// The run is over: removes what was made for all of its places, and what earlier removals left. Returns what went wrong.
    fn end(&mut self) -> SiteFuture<'_, Vec<String>>;
}

/// A replica that needs a place.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedReplica {
    pub component: String,
    pub number: u32,
    /// Names.
    pub ports: Vec<String>,
    pub limits: Limits,
}

/// The place of a replica.
#[derive(Debug, Clone)]
pub struct MadeReplica {
    pub component: String,
    pub number: u32,
    /// By which waggle reaches it.
    pub address: IpAddr,
    /// By which other replicas do; the same for all of its lives.
    pub host: String,
    /// Name and number.
    pub ports: Vec<(String, u16)>,
    pub opener: Arc<dyn Opener>,
    /// `None`: it is no pod.
    pub pod: Option<PodInfo>,
}

/// The replicas of a driver that are not on this machine.
#[derive(Debug)]
pub(super) struct Elsewhere {
    site: Box<dyn Site>,
    /// The version of waggle here.
    version: String,
    /// By component and number.
    places: BTreeMap<(String, u32), RemotePlace>,
    /// In the order of replicas.
    pods: Vec<ReplicaPod>,
    /// Where logs of the system that is up are; `None`: none is.
    logs: Option<PathBuf>,
}

/// Where folders are copied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Here,
    There,
}

/// The place of a replica, with the process in it.
#[derive(Debug)]
pub(super) struct RemotePlace {
    pub(super) remote: Arc<RemoteReplica>,
    opener: Arc<dyn Opener>,
    pub(super) programs: Programs,
    pub(super) host: String,
}

impl RemotePlace {
    /// The folder of a replica there.
    pub(super) fn folder(&self, replica: &str) -> PathBuf {
        self.remote.facts.folder.join(replica)
    }

    pub(super) fn system_folder(&self) -> &Path {
        &self.remote.facts.system_folder
    }
}

impl Elsewhere {
    pub(super) fn new(site: Box<dyn Site>, version: &str) -> Self {
        Self {
            site,
            version: version.to_owned(),
            places: BTreeMap::new(),
            pods: Vec::new(),
            logs: None,
        }
    }

    pub(super) fn place(&self, component: &str, number: u32) -> Option<&RemotePlace> {
        self.places.get(&(component.to_owned(), number))
    }

    /// Those that are pods.
    pub(super) fn pods(&self) -> Vec<ReplicaPod> {
        self.pods.clone()
    }

    /// The names of all hosts.
    pub(super) fn hosts(&self) -> Vec<String> {
        self.places
            .values()
            .map(|place| place.host.clone())
            .collect()
    }

    /// Makes a place for each replica of these components, and notes their ports.
    pub(super) async fn make(
        &mut self,
        components: &[&Component],
        setup: Setup<'_>,
        ports: &mut Ports,
    ) -> Result<(), Failure> {
        let wanted = list_replicas(components, setup)?;
        self.logs = Some(setup.logs.to_owned());
        let made = self.site.make(&wanted, setup.deadline).await?;
        let pods = made.iter().filter_map(|made| {
            let replica = format!("{}-{}", made.component, made.number);
            Some((replica, made.pod.clone()?))
        });
        let pods = pods.map(|(replica, pod)| ReplicaPod { replica, pod });
        self.pods = pods.collect();
        let connecting = made.iter().map(|made| connect(made, setup));
        let connected = join_all(connecting).await;
        for (made, remote) in made.into_iter().zip(connected) {
            let remote = remote?;
            let replica = format!("{}-{}", made.component, made.number);
            if remote.facts.version != self.version {
                return Err(Failure::new(format!(
                    "{replica}: its image has waggle {}, and this is waggle {}",
                    remote.facts.version, self.version
                )));
            }
            for (name, port) in &made.ports {
                let address = SocketAddr::new(made.address, *port);
                let written = format!("{}:{port}", made.host);
                ports.note_elsewhere(&made.component, made.number, name, address, written);
            }
            let place = RemotePlace {
                programs: Programs::from_paths(&remote.facts.programs),
                remote: Arc::new(remote),
                opener: made.opener,
                host: made.host,
            };
            self.places.insert((made.component, made.number), place);
        }
        Ok(())
    }

    /// Copies what replicas that have ended have in their folders to a folder here, or to each of them what is here before it starts.
    pub(super) async fn copy_folders(&self, way: Way, here: &Path) -> Result<(), Problem> {
        for ((component, number), place) in &self.places {
            let replica = format!("{component}-{number}");
            let folder = here.join(&replica);
            let opener = &*place.opener;
            let copying = async {
                match way {
                    Way::Here => fetch_folder(opener, &replica, folder).await,
                    Way::There => send_folder(opener, &replica, folder).await,
                }
            };
            let copied = timeout(COPY_AT_MOST, copying).await;
            let copied = copied.unwrap_or_else(|_| {
                let seconds = COPY_AT_MOST.as_secs();
                Err(Problem(format!("it took more than {seconds} s")))
            });
            copied
                .map_err(|why| Problem(format!("the folder of {replica} is not copied: {why}")))?;
        }
        Ok(())
    }

    pub(super) fn removal_timeout(&self) -> Duration {
        self.site.removal_timeout()
    }

    /// The run is over.
    pub(super) async fn end(&mut self) -> Vec<String> {
        self.site.end().await
    }

    /// Removes all places; returns what went wrong.
    pub(super) async fn remove(&mut self) -> Vec<String> {
        self.places.clear();
        self.pods.clear();
        match self.logs.take() {
            Some(logs) => self.site.remove(&logs).await,
            None => Vec::new(),
        }
    }
}

fn list_replicas(
    components: &[&Component],
    setup: Setup<'_>,
) -> Result<Vec<WantedReplica>, Failure> {
    let mut wanted = Vec::new();
    for component in components {
        let limits = setup.limits.get(&component.name).copied();
        for number in 0..replicas(component, setup)? {
            wanted.push(WantedReplica {
                component: component.name.clone(),
                number,
                ports: component.ports.clone(),
                limits: limits.unwrap_or_default(),
            });
        }
    }
    Ok(wanted)
}

async fn connect(made: &MadeReplica, setup: Setup<'_>) -> Result<RemoteReplica, Failure> {
    let replica = format!("{}-{}", made.component, made.number);
    let log = setup.logs.join(format!("{replica}.log"));
    let opener = Arc::clone(&made.opener);
    let connected = RemoteReplica::connect(opener, &log, setup.deadline).await;
    connected.map_err(|why| Failure {
        reason: format!("{replica} could not be reached in its pod: {why}"),
        log_tail: log_tail(&log).unwrap_or_default(),
    })
}

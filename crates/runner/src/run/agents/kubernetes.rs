//! Agents as the pods of an Indexed Job: made, waited for, asked where they are, and removed with all that the run has made.

use std::{
    env, fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;
use tokio::time::timeout;
use waggle_agents::JoinFile;
use waggle_cluster::{
    Access, AccessError, Claim, ClaimError, Created, Holder, IndexedJob, Kind, Ledger,
    MountedSecret, Namespace, ObjectError, Place, PodShape, PullPolicy, Resources, Spread,
    Toleration, WaitLimits,
};
use waggle_results::{PodInfo, SystemOnNode, private_file};
use waggle_spec::{AgentPods, ClusterPlace, ImagePull, PodOptions, PodSpread};

use super::sharing::{Wanted, find_system};
use crate::run::{
    pod_places::{pod_info, read_nodes},
    request::InPod,
};

/// In the environment of every pod.
const SERVICE_HOST: &str = "KUBERNETES_SERVICE_HOST";
/// The folder of the pods' logs, in the run folder.
const LOGS: &str = "agents";
/// Where pods have the file by which they join.
const JOIN_FOLDER: &str = "/var/run/waggle";
const JOIN_FILE: &str = "agents.join";
/// Longest part of a run's name in the names of its objects.
const NAME_MAX: usize = 40;
pub(in crate::run) const LEASE: Duration = Duration::from_secs(60);
/// A run that is longer than this is not expected to end.
pub(crate) const JOB_AT_MOST: Duration = Duration::from_secs(14 * 24 * 3600);
/// How long Kubernetes keeps what a run has left.
const KEPT: Duration = Duration::from_secs(4 * 3600);
/// How long an object may take to be gone, and how long reading of logs may take: of each, because a node that is dead does not answer,
/// and in all.
pub(in crate::run) const REMOVAL_AT_MOST: Duration = Duration::from_secs(60);
const LOG_AT_MOST: Duration = Duration::from_secs(8);
const LOGS_AT_MOST: Duration = Duration::from_secs(30);
/// Agents that have not joined of which is said where they are and what they said, and how long that may take to read.
const MISSING_MAX: usize = 5;
const MISSING_AT_MOST: Duration = Duration::from_secs(15);
/// How long it may take to find where the system is.
const LOOK_AT_MOST: Duration = Duration::from_secs(30);

/// Why agents do not run in a cluster.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentJobError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Claim(#[from] ClaimError),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    NotRunning(#[from] waggle_cluster::NotRunning),
    #[error(transparent)]
    Api(#[from] waggle_cluster::ApiError),
}

/// The Job of a run's agents, and all that belongs to it.
#[derive(Debug)]
pub(super) struct AgentJob {
    access: Access,
    ledger: Ledger,
    claim: Option<Claim>,
    job: String,
    wait: Duration,
}

/// What the Job is made of.
pub(super) struct JobParts<'a> {
    pub(super) pods: &'a AgentPods,
    pub(super) study: &'a str,
    /// Beside which a kubeconfig is.
    pub(super) study_file: &'a Path,
    pub(super) run_folder: &'a Path,
    /// The run is driven from a pod; what it makes belongs to the same object as that.
    pub(super) in_pod: Option<&'a InPod>,
    /// Where it is noted what is made; `None`: nowhere.
    pub(super) created: Option<(PathBuf, String)>,
    pub(super) wait: Duration,
}

/// The address of the API as pods of a cluster have it; `None`: this process is in no pod.
pub(crate) fn service_host() -> Option<IpAddr> {
    env::var(SERVICE_HOST).ok()?.parse().ok()
}

/// The address of this process's own pod, by which it reaches the API: nothing is sent. `None`: it is in no pod.
pub(super) fn pod_address() -> Option<IpAddr> {
    let api = service_host()?;
    let any: IpAddr = match api {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((api, 443)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

impl AgentJob {
    /// Claims the namespace; nothing else is made yet.
    pub(super) async fn claim(parts: &JobParts<'_>) -> Result<Self, AgentJobError> {
        let pods = parts.pods;
        let access = access(&pods.place, parts.study_file, parts.in_pod).await?;
        let place = parts.created.clone();
        let place = place.map(|(folder, system)| Place { folder, system });
        let run = object_name(parts.run_folder);
        let mut ledger = Ledger::new(access.clone(), place.as_ref(), &run);
        let given = match parts.in_pod {
            Some(pod) => Some(pod.namespace.clone()),
            None => pods.place.namespace.clone(),
        };
        let namespace = given.unwrap_or_else(|| access.origin.namespace.clone());
        if let Some(pod) = parts.in_pod {
            ledger.adopt(pod.anchor());
        }
        let namespace = match pods.makes_namespace {
            true => Namespace::Made(namespace),
            false => Namespace::Given(namespace),
        };
        let holder = holder();
        let claim = Claim::acquire(&mut ledger, &namespace, &holder).await;
        let claim = match claim {
            Ok(claim) => claim,
            Err(why) => {
                ledger.delete_all(REMOVAL_AT_MOST).await;
                return Err(why.into());
            }
        };
        Ok(Self {
            job: format!("waggle-{run}"),
            access,
            ledger,
            claim: Some(claim),
            wait: parts.wait,
        })
    }

    /// Makes the Job, and waits until its pods run.
    pub(super) async fn start(
        &mut self,
        parts: &JobParts<'_>,
        join: &JoinFile,
    ) -> Result<(), AgentJobError> {
        let namespace = self.namespace();
        if parts.in_pod.is_none() {
            let facts = [("study", parts.study)];
            self.ledger.anchor(&namespace, &facts).await?;
        }
        let name = format!("{}-join", self.job);
        let secret = json!({
            "metadata": { "name": name },
            "stringData": { JOIN_FILE: join.text() },
        });
        let secret: Created = (self.ledger)
            .create(Kind::Secret, Some(&namespace), secret)
            .await?;
        let job = indexed_job(&self.job, parts.pods, &secret.name).manifest();
        (self.ledger)
            .create(Kind::Job, Some(&namespace), job)
            .await?;
        let limits = WaitLimits {
            total: self.wait,
            ..WaitLimits::default()
        };
        let running = (self.access).watch_pods(&namespace, &self.job, limits, |_, _| {});
        running.await?;
        Ok(())
    }

    /// `namespace load of https://…`
    pub(super) fn place(&self) -> String {
        format!(
            "namespace {} of {}",
            self.namespace(),
            self.access.origin.server
        )
    }

    fn namespace(&self) -> String {
        let claim = self.claim.as_ref();
        claim.map_or_else(String::new, |claim| claim.namespace.clone())
    }

    /// Where the pods are, each with the number of its agent, and whether what is wanted of the system is there, too.
    pub(super) async fn places(
        &self,
        pods: &AgentPods,
        wanted: &Wanted,
    ) -> Result<Vec<(u32, PodInfo)>, AgentJobError> {
        let namespace = self.namespace();
        let places = self.access.placement(&namespace, &self.job).await?;
        let system = match wanted.is_something() {
            true => {
                let looking = find_system(&self.access, pods, &namespace, wanted);
                Some(timeout(LOOK_AT_MOST, looking).await.ok())
            }
            false => None,
        };
        let names = places.iter().filter_map(|place| place.node.as_deref());
        let nodes = read_nodes(&self.access, self.ledger.run(), names).await;
        let mut infos = Vec::with_capacity(places.len());
        for place in places {
            let Some(index) = place.index else {
                continue;
            };
            let Some(mut pod) = pod_info(place, &namespace, &nodes) else {
                continue;
            };
            pod.system = system.as_ref().map(|system| match system {
                Some(system) => system.look_on(&pod.node_name),
                None => SystemOnNode::Unknown {
                    why: "the cluster did not answer in time".to_owned(),
                },
            });
            infos.push((index + 1, pod));
        }
        Ok(infos)
    }

    /// Where the agents are that have not joined, and what each said last; empty: that cannot be read in time.
    pub(super) async fn words_of_missing(&self, joined: &[usize]) -> String {
        let words = timeout(MISSING_AT_MOST, self.read_missing(joined)).await;
        words.ok().and_then(Result::ok).unwrap_or_default()
    }

    async fn read_missing(&self, joined: &[usize]) -> Result<String, AgentJobError> {
        let namespace = self.namespace();
        let mut words = String::new();
        let places = self.access.placement(&namespace, &self.job).await?;
        let numbered = places.into_iter().filter_map(|place| {
            let number = place.index? + 1;
            let has_joined = joined.contains(&(number as usize));
            (!has_joined).then_some((number, place))
        });
        for (number, place) in numbered.take(MISSING_MAX) {
            let node = place.node.as_deref().unwrap_or("no node");
            let lines = self.access.last_log_lines(&namespace, &place.pod, 1).await;
            let said = match lines {
                Ok(lines) => lines.into_iter().next_back(),
                Err(why) => Some(why.to_string()),
            };
            let said = said.unwrap_or_else(|| "it has said nothing".to_owned());
            words += &format!("; agent {number} ({} on {node}): {said}", place.pod);
        }
        Ok(words)
    }

    /// Notes the logs of the pods and the events of the namespace in the run folder, then removes all, or keeps it;
    /// what is still there is returned.
    pub(super) async fn end(mut self, run_folder: &Path, keeps: bool) -> Vec<String> {
        let mut problems = Vec::new();
        let keeping = self.keep_logs(run_folder);
        match timeout(LOGS_AT_MOST, keeping).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => problems.push(format!("logs of agents are not kept: {why}")),
            Err(_) => problems.push("logs of agents could not be read in time".to_owned()),
        }
        if keeps {
            // Others may use the namespace.
            if let Some(claim) = self.claim.take() {
                let freed = self.ledger.delete(&claim.lease, REMOVAL_AT_MOST).await;
                problems.extend(freed.err().map(|why| why.to_string()));
            }
            problems.push(format!(
                "the Job {} in {} is kept, because the run failed",
                self.job,
                self.place()
            ));
            self.ledger.keep();
            return problems;
        }
        let left = self.ledger.delete_all(REMOVAL_AT_MOST).await;
        problems.extend(left.iter().map(ToString::to_string));
        // The lease is renewed until it is deleted.
        self.claim.take();
        problems
    }

    async fn keep_logs(&self, run_folder: &Path) -> Result<(), String> {
        let namespace = self.namespace();
        let folder = run_folder.join(LOGS);
        let pods = self.access.pod_statuses(&namespace, &self.job).await;
        let pods = pods.map_err(|why| why.to_string())?;
        if pods.is_empty() {
            return Ok(());
        }
        let failed = |why: io::Error| why.to_string();
        private_file::create_folder(&folder).map_err(failed)?;
        for pod in pods {
            let log = self.access.logs(&namespace, &pod.name, false);
            let text = match timeout(LOG_AT_MOST, log).await {
                Ok(Ok(text)) => text,
                Ok(Err(why)) => format!("the log cannot be read: {why}\n"),
                Err(_) => {
                    let seconds = LOG_AT_MOST.as_secs();
                    format!("the log cannot be read: no answer within {seconds} s\n")
                }
            };
            private_file::write_file(&folder.join(format!("{}.log", pod.name)), text)
                .map_err(failed)?;
        }
        let events = self.access.events(&namespace).await;
        let events = events.map_err(|why| why.to_string())?;
        let lines: String = events.iter().map(event_line).collect();
        private_file::write_file(&folder.join("events.txt"), lines).map_err(failed)
    }
}

pub(in crate::run) fn event_line(event: &waggle_cluster::Event) -> String {
    format!(
        "{} {} {} {}: {} (×{})\n",
        event.time, event.severity, event.kind, event.name, event.message, event.count
    )
}

/// The way to the cluster that a study names.
pub(in crate::run) async fn access(
    place: &ClusterPlace,
    study_file: &Path,
    in_pod: Option<&InPod>,
) -> Result<Access, AccessError> {
    match (&place.kubeconfig, &place.context) {
        // What the study says of the cluster was followed by who submitted the run.
        _ if in_pod.is_some() => Access::in_cluster().await,
        (None, None) if service_host().is_some() => Access::in_cluster().await,
        (_, context) => {
            let file = kubeconfig(place, study_file);
            Access::load(file.as_deref(), context.as_deref()).await
        }
    }
}

/// The kubeconfig that the study names.
pub(super) fn kubeconfig(place: &ClusterPlace, study_file: &Path) -> Option<PathBuf> {
    let file = place.kubeconfig.as_ref()?;
    Some(path_beside(study_file, file))
}

/// A file beside the study; `~/` is the home folder.
#[must_use]
pub fn path_beside(study_file: &Path, file: &str) -> PathBuf {
    if let (Some(rest), Some(home)) = (file.strip_prefix("~/"), env::var_os("HOME")) {
        return PathBuf::from(home).join(rest);
    }
    let folder = study_file.parent().unwrap_or(Path::new(""));
    let file = folder.join(file);
    fs::canonicalize(&file).unwrap_or(file)
}

/// Who claims a namespace for a run.
pub(in crate::run) fn holder() -> Holder {
    Holder {
        host: rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
        lease: LEASE,
    }
}

/// The name of a run folder as Kubernetes takes names.
#[must_use]
pub fn object_name(run_folder: &Path) -> String {
    let name = run_folder.file_name().unwrap_or_default().to_string_lossy();
    let letters = name.to_lowercase();
    let letters = letters
        .chars()
        .map(|letter| match letter.is_ascii_alphanumeric() {
            true => letter,
            false => '-',
        });
    let letters: Vec<char> = letters.collect();
    // The end has the time of the run.
    let begin = letters.len().saturating_sub(NAME_MAX);
    let name: String = letters[begin..].iter().collect();
    name.trim_matches('-').to_owned()
}

fn indexed_job(name: &str, pods: &AgentPods, secret: &str) -> IndexedJob {
    IndexedJob {
        name: name.to_owned(),
        pod: PodShape {
            command: vec!["waggle".to_owned()],
            arguments: ["agent", "--join", &format!("{JOIN_FOLDER}/{JOIN_FILE}")]
                .map(str::to_owned)
                .to_vec(),
            secrets: vec![MountedSecret {
                secret: secret.to_owned(),
                folder: JOIN_FOLDER.to_owned(),
            }],
            ..pod_shape(&pods.pod)
        },
        count: pods.count,
        apart_from: pods.apart_from.clone(),
        apart_from_namespaces: pods.apart_from_namespaces.clone(),
        spread: spread(pods.spread),
        deadline: JOB_AT_MOST,
        kept: KEPT,
    }
}

/// What a study says of a pod, without what the pod does.
#[must_use]
pub fn pod_shape(options: &PodOptions) -> PodShape {
    let tolerations = options.tolerations.iter().map(|given| Toleration {
        key: given.key.clone(),
        value: given.value.clone(),
        effect: given.effect.clone(),
    });
    PodShape {
        image: options.image.clone(),
        pull_policy: match options.pull {
            ImagePull::Always => PullPolicy::Always,
            ImagePull::IfNotPresent => PullPolicy::IfNotPresent,
            ImagePull::Never => PullPolicy::Never,
        },
        pull_secrets: options.pull_secrets.clone(),
        resources: Resources::Whole {
            cpus: options.cpus,
            memory_bytes: options.memory_bytes,
        },
        node_selector: options.node_selector.clone(),
        tolerations: tolerations.collect(),
        ..PodShape::default()
    }
}

impl InPod {
    pub(in crate::run) fn anchor(&self) -> Created {
        Created {
            kind: Kind::ConfigMap,
            namespace: Some(self.namespace.clone()),
            name: self.anchor_name.clone(),
            uid: self.anchor_uid.clone(),
        }
    }
}

pub(in crate::run) fn spread(asked: PodSpread) -> Spread {
    match asked {
        PodSpread::OneOnEach => Spread::OneOnEach,
        PodSpread::Even => Spread::Even,
        PodSpread::Preferred => Spread::Preferred,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::object_name;

    #[test]
    fn names_of_objects_have_the_time_of_the_run() {
        let check = |folder: &str, expected: &str| {
            assert_eq!(object_name(Path::new(folder)), expected);
        };
        check("runs/shop-20261128T114752Z", "shop-20261128t114752z");
        check(
            "runs/a_very_long.name-of-a-study-with-many-words-20261128T114752Z",
            "a-study-with-many-words-20261128t114752z",
        );
    }
}

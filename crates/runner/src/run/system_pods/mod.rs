//! A system as pods that waggle makes: a StatefulSet for each component, with names by a Service. The first process of each pod is
//! waggle, which starts the replica as the driver says over a connection that `opener` makes. `evidence` is what is kept of the pods.

mod evidence;
mod opener;

use std::{collections::BTreeMap, net::IpAddr, path::Path, sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};
use waggle_cluster::{
    Access, Claim, Created, Kind, Ledger, Namespace, Place, PodPlace, PodShape, PodStatus,
    ReplicaSet, Resources, START_LABEL, WaitLimits,
};
use waggle_spec::{AgentsStarted, PodOptions, SystemPods};
use waggle_system::components::driver::{Failure, MadeReplica, Site, SiteFuture, WantedReplica};

use self::opener::ExecOpener;
use crate::{
    run::{
        agents::kubernetes::{REMOVAL_AT_MOST, access, holder, object_name, pod_shape, spread},
        pod_places::{Nodes, pod_info, read_nodes},
        request::RunRequest,
    },
    trial::error::RunError,
};

/// The first process of a pod; its folder is empty at the start.
const COMMAND: [&str; 3] = [PROGRAM, "__replica", "serve"];
const PROGRAM: &str = "/usr/local/bin/waggle";
/// The folder to which a replica may write.
const FOLDER: &str = "/waggle";
/// The first port of a replica. Each has a network of its own, so no two meet.
const FIRST_PORT: u16 = 20_000;
/// Longest part of a component's name in the names of its objects, which have a limit of 52 characters.
const NAME_MAX: usize = 40;
/// How long it may take to read what nodes are.
const NODES_AT_MOST: Duration = Duration::from_secs(10);
/// For what is told of objects that do not go.
const REMOVAL_SPARE: Duration = Duration::from_secs(15);
/// How long it may take at the end of a run to remove what did not go after a trial.
const REMOVAL_AGAIN_AT_MOST: Duration = Duration::from_secs(10);
/// How long it may take to write what is known of the pods.
const EVIDENCE_AT_MOST: Duration = Duration::from_secs(30);

/// Makes the pods of a system.
#[derive(Debug)]
pub(crate) struct PodSite {
    access: Access,
    ledger: Ledger,
    /// `None`: the run has the namespace by its agents, or its pod.
    claim: Option<Claim>,
    namespace: String,
    pods: SystemPods,
    /// Starts so far.
    starts: u32,
    up: Option<PodsUp>,
    /// Objects of an earlier start are still there.
    has_left: bool,
}

/// The pods of one start.
#[derive(Debug)]
struct PodsUp {
    labels: BTreeMap<String, String>,
    /// In the order in which they were made.
    objects: Vec<Created>,
}

impl PodSite {
    /// Claims the namespace; no pod is made yet.
    pub(crate) async fn claim(request: &RunRequest, pods: &SystemPods) -> Result<Self, RunError> {
        let failed = |why: String| RunError::SystemPods(why);
        let access = access(&pods.place, &request.study_file, request.in_pod.as_ref()).await;
        let access = access.map_err(|why| failed(why.to_string()))?;
        let place = request.cluster_notes_folder.clone().map(|folder| Place {
            folder,
            system: request.system.name.clone(),
        });
        let run = object_name(&request.run_folder);
        let mut ledger = Ledger::new(access.clone(), place.as_ref(), &run);
        let given = match &request.in_pod {
            Some(pod) => {
                ledger.adopt(pod.anchor());
                Some(pod.namespace.clone())
            }
            None => pods.place.namespace.clone(),
        };
        let namespace = given.unwrap_or_else(|| access.origin.namespace.clone());
        let claim = match request.in_pod.is_some() || has_claim(request) {
            true => None,
            false => {
                let namespace = Namespace::Given(namespace.clone());
                match Claim::acquire(&mut ledger, &namespace, &holder()).await {
                    Ok(claim) => Some(claim),
                    Err(why) => {
                        ledger.delete_all(REMOVAL_AT_MOST).await;
                        return Err(failed(why.to_string()));
                    }
                }
            }
        };
        Ok(Self {
            access,
            ledger,
            claim,
            namespace,
            pods: pods.clone(),
            starts: 0,
            up: None,
            has_left: false,
        })
    }

    /// Removes the claim, too.
    async fn remove_claim(&mut self) -> Vec<String> {
        let at_most = match self.has_left {
            true => REMOVAL_AGAIN_AT_MOST,
            false => REMOVAL_AT_MOST,
        };
        let left = self.ledger.delete_all(at_most).await;
        self.claim.take();
        left.iter().map(ToString::to_string).collect()
    }

    async fn make_all(
        &mut self,
        wanted: &[WantedReplica],
        deadline: Instant,
    ) -> Result<Vec<MadeReplica>, Failure> {
        self.starts += 1;
        let start = start_name(self.ledger.run(), self.starts);
        let sets = self.sets(wanted, &start);
        let labels = BTreeMap::from([(START_LABEL.to_owned(), start)]);
        self.up = Some(PodsUp {
            labels: labels.clone(),
            objects: Vec::new(),
        });
        for set in &sets {
            let run = self.ledger.run().to_owned();
            self.create(Kind::Service, set.service()).await?;
            self.create(Kind::StatefulSet, set.manifest(&run)).await?;
        }
        let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
        let limits = WaitLimits {
            total: deadline.saturating_duration_since(Instant::now()),
            ..WaitLimits::default()
        };
        let running = (self.access)
            .watch_replicas(&self.namespace, &names, &labels, wanted.len(), limits)
            .await
            .map_err(|why| Failure::new(format!("the pods of the system: {why}")))?;
        let names = running.iter().filter_map(|pod| pod.node.as_deref());
        let reading = read_nodes(&self.access, self.ledger.run(), names);
        // Facts of nodes are worth a remark of the report, and no trial fails because they cannot be had.
        let nodes = timeout(NODES_AT_MOST, reading).await.unwrap_or_default();
        wanted
            .iter()
            .map(|replica| self.describe(replica, &sets, &running, &nodes))
            .collect()
    }

    async fn create(&mut self, kind: Kind, manifest: serde_json::Value) -> Result<(), Failure> {
        let namespace = self.namespace.clone();
        let made = self.ledger.create(kind, Some(&namespace), manifest).await;
        let made = made.map_err(|why| Failure::new(format!("the pods of the system: {why}")))?;
        if let Some(up) = &mut self.up {
            up.objects.push(made);
        }
        Ok(())
    }

    fn sets(&self, wanted: &[WantedReplica], start: &str) -> Vec<ReplicaSet> {
        let mut sets: Vec<ReplicaSet> = Vec::new();
        for replica in wanted {
            if let Some(set) = sets
                .iter_mut()
                .find(|set| set.component == replica.component)
            {
                set.replicas += 1;
                continue;
            }
            let shape = pod_shape(&PodOptions {
                image: self.pods.image.clone(),
                pull: self.pods.pull,
                pull_secrets: self.pods.pull_secrets.clone(),
                node_selector: self.pods.node_selector.clone(),
                tolerations: self.pods.tolerations.clone(),
                // What it may use is that of its component.
                cpus: 0,
                memory_bytes: 0,
            });
            sets.push(ReplicaSet {
                name: format!("{}-{start}", object_part(&replica.component)),
                component: replica.component.clone(),
                start: start.to_owned(),
                pod: PodShape {
                    command: COMMAND.map(str::to_owned).to_vec(),
                    arguments: vec![FOLDER.to_owned()],
                    scratch: Some((FOLDER.to_owned(), self.pods.scratch_bytes)),
                    resources: Resources::Limits {
                        cpus: replica.limits.cpus,
                        memory_bytes: replica.limits.memory,
                    },
                    ..shape
                },
                replicas: 1,
                beside_agents: self.pods.beside_agents,
                spread: spread(self.pods.spread),
                storage_class: self.pods.storage_class.clone(),
            });
        }
        sets
    }

    fn describe(
        &self,
        replica: &WantedReplica,
        sets: &[ReplicaSet],
        running: &[PodStatus],
        nodes: &Nodes,
    ) -> Result<MadeReplica, Failure> {
        let set = sets.iter().find(|set| set.component == replica.component);
        let set = set.expect("each replica is of a set");
        let name = format!("{}-{}", set.name, replica.number);
        let pod = running.iter().find(|pod| pod.name == name);
        let address = pod.and_then(|pod| pod.pod_ip.as_ref()?.parse::<IpAddr>().ok());
        let (Some(pod), Some(address)) = (pod, address) else {
            return Err(Failure::new(format!("pod {name} has no address")));
        };
        let ports = (FIRST_PORT..).zip(&replica.ports);
        Ok(MadeReplica {
            component: replica.component.clone(),
            number: replica.number,
            address,
            host: set.host(replica.number, &self.namespace),
            ports: ports.map(|(port, name)| (name.clone(), port)).collect(),
            opener: Arc::new(ExecOpener::new(
                self.access.clone(),
                self.namespace.clone(),
                pod,
                BTreeMap::from([(START_LABEL.to_owned(), set.start.clone())]),
                FOLDER,
            )),
            pod: pod_info(PodPlace::from(pod.clone()), &self.namespace, nodes),
        })
    }

    async fn remove_all(&mut self, logs: &Path) -> Vec<String> {
        let Some(up) = self.up.take() else {
            return Vec::new();
        };
        // Until it is known that nothing is left, also if this future is dropped.
        self.has_left = true;
        let mut problems = Vec::new();
        let writing = evidence::write(&self.access, &self.namespace, &up.labels, logs);
        match timeout(EVIDENCE_AT_MOST, writing).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => problems.push(format!("what is known of the pods is not kept: {why}")),
            Err(_) => {
                problems.push("what is known of the pods could not be read in time".to_owned())
            }
        }
        let left = (self.ledger)
            .delete_together(&up.objects, REMOVAL_AT_MOST)
            .await;
        self.has_left = !left.is_empty();
        problems.extend(left.iter().map(ToString::to_string));
        problems
    }
}

impl Site for PodSite {
    fn make<'a>(
        &'a mut self,
        wanted: &'a [WantedReplica],
        deadline: Instant,
    ) -> SiteFuture<'a, Result<Vec<MadeReplica>, Failure>> {
        Box::pin(self.make_all(wanted, deadline))
    }

    fn remove<'a>(&'a mut self, logs: &'a Path) -> SiteFuture<'a, Vec<String>> {
        Box::pin(self.remove_all(logs))
    }

    fn removal_timeout(&self) -> Duration {
        EVIDENCE_AT_MOST + REMOVAL_AT_MOST + REMOVAL_SPARE
    }

    fn end(&mut self) -> SiteFuture<'_, Vec<String>> {
        Box::pin(self.remove_claim())
    }
}

/// The agents of a run have claimed its namespace.
fn has_claim(request: &RunRequest) -> bool {
    let agents = request.study.agents.as_ref();
    agents.is_some_and(|agents| matches!(agents.started, AgentsStarted::InKubernetes(_)))
}

/// A word for a start, by which the objects of two starts and of two runs differ.
fn start_name(run: &str, number: u32) -> String {
    // FNV-1a: the names of two runs differ by their times.
    let hash = run.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{:05x}-{number}", hash & 0xf_ffff)
}

/// A component's name as Kubernetes takes the name of a Service.
fn object_part(component: &str) -> String {
    let letters = component.chars().map(|letter| match letter {
        '_' | '.' => '-',
        letter => letter.to_ascii_lowercase(),
    });
    let name: String = letters.take(NAME_MAX).collect();
    match name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        true => name.trim_end_matches('-').to_owned(),
        false => format!("c{}", name.trim_end_matches('-')),
    }
}

#[cfg(test)]
mod tests {
    use super::{object_part, start_name};

    #[test]
    fn names_are_those_of_services() {
        assert_eq!(object_part("kafka"), "kafka");
        assert_eq!(object_part("order_store"), "order-store");
        assert_eq!(object_part("3d"), "c3d");
        assert_eq!(object_part(&"long".repeat(20)).len(), 40);
    }

    #[test]
    fn two_starts_have_two_names() {
        let first = start_name("ingest-20261129t100000z", 1);
        assert_ne!(first, start_name("ingest-20261129t100000z", 2));
        assert_ne!(first, start_name("ingest-20261129t100001z", 1));
        assert!(first.len() <= 12, "{first}");
    }
}

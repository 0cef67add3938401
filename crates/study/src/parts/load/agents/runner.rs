//! The part `runner` of a study: where the process is that drives the run.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{AgentsStarted, ImagePull, RunnerPod};

use super::{WAIT, WAIT_DEFAULT};
use crate::{
    at::{At, Key},
    check::Checker,
    parts::pods::{
        names::check_name,
        options::{PlaceKeys, PodKeys, SizeKeys, Toleration, cluster_place, pod_options},
    },
    raw::{DurationText, Size},
    tree::quote,
};

/// Where the run is driven from, and its probes are: `waggle run` submits it, shows it, and fetches its folder.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Runner {
    /// It is the pod of a Job. `waggle run --cluster` chooses that, too.
    #[schemars(required)]
    pub kubernetes: Key<Pod>,
}

/// The pod that drives the run. Needs a waggle with support for Kubernetes, and a service account as `waggle cluster rbac` prints it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pod {
    /// The image of this waggle, with its tag or digest.
    #[schemars(required)]
    pub image: Key<String>,
    /// The kubeconfig, relative to the study's folder; by default that of the agents, else of the environment (KUBECONFIG, or
    /// `~/.kube/config`).
    pub kubeconfig: Key<String>,
    /// Which context; that of the agents by default, else the file's `current-context`.
    pub context: Key<String>,
    /// Where the pod is; that of the agents by default, else that of the context. One run has it at a time.
    pub namespace: Key<String>,
    /// The account with the rights of a run; waggle by default.
    pub service_account: Key<String>,
    /// When a node pulls the image; if_not_present by default.
    pub pull: Key<ImagePull>,
    /// Secrets of the namespace with which the image is pulled.
    #[schemars(length(min = 1, max = 10))]
    pub pull_secrets: Key<Vec<At<String>>>,
    /// Whole CPUs, as request and limit; 1 by default. Without agents the load is made with them, too.
    #[schemars(range(min = 1, max = 1_024))]
    pub cpus: Key<u32>,
    /// Memory, as request and limit, from 64MiB; 512MiB by default.
    pub memory: Key<Size>,
    /// Labels that its node has.
    #[schemars(extend("x-waggle-keys" = "label"))]
    pub node_selector: Key<IndexMap<String, At<String>>>,
    /// Taints of nodes that it does not mind.
    #[schemars(length(min = 1, max = 20))]
    pub tolerations: Key<Vec<At<Toleration>>>,
    /// A PersistentVolumeClaim of the namespace, where snapshots of prepared systems are kept from run to run; without it they last as long as
    /// the run.
    pub cache_claim: Key<String>,
    /// How long is waited until it runs; 5m by default.
    pub wait: Key<DurationText>,
}

/// `None`: something in it is wrong, which is reported.
pub(crate) fn runner(
    checker: &mut Checker<'_>,
    given: &At<Runner>,
    agents: Option<&waggle_spec::Agents>,
) -> Option<RunnerPod> {
    let keys = given.value.kubernetes.value()?;
    let pod = pod_options(checker, &keys.pod_keys(), &keys.size_keys());
    let place = cluster_place(checker, &keys.place_keys());
    let account = (keys.service_account)
        .check(|given| check_name(checker, given, "the name of a ServiceAccount"));
    let claim = (keys.cache_claim)
        .check(|given| check_name(checker, given, "the name of a PersistentVolumeClaim"));
    let wait = (keys.wait).check_bounds(WAIT_DEFAULT, WAIT, &mut checker.findings);
    refuse_second_namespace(checker, keys, agents);
    if let Some(why) = agents.and_then(|agents| runner_objection(&agents.started)) {
        let mistake = given.place.key_mistake(why.what);
        checker.report(mistake.with_expected(why.expected));
    }
    Some(RunnerPod {
        place: place?,
        pod: pod?,
        service_account: account?.unwrap_or_else(|| "waggle".to_owned()),
        cache_claim: claim?,
        wait: wait?,
    })
}

/// Agents are where their runner is, because what they are made of belongs to its objects.
fn refuse_second_namespace(
    checker: &mut Checker<'_>,
    keys: &Pod,
    agents: Option<&waggle_spec::Agents>,
) {
    let Some(AgentsStarted::InKubernetes(pods)) = agents.map(|agents| &agents.started) else {
        return;
    };
    if let (Some(given), Some(other)) = (keys.namespace.content(), &pods.place.namespace)
        && given.value != *other
    {
        let what = format!(
            "is {}, and agents.kubernetes.namespace is {}",
            quote(&given.value),
            quote(other)
        );
        let mistake = given.place.mistake(what);
        checker.report(mistake.with_expected("the same namespace, or one of the two keys"));
    }
}

/// Why agents cannot belong to a runner in a cluster.
pub struct RunnerObjection {
    pub what: &'static str,
    pub expected: &'static str,
}

/// Why these agents cannot belong to a runner in a cluster; `None`: they can.
#[must_use]
pub fn runner_objection(agents: &AgentsStarted) -> Option<RunnerObjection> {
    match agents {
        AgentsStarted::InKubernetes(pods) if pods.makes_namespace => Some(RunnerObjection {
            what: "cannot be combined with agents.kubernetes.make_namespace: the namespace has the runner's service account before the run",
            expected: "a namespace that is there",
        }),
        AgentsStarted::InKubernetes(_) => None,
        AgentsStarted::ByHand { .. } | AgentsStarted::BySsh { .. } => Some(RunnerObjection {
            what: "cannot be combined with agents that are no pods: they do not reach a runner in a cluster",
            expected: "agents.kubernetes, or no agents",
        }),
    }
}

impl Pod {
    fn pod_keys(&self) -> PodKeys<'_> {
        PodKeys {
            image: &self.image,
            pull: &self.pull,
            pull_secrets: &self.pull_secrets,
            node_selector: &self.node_selector,
            tolerations: &self.tolerations,
        }
    }

    fn size_keys(&self) -> SizeKeys<'_> {
        SizeKeys {
            cpus: &self.cpus,
            memory: &self.memory,
        }
    }

    fn place_keys(&self) -> PlaceKeys<'_> {
        PlaceKeys {
            kubeconfig: &self.kubeconfig,
            context: &self.context,
            namespace: &self.namespace,
        }
    }
}

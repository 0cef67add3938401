//! What the study and the command line say of a run in a cluster.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Result, bail};
use waggle_runner::path_beside;
use waggle_spec::{AgentPods, AgentsStarted, PodOptions};
use waggle_study::{Cell, Study, runner_objection};

use super::super::pod::submission::RUNS;
use crate::{
    arguments::{InCluster, Run},
    inputs::study::Loaded,
    process::folders,
};

/// How long is waited for the pod, if the study does not say it.
const WAIT_DEFAULT: std::time::Duration = std::time::Duration::from_secs(300);
const SERVICE_ACCOUNT: &str = "waggle";
/// That of a runner whose study does not say it.
const RUNNER_MEMORY_BYTES: u64 = 512 << 20;

/// The pod of a run, and where it is.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) study: String,
    pub(super) place: Place,
    pub(super) pod: PodOptions,
    pub(super) service_account: String,
    pub(super) cache_claim: Option<String>,
    pub(super) wait: std::time::Duration,
    /// Of `waggle`, without the study.
    pub(super) flags: Vec<String>,
    /// Where it is noted what is made, and under which name.
    pub(super) notes: Option<waggle_cluster::Place>,
    pub(super) keeps: bool,
    /// The study drains nodes, whose cordons must go also if the runner's pod is lost.
    pub(super) has_drains: bool,
}

/// A namespace of a cluster, as it is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) context: Option<String>,
    pub(super) namespace: Option<String>,
}

impl Choice {
    /// # Errors
    /// The run cannot be driven from a cluster.
    pub(super) fn new(arguments: &Run, loaded: &Loaded) -> Result<Self> {
        refuse_flags(arguments)?;
        let study = &loaded.study;
        let agents = study.agents.as_ref().map(|agents| &agents.started);
        if let Some(why) = agents.and_then(runner_objection) {
            bail!("agents: {}; expected {}", why.what, why.expected);
        }
        let pods = match agents {
            Some(AgentsStarted::InKubernetes(pods)) => Some(&**pods),
            _ => None,
        };
        refuse_system(loaded)?;
        let place = Place::new(arguments, study, pods);
        let Some(pod) = runner_pod(study, pods) else {
            bail!(
                "--cluster: {} names no image of waggle; expected runner.kubernetes.image in the study",
                arguments.choice.study.display()
            );
        };
        // A system by its URL has no name of its own.
        let system = match loaded.system.external {
            Some(_) => "agents".to_owned(),
            None => loaded.system.name.clone(),
        };
        let notes = folders::cluster_notes();
        Ok(Self {
            study: study.name.clone(),
            place,
            pod,
            service_account: (study.runner.as_ref()).map_or(SERVICE_ACCOUNT.to_owned(), |runner| {
                runner.service_account.clone()
            }),
            cache_claim: (study.runner.as_ref()).and_then(|runner| runner.cache_claim.clone()),
            wait: study
                .runner
                .as_ref()
                .map_or(WAIT_DEFAULT, |runner| runner.wait),
            flags: flags(arguments),
            notes: notes.map(|folder| waggle_cluster::Place { folder, system }),
            keeps: arguments.in_cluster.keep_pods,
            has_drains: study.cells.iter().any(Cell::has_drains),
        })
    }
}

impl Place {
    fn new(arguments: &Run, study: &Study, agents: Option<&AgentPods>) -> Self {
        let given = Self::of_flags(&arguments.in_cluster);
        let places = [
            study.runner.as_ref().map(|runner| &runner.place),
            agents.map(|pods| &pods.place),
            study.system_pods.as_ref().map(|pods| &pods.place),
        ];
        let first = |key: fn(&waggle_spec::ClusterPlace) -> Option<&String>| {
            places.iter().flatten().find_map(|place| key(place))
        };
        let kubeconfig = first(|place| place.kubeconfig.as_ref());
        let kubeconfig = kubeconfig.map(|file| path_beside(&arguments.choice.study, file));
        Self {
            kubeconfig: given.kubeconfig.or(kubeconfig),
            context: (given.context).or_else(|| first(|place| place.context.as_ref()).cloned()),
            namespace: (given.namespace)
                .or_else(|| first(|place| place.namespace.as_ref()).cloned()),
        }
    }

    pub(super) fn of_flags(flags: &InCluster) -> Self {
        Self {
            kubeconfig: flags.kubeconfig.clone(),
            context: flags.cluster.clone().flatten(),
            namespace: flags.namespace.clone(),
        }
    }
}

/// The pod of the runner, as the study says it, or else like an agent, or of the system's image; `None`: no image is named.
fn runner_pod(study: &Study, agents: Option<&AgentPods>) -> Option<PodOptions> {
    if let Some(runner) = &study.runner {
        return Some(runner.pod.clone());
    }
    if let Some(agents) = agents {
        // Its CPUs are those of an agent, which the runner does not need.
        return Some(PodOptions {
            cpus: 1,
            ..agents.pod.clone()
        });
    }
    let pods = study.system_pods.as_ref()?;
    Some(PodOptions {
        image: pods.image.clone(),
        pull: pods.pull,
        pull_secrets: pods.pull_secrets.clone(),
        cpus: 1,
        memory_bytes: RUNNER_MEMORY_BYTES,
        // The nodes of the system are not those of its load.
        node_selector: BTreeMap::new(),
        tolerations: Vec::new(),
    })
}

/// The flags of the run in the pod.
fn flags(arguments: &Run) -> Vec<String> {
    let choice = &arguments.choice;
    let mut words = vec!["--no-live".to_owned(), "--runs".to_owned(), RUNS.to_owned()];
    for level in &choice.filter {
        words.extend(["--filter".to_owned(), level.to_string()]);
    }
    if let Some(seed) = choice.seed {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    let given = [
        (choice.quick, "--quick"),
        (choice.pilot, "--pilot"),
        (arguments.strict, "--strict"),
        (arguments.in_cluster.keep_pods, "--keep-pods"),
    ];
    let given = given.iter().filter(|(is_given, _)| *is_given);
    words.extend(given.map(|(_, flag)| (*flag).to_owned()));
    words
}

/// What is about files of this machine, or about more than one run.
fn refuse_flags(arguments: &Run) -> Result<()> {
    let (choice, comparison) = (&arguments.choice, &arguments.comparison);
    let files = &comparison.files;
    let given = [
        ("--against", !choice.against.is_empty()),
        ("--resume", arguments.resume.is_some()),
        ("--times", arguments.repeated.times.is_some()),
        ("--idle-poll", arguments.idle_poll),
        (
            "--metrics-listen",
            arguments.export.metrics_listen.is_some(),
        ),
        ("--otlp", arguments.export.otlp.is_some()),
        ("--baseline", comparison.baseline.is_some()),
        ("--margin", comparison.judgement.margin.is_some()),
        ("--metric", !comparison.judgement.metric.is_empty()),
        ("--html", files.html.is_some()),
        ("--markdown", files.markdown.is_some()),
        ("--json", files.json.is_some()),
        ("--junit", files.junit.is_some()),
        ("--summary-file", files.summary_file.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag @ ("--junit" | "--summary-file" | "--baseline"), _)) => bail!(
            "{flag} cannot be combined with a run in a cluster: give the fetched folder to `waggle report` or `waggle compare`"
        ),
        Some((flag, _)) => bail!("{flag} cannot be combined with a run in a cluster"),
    }
}

/// The system is pods or made of manifests in the cluster, or runs already, where the pod reaches it.
fn refuse_system(loaded: &Loaded) -> Result<()> {
    let system = &loaded.system;
    let components = system.components.iter();
    let started = components
        .clone()
        .find(|component| component.external.is_none() && component.workload.is_none())
        .filter(|_| loaded.study.system_pods.is_none());
    if let (Some(component), None) = (started, &system.external) {
        bail!(
            "system {}: waggle would start {} in the pod of the runner, which systems are not for; a run in a cluster needs a system of \
             pods (system.pods), of manifests or a chart, or one that runs already, by system.url or with all of its components under \
             system.external",
            system.name,
            component.name
        );
    }
    let server = system
        .external
        .iter()
        .map(|server| match &server.connect_to {
            Some(address) => address.host.clone(),
            None => server.host.clone(),
        });
    let ports = components.flat_map(|component| component.external.iter().flatten());
    let ports = ports.flat_map(|port| port.at.iter().map(|address| address.host.clone()));
    match server.chain(ports).find(|host| is_loopback(host)) {
        None => Ok(()),
        Some(host) => bail!(
            "system {}: {host} is the pod itself in a cluster; a run there needs an address that its pods reach, and a forwarded port is \
             none: it carries control and files, and a load would measure it",
            system.name
        ),
    }
}

fn is_loopback(host: &str) -> bool {
    let address: Option<std::net::IpAddr> = host.parse().ok();
    address.map_or(
        host == "localhost" || host.ends_with(".localhost"),
        |address| address.to_canonical().is_loopback(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::run::resume_command::tests::flags as run_flags;

    #[test]
    fn flags_of_the_plan_go_to_the_pod_and_others_are_refused() {
        let given = run_flags(&[
            "--cluster",
            "--filter",
            "size=1",
            "--seed",
            "7",
            "--quick",
            "--strict",
        ]);
        refuse_flags(&given).unwrap();
        let expected = "--no-live --runs runs --filter size=1 --seed 7 --quick --strict";
        assert_eq!(flags(&given).join(" "), expected);
        let check = |given: &[&str], words: &str| {
            let error = refuse_flags(&run_flags(given)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        check(
            &["--times", "3"],
            "--times cannot be combined with a run in a cluster",
        );
        check(&["--resume"], "--resume cannot be combined");
        check(
            &["--junit", "x.xml"],
            "give the fetched folder to `waggle report`",
        );
    }

    #[test]
    fn addresses_of_this_machine_are_not_those_of_a_pod() {
        for host in [
            "127.0.0.1",
            "::1",
            "localhost",
            "shop.localhost",
            "::ffff:127.0.0.1",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["10.0.0.1", "shop.default.svc", "localhost.example"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}

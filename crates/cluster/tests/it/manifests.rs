//! Every manifest that waggle writes, as YAML.

use std::{path::Path, time::Duration};

use waggle_cluster::{
    ClusterRight, IndexedJob, KindRight, MountedSecret, PodShape, PullPolicy, ReplicaSet,
    Resources, RunnerJob, Spread, Toleration, network_policy, rbac,
};

/// Compares a text with its file in `tests/golden`. With `UPDATE_GOLDEN` set it is written first.
#[track_caller]
fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "{name} is not what the code says:\n{text}");
}

/// A small Job.
pub(crate) fn agents(name: &str) -> IndexedJob {
    IndexedJob {
        name: name.into(),
        pod: PodShape {
            image: "lab/waggle:1".into(),
            resources: Resources::Whole {
                cpus: 1,
                memory_bytes: 256 << 20,
            },
            ..PodShape::default()
        },
        count: 2,
        apart_from: [].into(),
        apart_from_namespaces: Vec::new(),
        spread: Spread::default(),
        deadline: Duration::from_secs(3600),
        kept: Duration::from_secs(7200),
    }
}

#[test]
fn agents_with_every_choice() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let job = IndexedJob {
        pod: PodShape {
            pull_policy: PullPolicy::Always,
            pull_secrets: vec!["registry".into()],
            command: vec!["/usr/local/bin/waggle".into()],
            arguments: vec![
                "agent".into(),
                "--join".into(),
                "/run/join/join.json".into(),
            ],
            environment: [pair("TZ", "UTC")].into(),
            environment_from_secrets: [("TOKEN".into(), pair("waggle-r1", "token"))].into(),
            secrets: vec![MountedSecret {
                secret: "waggle-r1".into(),
                folder: "/run/join".into(),
            }],
            scratch: Some(("/tmp".into(), 1 << 30)),
            resources: Resources::Whole {
                cpus: 4,
                memory_bytes: 1_500_000_000,
            },
            node_selector: [pair("pool", "load")].into(),
            tolerations: vec![
                Toleration {
                    key: "dedicated".into(),
                    value: Some("load".into()),
                    effect: Some("NoSchedule".into()),
                },
                Toleration {
                    key: String::new(),
                    value: None,
                    effect: None,
                },
            ],
            labels: [pair("waggle/trial", "007")].into(),
            ..agents("").pod
        },
        count: 10,
        apart_from: [pair("app", "shop")].into(),
        apart_from_namespaces: vec!["shop".into()],
        spread: Spread::OneOnEach,
        ..agents("waggle-r1-agents")
    };
    check("agents-every-choice.yaml", &job.yaml());
}

#[test]
fn agents_by_default() {
    check("agents.yaml", &agents("waggle-r1-agents").yaml());
    let preferred = IndexedJob {
        spread: Spread::Preferred,
        ..agents("waggle-r1-agents")
    };
    check("agents-preferred.yaml", &preferred.yaml());
}

pub(crate) fn replicas(spread: Spread) -> ReplicaSet {
    ReplicaSet {
        name: "kafka-1a2b3-1".into(),
        component: "kafka".into(),
        start: "1a2b3-1".into(),
        pod: PodShape {
            command: vec!["/usr/local/bin/waggle".into(), "serve".into()],
            scratch: Some(("/waggle".into(), 1 << 30)),
            resources: Resources::Limits {
                cpus: Some(0.5),
                memory_bytes: None,
            },
            ..agents("").pod
        },
        replicas: 3,
        beside_agents: false,
        spread,
        storage_class: None,
    }
}

#[test]
fn replicas_of_a_component() {
    check("replicas.yaml", &replicas(Spread::Preferred).yaml("r1"));
    let volumes = ReplicaSet {
        beside_agents: true,
        storage_class: Some("fast".into()),
        ..replicas(Spread::OneOnEach)
    };
    check("replicas-volumes.yaml", &volumes.yaml("r1"));
    assert_eq!(
        volumes.host(2, "load"),
        "kafka-1a2b3-1-2.kafka-1a2b3-1.load.svc"
    );
}

#[test]
fn the_runner() {
    let job = RunnerJob {
        name: "waggle-r1-runner".into(),
        pod: PodShape {
            node_variable: "NODE".into(),
            ..agents("").pod
        },
        service_account: "waggle".into(),
        deadline: Duration::from_secs(86_400),
        kept: Duration::from_secs(7200),
    };
    check("runner.yaml", &job.yaml());
}

#[test]
fn rights_and_traffic() {
    check("rbac.yaml", &rbac("bench", &[], &[]));
    check(
        "rbac-nodes.yaml",
        &rbac("bench", &[ClusterRight::NodeFacts], &[]),
    );
    let kinds = [("", "services"), ("apps", "deployments")].map(|(group, resource)| KindRight {
        group: group.into(),
        resource: resource.into(),
    });
    let drains = [ClusterRight::Drains];
    check("rbac-drain.yaml", &rbac("bench", &drains, &[]));
    check(
        "rbac-system.yaml",
        &rbac("bench", &[ClusterRight::NodeFacts], &kinds),
    );
    check(
        "network-policy.yaml",
        &network_policy("bench", Some("shop"), 7411),
    );
    check(
        "network-policy-outside.yaml",
        &network_policy("bench", None, 7411),
    );
}

//! `system.pods`: its defaults, the parts of a study that stay beside it, and systems that cannot be pods.

use waggle_spec::{ClusterPlace, ImagePull, PodSpread, SystemPods};
use waggle_study::{Study, read_study, read_system};

use super::{STUDY, SYSTEM, change_text, headlines, source};

/// The fixture with the key, and the changed system.
fn read(pods: &str, changes: &[(&str, &str)]) -> Result<Study, Vec<String>> {
    let system = read_system(&source("system.yaml", change_text(SYSTEM, changes)));
    let system = system.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let used = format!("  use: shop\n{pods}");
    let text = change_text(STUDY, &[("  use: shop\n", &used)]);
    read_study(&source("study.yaml", text), &system).map_err(|mistakes| headlines(&mistakes))
}

#[test]
fn keys_that_are_not_given_have_their_defaults() {
    let study = read("  pods: { image: 'r/shop:1' }\n", &[]).unwrap();
    let expected = SystemPods {
        place: ClusterPlace::default(),
        image: "r/shop:1".to_owned(),
        pull: ImagePull::IfNotPresent,
        pull_secrets: Vec::new(),
        node_selector: [].into(),
        tolerations: Vec::new(),
        beside_agents: false,
        spread: PodSpread::Preferred,
        scratch_bytes: 10 << 30,
        storage_class: None,
    };
    assert_eq!(study.system_pods, Some(expected));
    assert_eq!(read("", &[]).unwrap().system_pods, None);
}

#[test]
fn nodes_are_selected_by_any_label() {
    let pods = "  pods: { image: 'r/shop:1', node_selector: { kubernetes.io/arch: amd64, 'disk.is_fast': yes } }\n";
    let labels = read(pods, &[]).unwrap().system_pods.unwrap().node_selector;
    let expected = [("disk.is_fast", "yes"), ("kubernetes.io/arch", "amd64")];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(labels, expected.into());
}

#[test]
fn limits_and_components_that_run_already_may_be_beside_pods() {
    let more = "  limits: { front: { cpus: 0.5, memory: 1GiB } }\n  external: { store: { tcp: \"127.0.0.1:7\" } }\n";
    let pods =
        "  pods: { image: 'r/shop:1', spread: one_on_each, storage_class: fast, scratch: 1GiB }\n";
    let study = read(&format!("{pods}{more}"), &[]).unwrap();
    let pods = study.system_pods.unwrap();
    assert_eq!(pods.spread, PodSpread::OneOnEach);
    assert_eq!(pods.storage_class.as_deref(), Some("fast"));
    assert_eq!(pods.scratch_bytes, 1 << 30);
    assert_eq!(study.external.len(), 1);
}

#[test]
fn systems_with_tls_and_names_that_a_cluster_does_not_take_are_refused() {
    let check = |changes: &[(&str, &str)], expected: &str| {
        let mistakes = read("  pods: { image: 'r/shop:1' }\n", changes).unwrap_err();
        assert!(
            mistakes.iter().any(|line| line.contains(expected)),
            "{mistakes:#?}"
        );
    };
    check(
        &[("components:\n", "certificates: { shop: {} }\ncomponents:\n")],
        "system.pods cannot be combined with this system, which has certificates, ports with TLS or a kubeconfig: TLS of systems as pods \
         is not supported",
    );
    check(
        &[("verify:\n", "kubeconfig: front\nverify:\n")],
        "TLS of systems as pods is not supported",
    );
    let twins = "components:\n  a-b:\n    ports: [tcp]\n    process: { command: [x] }\n    ready: { tcp: { port: tcp } }\n  \
         a_b:\n    ports: [tcp]\n    process: { command: [x] }\n    ready: { tcp: { port: tcp } }\n";
    check(
        &[("components:\n", twins)],
        "system.pods cannot be combined with components a-b and a_b, which are both a-b in a cluster",
    );
    let capital = twins.replace("a-b", "Store2").replace("a_b", "last-");
    for name in ["Store2", "last-"] {
        check(
            &[("components:\n", &capital)],
            &format!(
                "cannot be combined with component {name}, whose name is no name of a StatefulSet"
            ),
        );
    }
}

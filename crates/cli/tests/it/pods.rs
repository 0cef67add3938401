//! A study whose system is pods: what is said of it here, where nothing of the system is.

use std::{fs, path::Path};

use crate::workspace::{Workspace, output_text};

/// A study of the orders, of which this machine has no program.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.system("orders");
    let file = workspace.path().join("systems/orders/system.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let parts = [
        (
            "  fault:\n",
            "  stores: { summary: how many, integer: { min: 1, max: 9 }, default: 1 }\n  fault:\n",
        ),
        (
            "  store:\n",
            "  store_of_orders:\n    replicas: ${stores}\n",
        ),
        ("component: store\n", "component: store_of_orders\n"),
        ("component: store,", "component: store_of_orders,"),
        ("${program.orders}", "${program.of-the-image}"),
    ];
    let text = parts.iter().fold(text, |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    });
    fs::write(&file, text).unwrap();
    let study = "study: pods\nquestion: What is started where?\nfactors: { stores: [1, 3] }\n\
        system:\n  use: orders\n  pods:\n    image: registry.example/orders:1\n    namespace: load\n    scratch: 1GiB\n\
        load: { model: open, rate: 10/s, request: { name: list, get: /stock } }\n\
        schedule: { warm_up: 1s, measure: 3s, repeat: 1 }\n";
    fs::write(workspace.path().join("study.yaml"), study).unwrap();
    workspace
}

#[test]
fn the_plan_of_a_system_as_pods_names_stateful_sets_and_no_command() {
    let workspace = workspace();
    let output = workspace.output(&["plan", "study.yaml", "--commands"]);
    let said = output_text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in [
        "system as pods of registry.example/orders:1 in Kubernetes, in namespace load; ",
        "on no node of an agent; up to 1GiB on the disk of its node for each",
        "  StatefulSet store-of-orders: 1 to 3 replicas",
        "it starts no programs",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for part in ["left out", "of-the-image"] {
        assert!(!said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_run_of_pods_is_for_a_cluster_and_searches_no_program_here() {
    let workspace = workspace();
    let mut run = workspace.waggle(&["run", "study.yaml"]);
    let output = run.env("KUBECONFIG", Path::new("nowhere.yaml")).output();
    let output = output.unwrap();
    let said = output_text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let expected = match cfg!(feature = "cluster") {
        true => "nowhere.yaml",
        false => "Kubernetes",
    };
    assert!(said.contains(expected), "{said}");
    assert!(!said.contains("not installed"), "{said}");
}

#[test]
fn versions_of_this_machine_are_refused_for_pods() {
    let workspace = workspace();
    let check = |flags: &[&str], expected: &str| {
        let output = workspace.output(&[&["plan", "study.yaml"], flags].concat());
        let said = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    check(
        &["--against", "program.store_of_orders=/bin/true"],
        "--against: /bin/true is of this machine, and the components of the study are pods",
    );
    check(
        &["--against", "fault=three", "--design", "duet"],
        "--design duet cannot be combined with system.pods",
    );
}

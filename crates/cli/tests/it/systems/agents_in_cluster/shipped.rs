//! Shipped systems as pods, by the files that start them as processes: the shop over both of its transports, and one technology of
//! each runtime. `tests/cluster/systems` runs all of them, once.

use std::{fs, os::unix::fs::symlink, path::Path};

use waggle_analysis::Model;
use waggle_results::Run;

use super::{
    bench::{Bench, bench},
    pods::{SystemImage, grant, import_image, run, wait_until_empty},
};
use crate::workspace::{Workspace, output_text};

/// All of a system is on this node, which alone gets its image.
const NODE: &str = "n1";
/// A native program, Go, Node.js, Python, Erlang and Java.
const TECHNOLOGIES: [&str; 6] = ["axum", "go", "fastify", "fastapi", "cowboy", "vertx"];
const SHOP_LOAD: &str = "
factors: { transport: [rest, rabbitmq] }
load:
  model: users
  users: 2
  think_time: 200ms
  scenario: { file: data/buying.yaml, endpoint: shop }
delivery: { probes: orders, poll_interval: 200ms }
thresholds: [delivery.missing == 0, delivery.duplicates == 0, my-order.failed == 0]
";
const TECHNOLOGIES_LOAD: &str = "
load:
  model: closed
  connections: 2
  request: { name: random, get: '/random?num=5', expect: { status: 200 } }
thresholds: [random.failed == 0]
";

/// A study of a shipped system in a namespace of its own, which has the system's name.
fn study(bench: &Bench, image: &SystemImage<'_>, load: &str) -> Workspace {
    let SystemImage { system, name, .. } = image;
    let kubeconfig = bench.cluster.kubeconfig();
    let text = format!(
        "study: pods\nquestion: Does it answer as pods?\nsystem:\n  use: {system}\n  pods:\n    image: {name}\n    pull: never\n    \
         namespace: {system}\n    kubeconfig: {}\n    scratch: 1GiB\n    node_selector: {{ kubernetes.io/hostname: {node} }}\n\
         runner:\n  kubernetes: {{ image: '{name}', pull: never, node_selector: {{ kubernetes.io/hostname: {node} }} }}\n\
         schedule: {{ quiet_timeout: 0s, ready_timeout: 5m, warm_up: 500ms, measure: 2s, interval: 100ms, repeat: 1, \
         drain: {{ timeout: 60s }} }}{load}",
        kubeconfig.display(),
        node = bench.cluster.node_name(NODE),
    );
    let workspace = Workspace::new();
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let project = fs::canonicalize(project).unwrap();
    let place = Path::new("systems").join(system);
    symlink(project.join(&place), workspace.path().join(place)).unwrap();
    symlink(project.join("studies/data"), workspace.path().join("data")).unwrap();
    bench.namespace(system);
    grant(bench, &workspace, system);
    workspace
}

/// Makes the image and runs the study with it. No trial fails, all thresholds hold, and nothing is left.
#[track_caller]
fn measure(image: &SystemImage<'_>, load: &str) -> Model {
    let bench = bench();
    let workspace = study(bench, image, load);
    import_image(bench, &workspace, image);
    let ran = run(bench, &workspace);
    let said = output_text(&ran);
    let results = Run::read(&workspace.run_folder()).unwrap();
    let model = waggle_analysis::model(&results);
    for trial in &model.trials {
        assert_eq!(trial.failure, None, "{said}");
    }
    assert_eq!(ran.status.code(), Some(0), "{said}");
    wait_until_empty(bench, image.system);
    model
}

#[test]
fn the_shop_sells_as_pods_over_both_transports_in_cluster() {
    let image = SystemImage {
        system: "webapp",
        name: "localhost/waggle/webapp:1",
        levels: &[],
        nodes: &[NODE],
    };
    let model = measure(&image, SHOP_LOAD);
    assert_eq!(model.trials.len(), 2);
    for trial in &model.trials {
        let ledger = trial.info.ledger.as_ref().unwrap();
        assert!(ledger.accepted > 0, "{ledger:?}");
        assert_eq!((ledger.missing, ledger.unexpected), (0, 0), "{ledger:?}");
    }
}

#[test]
fn a_technology_of_each_runtime_answers_as_a_pod_in_cluster() {
    let levels = TECHNOLOGIES.map(|technology| format!("technology={technology}"));
    let image = SystemImage {
        system: "technologies",
        name: "localhost/waggle/technologies:1",
        levels: &levels.each_ref().map(String::as_str),
        nodes: &[NODE],
    };
    let factors = format!("\nfactors: {{ technology: [{}] }}", TECHNOLOGIES.join(", "));
    let model = measure(&image, &(factors + TECHNOLOGIES_LOAD));
    assert_eq!(model.trials.len(), TECHNOLOGIES.len());
}

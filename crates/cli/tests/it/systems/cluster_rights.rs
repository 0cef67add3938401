//! `waggle cluster`, and what killed runs left in Kubernetes clusters. A build without the feature says that it has none of this.

use std::fs;
#[cfg(feature = "cluster")]
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

#[cfg(feature = "cluster")]
use super::waggle;
use super::{output, workspace};
use crate::workspace::output_text;

const NO_SUPPORT: &str = "this build of waggle has no Kubernetes support; build it with `--features cluster`, or take a package";

#[test]
fn rights_and_policies_are_printed() {
    let workspace = workspace();
    let rights = output(
        &workspace,
        &["cluster", "rbac", "--namespace", "bench", "--nodes"],
    );
    let policies = output(
        &workspace,
        &["cluster", "network-policy", "--system-namespace", "shop"],
    );
    if !cfg!(feature = "cluster") {
        assert_eq!(rights.status.code(), Some(2));
        assert!(output_text(&rights).contains(NO_SUPPORT));
        return;
    }
    let text = output_text(&rights);
    assert_eq!(rights.status.code(), Some(0), "{text}");
    assert!(
        text.contains("kind: Role\nmetadata:\n  name: waggle\n  namespace: bench\n"),
        "{text}"
    );
    assert!(text.contains("kind: ClusterRole\n"), "{text}");
    let text = output_text(&policies);
    assert!(text.contains("namespace: waggle\n"), "{text}");
    assert!(text.contains("kubernetes.io/metadata.name: shop"), "{text}");
}

/// The folder of the program helm, which is built if it is not there.
#[cfg(feature = "cluster")]
pub(super) fn helm_folder() -> PathBuf {
    let fetch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/helm/fetch");
    assert!(Command::new(&fetch).status().unwrap().success());
    let folder = Command::new(&fetch).arg("--folder").output().unwrap();
    PathBuf::from(String::from_utf8(folder.stdout).unwrap().trim())
}

/// The chart of the project is rendered by helm with levels of parameters, which its schema checks.
#[cfg(feature = "cluster")]
#[test]
fn rights_of_a_chart_are_those_for_its_objects() {
    let workspace = workspace();
    let folder = workspace.path().join("systems/chart");
    fs::create_dir_all(&folder).unwrap();
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gateway/deploy");
    let copied = Command::new("cp")
        .arg("-r")
        .args([
            deploy.join("chart/waggle-ingest"),
            deploy.join("examples/embedded.yaml"),
        ])
        .arg(&folder)
        .status();
    assert!(copied.unwrap().success());
    let rights = |replicas: i64| {
        let text = format!(
            "system: chart\nsummary: The gateway.\nparameters:\n  replicas: {{ summary: how many, integer: {{ min: -9, max: 9 }}, \
             default: {replicas} }}\nhelm:\n  chart: waggle-ingest\n  release: shop\n  values: embedded.yaml\n  set: {{ \
             gateway.replicas: '${{replicas}}' }}\npatches:\n  deployment/shop-waggle-ingest-gateway: {{ spec.replicas: '${{replicas}}' \
             }}\ncomponents:\n  gateway: {{ workload: deployment/shop-waggle-ingest-gateway, ports: [http] }}\nendpoints:\n  gateway: {{ \
             component: gateway, port: http }}\n"
        );
        fs::write(folder.join("system.yaml"), text).unwrap();
        let arguments = ["cluster", "rbac", "--system", "systems/chart/system.yaml"];
        let path = env::var("PATH").unwrap();
        waggle(&workspace, &arguments)
            .env("PATH", format!("{}:{path}", helm_folder().display()))
            .output()
            .unwrap()
    };
    let printed = rights(1);
    let text = output_text(&printed);
    assert_eq!(printed.status.code(), Some(0), "{text}");
    for words in [
        "apiGroups: [\"apps\"]\n    resources: [deployments]\n    verbs: [get, create, patch, delete]",
        "resources: [services]\n    verbs: [get, create, patch, delete]",
        "resources: [persistentvolumeclaims]",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    let refused = rights(-3);
    let text = output_text(&refused);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("helm template waggle-ingest: "), "{text}");
    assert!(text.contains("replicas"), "{text}");
}

/// The kubeconfig of a killed run is needed again, and is not there: its objects are named, and stay noted.
#[test]
fn what_cannot_be_removed_from_a_cluster_stays_noted() {
    let workspace = workspace();
    let folder = workspace
        .path()
        .join("state/waggle/created-in-clusters/fetched");
    fs::create_dir_all(&folder).unwrap();
    let kubeconfig = workspace.path().join("gone.kubeconfig");
    let noted = serde_json::json!({
        "kubeconfig": kubeconfig,
        "context": "lab",
        "server": "https://192.0.2.1:6443",
        "run": "r1",
        "pid": 1,
        "made": [{ "kind": "Job", "namespace": "bench", "name": "agents-r1", "uid": "1" }],
    });
    let file = folder.join("1-1.json");
    fs::write(&file, noted.to_string()).unwrap();
    let ended = output(&workspace, &["system", "down", "fetched"]);
    let text = output_text(&ended);
    assert_eq!(ended.status.code(), Some(2), "{text}");
    assert!(file.exists());
    if !cfg!(feature = "cluster") {
        assert!(text.contains(NO_SUPPORT), "{text}");
        return;
    }
    assert!(text.contains("gone.kubeconfig"), "{text}");
    let advice = format!(
        "when it is gone from lab (https://192.0.2.1:6443), delete {}: Job agents-r1 in namespace bench",
        file.display()
    );
    assert!(text.contains(&advice), "{text}");
}

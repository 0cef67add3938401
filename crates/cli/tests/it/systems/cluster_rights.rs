//! `waggle cluster`, and what killed runs left in Kubernetes clusters. A build without the feature says that it has none of this.

use std::fs;

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

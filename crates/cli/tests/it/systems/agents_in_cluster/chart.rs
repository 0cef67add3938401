//! The chart of the gateway as a system: installed from a registry, with its store on a volume, killed and upgraded under load.

use std::{env, fs, os::unix::fs::symlink, path::Path};

use waggle_analysis::Model;
use waggle_results::Run;
use waggle_spec::FaultKind;
use waggle_testkit::Registry;

use super::bench::{Bench, bench};
use crate::{
    systems::cluster_rights::helm_folder,
    workspace::{Workspace, output_text},
};

const SYSTEM: &str = "
system: chart
summary: The gateway as its chart deploys it, with the embedded store.
parameters:
  image_tag: { summary: version of the gateway, text: {}, default: '1' }
  topic: { summary: topic of the load, text: {}, default: plant }
helm:
  chart: ./waggle-ingest
  release: readings
  values: values.yaml
  set: { image.tag: '${image_tag}' }
components:
  gateway: { workload: deployment/readings-waggle-ingest-gateway, service: readings-waggle-ingest-gateway, ports: [http] }
endpoints:
  records: { component: gateway, port: http }
";
/// A volume on the disk of a node: the cluster has no class of volumes.
const VOLUME: &str = "
apiVersion: v1
kind: PersistentVolume
metadata: { name: readings }
spec:
  capacity: { storage: 1Gi }
  accessModes: [ReadWriteOnce]
  claimRef: { namespace: chart, name: readings-waggle-ingest-store }
  local: { path: /mnt/data/readings }
  nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: topology.kubernetes.io/zone, operator: In, values: [zone-1] }] }] } }
";

/// The image of the gateway in a registry, as two versions.
fn push(bench: &Bench, workspace: &Workspace, registry: &Registry) {
    bench.strip_gateway();
    bench.cluster.allow_registry(registry.address());
    for tag in ["1", "2"] {
        let to = format!("{}/waggle/gateway:{tag}", registry.address());
        let insecure = registry.address().to_string();
        let arguments = ["cluster", "image", "waggle-gateway", "--push", &to];
        let insecure = ["--insecure-registry", &insecure];
        let mut command = bench.waggle(workspace, &[&arguments[..], &insecure].concat());
        // Packages of the base are kept there.
        match env::var_os("XDG_CACHE_HOME") {
            Some(cache) => command.env("XDG_CACHE_HOME", cache),
            None => command.env_remove("XDG_CACHE_HOME"),
        };
        let made = command.output().unwrap();
        assert!(made.status.success(), "{}", output_text(&made));
    }
}

/// The part of a system's file that begins with this line, up to the next one that is not indented.
fn part<'t>(text: &'t str, begin: &str) -> &'t str {
    let from = text.find(begin).unwrap();
    let after = from + begin.len();
    let rest = text[after..].split_inclusive('\n');
    let length: usize = rest
        .take_while(|line| line.trim().is_empty() || line.starts_with(' '))
        .map(str::len)
        .sum();
    &text[from..after + length]
}

fn write_system(workspace: &Workspace, registry: &Registry) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let project = fs::canonicalize(project).unwrap();
    let folder = workspace.path().join("systems/chart");
    fs::create_dir_all(&folder).unwrap();
    symlink(
        project.join("gateway/deploy/chart/waggle-ingest"),
        folder.join("waggle-ingest"),
    )
    .unwrap();
    let values = format!(
        "image: {{ repository: '{}/waggle/gateway' }}\nbackend: embedded\ngateway:\n  insecure: true\n  replicas: 1\n  autoscaling: {{ enabled: false }}\n  \
         preStopSeconds: 1\n  store: {{ size: 1Gi }}\n  resources: {{ requests: {{ cpu: 100m, memory: 64Mi }}, limits: {{ cpu: '1', \
         memory: 512Mi }} }}\nsink: {{ enabled: false }}\n",
        registry.address()
    );
    fs::write(folder.join("values.yaml"), values).unwrap();
    // It is read and checked as that of the ingest system.
    let ingest = fs::read_to_string(project.join("systems/ingest/system.yaml")).unwrap();
    let probe = part(&ingest, "probes:\n")
        .split("  broker:")
        .next()
        .unwrap();
    let probe = probe.replace("    when: { backend: embedded }\n", "");
    let verify = "verify:\n  - { name: a reading is accepted, endpoint: records, put: /api/v1/topics/waggle-verify/records, body: 'verify,host=a \
                  value=1.5 1700000000000000001', expect: { status: 204 } }\n";
    fs::write(
        folder.join("system.yaml"),
        format!("{SYSTEM}{probe}{verify}"),
    )
    .unwrap();
}

fn study(bench: &Bench, registry: &Registry) -> Workspace {
    bench.namespace("chart");
    let external = format!(
        "use: ingest\n  set: {{ topic: chart }}\n  external: {{ gateway: {{ http: '{}' }} }}",
        bench.gateway_address()
    );
    let faults = "repeat: 1, drain: { timeout: 60s } }\nfaults:\n  - { kill: gateway, at: 1s, restart_after: 0s }\n  \
                  - { upgrade: gateway, at: 15s, set: { image_tag: '2' } }";
    let changes = [
        (external.as_str(), "use: chart\n  set: { topic: chart }"),
        ("count: 3", "count: 1"),
        ("rate: 300/s", "rate: 60/s"),
        ("measure: 2s", "measure: 36s"),
        ("quiet_timeout: 0s", "quiet_timeout: 0s, ready_timeout: 3m"),
        ("repeat: 1, drain: { timeout: 60s } }", faults),
    ];
    let workspace = bench.study_of_records("chart", &changes);
    write_system(&workspace, registry);
    let rights = ["cluster", "rbac", "--nodes", "--namespace", "chart"];
    let system = ["--system", "systems/chart/system.yaml"];
    let mut rights = bench.waggle(&workspace, &[&rights[..], &system].concat());
    let rights = rights.env("PATH", path_with_helm()).output().unwrap();
    assert!(rights.status.success(), "{}", output_text(&rights));
    bench
        .cluster
        .apply(&String::from_utf8(rights.stdout).unwrap());
    workspace
}

fn path_with_helm() -> String {
    let path = env::var("PATH").unwrap();
    format!("{}:{path}", helm_folder().display())
}

/// What was accepted is there after both faults, whose times are known.
#[track_caller]
fn check_trial(said: &str, model: &Model) {
    let [trial] = &model.trials[..] else {
        panic!("{said}");
    };
    assert_eq!(trial.failure, None, "{said}");
    let faults = trial.info.faults.iter();
    let kinds: Vec<FaultKind> = faults.map(|fault| fault.kind).collect();
    assert_eq!(kinds, [FaultKind::Kill, FaultKind::Upgrade], "{said}");
    let mut faults = trial.info.faults.iter();
    assert!(faults.all(|fault| fault.ready_s > Some(fault.begun_s)));
    let ledger = trial.info.ledger.as_ref().unwrap();
    assert!(ledger.accepted > 0, "{ledger:?}");
    assert_eq!((ledger.missing, ledger.unexpected), (0, 0), "{ledger:?}");
}

#[test]
fn the_chart_of_the_gateway_is_killed_and_upgraded_and_loses_nothing_in_cluster() {
    let bench = bench();
    let registry = Registry::start_on(bench.cluster.host());
    let workspace = study(bench, &registry);
    push(bench, &workspace, &registry);
    let folder = ["mkdir", "--parents", "/mnt/data/readings"];
    bench.cluster.node_command("n1", &folder);
    bench.cluster.apply(VOLUME);
    let mut command = bench.waggle(&workspace, &["run", "study.yaml", "--cluster"]);
    let ran = command.env("PATH", path_with_helm()).output().unwrap();
    let said = output_text(&ran);
    let folder = workspace.run_folder();
    check_trial(&said, &waggle_analysis::model(&Run::read(&folder).unwrap()));
    let page = fs::read_to_string(folder.join("report.md")).unwrap();
    assert!(page.contains("upgrade of gateway"), "{page}");
    let kinds =
        "deployments,services,serviceaccounts,poddisruptionbudgets,persistentvolumeclaims,pods";
    let made = [
        "get",
        kinds,
        "--namespace=chart",
        "--selector=waggle/run",
        "--output=name",
    ];
    assert_eq!(bench.cluster.kubectl(&made), "");
}

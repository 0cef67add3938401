//! A system that is manifests or a chart: read without a mistake, filled with levels, and every mistake.

use std::{collections::BTreeMap, path::Path};

use waggle_study::{
    FaultAction, Level, ManifestSource, System, parameter_levels, read_study, read_system,
};

use super::{STUDY, change_text, headlines, mistakes::answered_table, source};

const SHOP: &str = r#"
system: shop
summary: A shop that others deploy.
parameters:
  backend: { summary: where, one_of: [files], default: files }
  workers: { summary: how many, integer: { min: 1, max: 8 }, default: 2 }
  memory: { summary: of each, size: { min: 1MiB, max: 1GiB }, default: 64MiB }
  tag: { summary: which version, text: {}, default: "1.2" }
helm:
  chart: ./chart
  release: shop-1
  values: values.yaml
  set: { gateway.replicas: "${workers}", image.tag: "v${tag}" }
namespace: lab
patches:
  deployment/front:
    spec.replicas: ${workers}
    "spec.template.spec.containers[name=front].resources.limits.memory": ${memory}
wait: { kafka/events: Ready }
components:
  front: { workload: Deployment/front, service: front, ports: [http] }
  store: { workload: statefulset/store, ports: [tcp] }
endpoints:
  front: { component: front, port: http }
  metrics: { component: front, port: http }
probes:
  store:
    component: store
    port: tcp
    tail:
      get: /records?offset=${offset}&limit=${limit}
    limit: 10
    extract:
      offset: { after: o }
      time: { after: t }
      run: { after: r }
      key: { after: k }
verify:
  - { name: front, endpoint: front, get: / }
"#;

fn system() -> System {
    read_system(&source("system.yaml", SHOP)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn parameters_are_values_of_charts_and_of_patches() {
    let system = system();
    let given = [("workers", "4"), ("memory", "1MiB")];
    let given = given.map(|(name, level)| (name.to_owned(), level.to_owned()));
    let levels = parameter_levels(&system, &given).unwrap();
    let manifests = system.manifests.as_ref().unwrap();
    let filled = manifests.fill(&system.parameters, &levels);
    let ManifestSource::Chart(chart) = &filled.source else {
        panic!("{filled:?}");
    };
    let text = |text: &str| Level::Text(text.to_owned());
    let set = [
        ("gateway.replicas".to_owned(), Level::Integer(4)),
        ("image.tag".to_owned(), text("v1.2")),
    ];
    assert_eq!(chart.set, set);
    let [patch] = &filled.patches[..] else {
        panic!("{filled:?}");
    };
    assert_eq!(patch.object.to_string(), "deployment/front");
    let values: Vec<&Level> = patch.fields.iter().map(|(_, value)| value).collect();
    assert_eq!(values, [&Level::Integer(4), &Level::Integer(1 << 20)]);
    assert_eq!(filled.namespace.as_deref(), Some("lab"));
    assert_eq!(filled.conditions[0].0.to_string(), "kafka/events");
    let workload = system.components[0].workload.as_ref().unwrap();
    assert_eq!(workload.object.to_string(), "deployment/front");
    assert_eq!(workload.service.as_deref(), Some("front"));
}

#[test]
fn files_take_the_place_of_a_chart() {
    let begin = SHOP.find("helm:").unwrap();
    let end = SHOP.find("namespace:").unwrap();
    let text = SHOP.replace(&SHOP[begin..end], "manifests: [k8s/, ./more.yaml]\n");
    let system = read_system(&source("system.yaml", text)).unwrap();
    let source = system.manifests.unwrap().source;
    let files = ["k8s", "./more.yaml"].map(str::to_owned);
    assert_eq!(source, ManifestSource::Files(files.to_vec()));
}

#[test]
fn every_mistake_of_manifests() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/manifests-mistakes.txt");
    answered_table(&path, SHOP, &|text| {
        read_system(&source("system.yaml", text)).err()
    });
}

const FAULTS: &str = "faults:
  - { upgrade: front, at: 2s, set: { tag: '2' } }
  - { upgrade: front, at: 1s, set: { workers: '${connections}' } }
  - { drain: store, replica: 1, at: 1500ms }
  - { upgrade: store, at: 2500ms }
delivery: {";

fn text_with_faults() -> String {
    let changes = [
        ("connections: [2, 10]", "connections: [2, 5]"),
        ("delivery: {", FAULTS),
    ];
    change_text(STUDY, &changes)
}

#[test]
fn an_upgrade_keeps_what_earlier_ones_have_set() {
    let study = read_study(&source("study.yaml", text_with_faults()), &system());
    let study = study.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let cell = &study.cells[0];
    let names: Vec<String> = cell
        .faults
        .iter()
        .map(|fault| format!("{} {}", fault.kind().name(), fault.name()))
        .collect();
    let expected = [
        "upgrade front",
        "drain store-1",
        "upgrade front",
        "upgrade store",
    ];
    assert_eq!(names, expected);
    assert!(cell.has_drains());
    let level = |levels: &BTreeMap<String, Level>, name: &str| levels[name].to_string();
    let levels = cell.upgraded_levels();
    // The last one replaces pods by others that are the same.
    let [first, second] = levels[..] else {
        panic!("{levels:?}");
    };
    assert_eq!(
        (level(first, "workers"), level(first, "tag")),
        ("2".into(), "1.2".into())
    );
    assert_eq!(
        (level(second, "workers"), level(second, "tag")),
        ("2".into(), "2".into())
    );
    let FaultAction::Upgrade { set, .. } = &cell.faults[2].action else {
        panic!("{:?}", cell.faults);
    };
    assert_eq!(set.keys().collect::<Vec<_>>(), ["tag"]);
}

#[test]
fn every_mistake_of_faults_of_manifests() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/faults-of-manifests-mistakes.txt");
    let text = SHOP
        .replace("tag: {", "kind: { summary: which, one_of: [plain, full], default: plain }\n  tag: {")
        .replace(
            "  store: {",
            "  each: { workload: daemonset/each, ports: [tcp] }\n  late: { when: { kind: full }, workload: deployment/late, ports: [tcp] }\n  store: {",
        );
    let system = read_system(&source("system.yaml", text)).unwrap();
    answered_table(&path, &text_with_faults(), &|text| {
        read_study(&source("study.yaml", text), &system).err()
    });
}

#[test]
fn what_is_for_processes_is_no_part_of_a_study_of_manifests() {
    let changes = [
        (
            "  set: { backend: files }\n",
            "  set: { backend: files }\n  limits: { front: { cpus: 1 } }\n  cpuset: [0]\n",
        ),
        (
            "delivery: {",
            "faults: [{ kill: front, replica: 1, at: 1s, restart_after: 500ms }]\nnetwork: { delay: 1ms }\ndelivery: {",
        ),
    ];
    let text = change_text(STUDY, &changes);
    let mistakes = read_study(&source("study.yaml", text), &system()).unwrap_err();
    let lines = headlines(&mistakes).join("\n");
    for expected in [
        "system.limits is for processes, and the system is manifests or a chart; expected the key to be left out, or patches in the system",
        "system.cpuset is for processes",
        "network is for processes",
        "is 500ms, and Kubernetes replaces a pod at once; expected 0s for a workload",
    ] {
        assert!(lines.contains(expected), "{expected} is not in\n{lines}");
    }
}

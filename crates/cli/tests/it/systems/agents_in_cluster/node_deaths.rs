//! A node that dies under load: with a replica that waggle has made, which ends the trial, and with a broker of the user's manifests, which
//! is an event from outside that must lose nothing.

use std::{fs, path::Path};

use waggle_results::Run;
use waggle_testkit::wait_until;

use super::{
    bench::{Bench, Running, bench},
    pods::{
        GATEWAY_IMAGE, KAFKA_IMAGE, SystemImage, import_image, ingest_image, log,
        study as study_of_pods, without_agents,
    },
};
use crate::workspace::Workspace;

/// A toleration of the taint of node 4, as YAML.
const TOLERATED: &str = "[{ key: test, value: node-dies, effect: NoSchedule }]";
const MEASURES: &str = "· measure ";

#[test]
fn a_replica_whose_node_dies_is_named_with_it_in_cluster() {
    let bench = bench();
    let _fourth = bench.take_fourth_node();
    let fourth = bench.cluster.node_name("n4");
    let place = format!(
        "scratch: 256MiB\n    node_selector: {{ place: fourth }}\n    tolerations: {TOLERATED}"
    );
    let runner = format!(
        "runner:\n  kubernetes: {{ image: '{}', pull: never }}\nload:",
        super::bench::IMAGE
    );
    let changes = [
        ("scratch: 256MiB", place.as_str()),
        ("measure: 5s", "measure: 5m"),
        ("load:", &runner),
    ];
    let workspace = study_of_pods(bench, "lost-node", &changes);
    without_agents(&workspace);
    let image = SystemImage {
        nodes: &["n4"],
        ..ingest_image(GATEWAY_IMAGE, &["backend=embedded"])
    };
    import_image(bench, &workspace, &image);
    let run = ["run", "study.yaml", "--no-live"];
    let mut running = Running::start_command(bench.waggle(&workspace, &run), &workspace);
    running.wait_for(MEASURES);
    bench.cluster.service("n4", "node", "kill");
    running.wait_for("nothing was heard of it for 30 s: pod ");
    bench.start_fourth_node();
    assert_ne!(running.exit_code(), Some(0));
    let said = running.text();
    assert!(said.contains(&format!(" on node {fourth}: ")), "{said}");
    assert!(log(&workspace, "pods.txt").contains(&fourth), "{said}");
    let down = bench.waggle(&workspace, &["system", "down", "ingest"]);
    assert!({ down }.output().unwrap().status.success());
    super::pods::wait_until_empty(bench, "lost-node");
}

const SYSTEM: &str = r#"
system: brokers
summary: Kafka on three nodes, and a gateway before it, as somebody has deployed them.
parameters:
  topic: { summary: topic of the load, text: {}, default: plant }
manifests: [k8s/]
components:
  kafka: { workload: statefulset/kafka, ports: [broker] }
  gateway: { workload: deployment/gateway, service: gateway, ports: [http] }
endpoints:
  records: { component: gateway, port: http }
probes:
  broker:
    component: kafka
    port: broker
    kafka: { topic: "${topic}" }
    extract:
      run: { after: waggle_run= }
      key: { after: waggle_key= }
verify:
  - name: readings are accepted by every broker
    endpoint: records
    put: "/api/v1/topics/${topic}/records"
    body: "@READINGS@"
    expect: { status: 204 }
    timeout: 60s
"#;

/// Three brokers on three nodes, of which one is the fourth, and a gateway on the first.
const OBJECTS: &str = "
apiVersion: v1
kind: ConfigMap
metadata: { name: kafka }
data:
  server.properties: |
    process.roles=broker,controller
    node.id=@REPLICA@
    listeners=PLAINTEXT://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093
    advertised.listeners=PLAINTEXT://kafka-@REPLICA@.kafka:9092,CONTROLLER://kafka-@REPLICA@.kafka:9093
    listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
    inter.broker.listener.name=PLAINTEXT
    controller.listener.names=CONTROLLER
    log.dirs=/tmp/log
    default.replication.factor=3
    offsets.topic.replication.factor=3
    offsets.topic.num.partitions=1
    auto.create.topics.enable=false
---
apiVersion: v1
kind: Service
metadata: { name: kafka }
spec: { clusterIP: None, publishNotReadyAddresses: true, selector: { app: kafka }, ports: [{ name: broker, port: 9092 }] }
---
apiVersion: v1
kind: Service
metadata: { name: gateway }
spec: { selector: { app: gateway }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: kafka }
spec:
  replicas: 3
  serviceName: kafka
  podManagementPolicy: Parallel
  selector: { matchLabels: { app: kafka } }
  template:
    metadata: { labels: { app: kafka } }
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: { test: node-dies }
      tolerations: @TOLERATED@
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: kubernetes.io/hostname, labelSelector: { matchLabels: { app: kafka } } }] } }
      containers:
        - name: kafka
          image: @IMAGE@
          imagePullPolicy: Never
          env: [{ name: KAFKA_HEAP_OPTS, value: -Xms384m -Xmx384m }]
          command: [/bin/sh, -c]
          args:
            - sed \"s/@REPLICA@/${HOSTNAME##*-}/g\" /config/server.properties > /tmp/server.properties &&
              exec /opt/waggle/system/start-kafka @SERVER@/kafka-storage.sh @SERVER@/kafka-server-start.sh /tmp/server.properties @CONTROLLERS@ 3
          ports: [{ name: broker, containerPort: 9092 }]
          readinessProbe: { tcpSocket: { port: 9092 }, periodSeconds: 1 }
          volumeMounts: [{ name: config, mountPath: /config }]
      volumes: [{ name: config, configMap: { name: kafka } }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: gateway }
spec:
  selector: { matchLabels: { app: gateway } }
  template:
    metadata: { labels: { app: gateway } }
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: { topology.kubernetes.io/zone: zone-1 }
      containers:
        - name: gateway
          image: localhost/waggle/gateway:1
          imagePullPolicy: Never
          args: [serve, '--listen=0.0.0.0:8080', --insecure, '--workers=1', --backend=kafka, '--kafka-brokers=@BROKERS@', --kafka-create-topics, --kafka-partitions=4, --kafka-acks=all]
          readinessProbe: { httpGet: { path: /readyz, port: 8080 }, periodSeconds: 1 }
";
const SERVER: &str = "/opt/waggle/servers/kafka-4.1.2/bin";

/// With a reading of so many series that each partition has one: a broker may lead a partition before it can be reached.
fn system() -> String {
    let readings = ('a'..='z').map(|host| format!("verify,host={host} value=1 1"));
    let readings: Vec<String> = readings.collect();
    SYSTEM.replace("@READINGS@", &readings.join("\\n"))
}

fn objects() -> String {
    let pods = ["kafka-0", "kafka-1", "kafka-2"];
    let addresses = |port: u16| pods.map(|pod| format!("{pod}.kafka:{port}")).join(",");
    OBJECTS
        .replace("@IMAGE@", KAFKA_IMAGE)
        .replace("@TOLERATED@", TOLERATED)
        .replace("@SERVER@", SERVER)
        .replace("@CONTROLLERS@", &addresses(9093))
        .replace("@BROKERS@", &addresses(9092))
}

/// Accounts for what three agents send while a broker is lost with its node. Its pod is not dead to Kubernetes for some minutes.
fn study_of_brokers(bench: &Bench) -> Workspace {
    bench.namespace("lost-broker");
    let external = format!(
        "use: ingest\n  set: {{ topic: lost-broker }}\n  external: {{ gateway: {{ http: '{}' }} }}",
        bench.gateway_address()
    );
    let changes = [
        (
            external.as_str(),
            "use: brokers\n  set: { topic: lost-broker }",
        ),
        ("rate: 300/s", "rate: 30/s"),
        // A node is not ready 16 s after it was last heard of (tests/cluster).
        ("measure: 2s", "measure: 40s"),
        ("quiet_timeout: 0s", "quiet_timeout: 0s, ready_timeout: 3m"),
        ("probes: store", "probes: broker"),
        ("drain: { timeout: 60s }", "drain: { timeout: 120s }"),
    ];
    let workspace = bench.study_of_records("lost-broker", &changes);
    let folder = workspace.path().join("systems/brokers");
    fs::create_dir_all(folder.join("k8s")).unwrap();
    fs::write(folder.join("system.yaml"), system()).unwrap();
    fs::write(folder.join("k8s/brokers.yaml"), objects()).unwrap();
    let rights = ["cluster", "rbac", "--nodes", "--namespace", "lost-broker"];
    let system = ["--system", "systems/brokers/system.yaml"];
    let mut rights = bench.waggle(&workspace, &[&rights[..], &system].concat());
    let rights = rights.output().unwrap();
    bench
        .cluster
        .apply(&String::from_utf8(rights.stdout).unwrap());
    workspace
}

#[test]
fn a_broker_that_is_lost_with_its_node_loses_no_record_in_cluster() {
    let bench = bench();
    let _fourth = bench.take_fourth_node();
    let workspace = study_of_brokers(bench);
    let image = SystemImage {
        nodes: &["n2", "n3", "n4"],
        ..ingest_image(KAFKA_IMAGE, &["backend=kafka", "writer=sink"])
    };
    import_image(bench, &workspace, &image);
    let run = ["run", "study.yaml", "--cluster", "--no-live"];
    let mut running = Running::start_command(bench.waggle(&workspace, &run), &workspace);
    running.wait_for(MEASURES);
    bench.cluster.service("n4", "node", "kill");
    // After the account its pods are removed, and that on the dead node only when it is back.
    let deleted = "--output=jsonpath={.items[*].metadata.deletionTimestamp}";
    let list = [
        "get",
        "pods",
        "--namespace=lost-broker",
        "--selector=app=kafka",
        deleted,
    ];
    wait_until("the brokers are removed", || {
        !bench.cluster.kubectl(&list).is_empty()
    });
    bench.start_fourth_node();
    running.exit_code();
    let said = running.text();
    let folder = workspace.run_folder();
    let model = waggle_analysis::model(&Run::read(&folder).unwrap());
    let [trial] = &model.trials[..] else {
        panic!("{said}");
    };
    assert_eq!(trial.failure, None, "{said}");
    assert_eq!(trial.info.agents.len(), 3);
    let ledger = trial.info.ledger.as_ref().unwrap();
    assert!(ledger.accepted > 0, "{ledger:?}");
    assert_eq!(ledger.missing, 0, "{ledger:?}");
    // The gateway says 503 of what the lost broker did not confirm in time, and that may be written nevertheless.
    assert_eq!(ledger.unexpected, ledger.rejected_delivered, "{ledger:?}");
    let events = file_below(&folder, "events.txt");
    assert!(events.contains("Node is not ready"), "{events}");
    let fourth = bench.cluster.node_name("n4");
    assert!(file_below(&folder, "pods.json").contains(&fourth), "{said}");
}

/// Text of the file of this name below a folder.
fn file_below(folder: &Path, name: &str) -> String {
    fs::read_to_string(super::manifests::find(folder, name)).unwrap()
}

//! Agents as the pods of an Indexed Job, on a real cluster of three nodes: the load that they make, and each way in which that fails
//! ends in a sentence and an empty namespace.

mod bench;
mod chart;
mod manifests;
mod node_deaths;
mod pods;
mod runner;
mod shipped;

use std::fs;

use waggle_analysis::Model;
use waggle_load::NullServer;
use waggle_results::AgentInfo;
use waggle_testkit::{Cluster, wait_until};

use self::bench::{ANSWER, Bench, IMAGE, Running, WRONG_CLOCK, bench};
use crate::workspace::{Workspace, output_text};

/// What a run of five minutes says in its measured phase.
const MEASURES: &str = "measure 5 m";
const NODES: [&str; 3] = ["n1", "n2", "n3"];
/// An account whose rights lack all but the lease.
const READER: &str = "
{ apiVersion: v1, kind: ServiceAccount, metadata: { name: reader, namespace: right } }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader, namespace: right }
rules:
  - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, create, update, patch, delete] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: reader, namespace: right }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ kind: ServiceAccount, name: reader, namespace: right }]
";

/// The node of each agent, in the order of the agents.
fn nodes(bench: &Bench, model: &Model) -> Vec<&'static str> {
    let mut hosts: Vec<_> = model.info.agents.iter().collect();
    hosts.sort_by_key(|host| host.number);
    let names = hosts
        .iter()
        .map(|host| &host.pod.as_ref().unwrap().node_name);
    let node = |name: &String| {
        let mut nodes = NODES.into_iter().chain(["n4"]);
        nodes.find(|node| bench.cluster.node_name(node) == *name)
    };
    names.map(|name| node(name).unwrap()).collect()
}

/// The true offset of a node's clock is within the bounds of what was measured.
#[track_caller]
fn check_clock(agent: &AgentInfo, node: &str) {
    let ahead_ms = Cluster::clock_ahead(node).as_secs_f64() * 1e3;
    let (before, after) = (agent.offset_ms - ahead_ms, agent.offset_after_ms - ahead_ms);
    assert!(before.abs() <= agent.offset_bound_ms, "{node}: {agent:?}");
    assert!(
        after.abs() <= agent.offset_after_bound_ms,
        "{node}: {agent:?}"
    );
    assert!(
        agent.drift_ppm.abs() <= agent.drift_bound_ppm,
        "{node}: {agent:?}"
    );
}

/// One agent on each node made the load of a trial that did not fail.
#[track_caller]
fn check_load(bench: &Bench, workspace: &Workspace, said: &str, model: &Model) {
    let trial = &model.trials[0];
    assert_eq!(trial.failure, None, "{said}");
    let mut nodes = nodes(bench, model);
    nodes.sort_unstable();
    assert_eq!(nodes, NODES);
    assert_eq!(trial.info.agents.len(), 3);
    assert!(
        trial
            .info
            .agents
            .iter()
            .all(|agent| agent.first_sent_ms.is_some()),
        "{said}"
    );
    let folder = workspace.run_folder();
    let logs = fs::read_dir(folder.join("agents")).unwrap().count();
    assert_eq!(logs, 4, "three logs and the events");
    let page = fs::read_to_string(folder.join("report.md")).unwrap();
    assert!(page.contains("Guaranteed"), "{page}");
}

/// One node is far from the others, and loses frames.
#[test]
fn agents_at_a_distance_make_one_load_of_a_server_by_its_url() {
    let bench = bench();
    bench.namespace("distance");
    let workspace = bench.study("distance", &[]);
    bench.cluster.distance("n2", &["5ms", "1ms", "0.01"]);
    let ran = bench.run(&workspace);
    bench.cluster.distance("n2", &["off"]);
    let model = workspace.report_of(&ran);
    check_load(bench, &workspace, &output_text(&ran), &model);
    let agents = &model.trials[0].info.agents;
    for (agent, node) in agents.iter().zip(nodes(bench, &model)) {
        check_clock(agent, node);
        if node == "n2" {
            assert!(agent.offset_bound_ms >= 5.0, "{agent:?}");
        }
    }
    bench.assert_empty("distance");
}

#[test]
fn agents_deliver_records_to_a_deployment() {
    let bench = bench();
    bench.namespace("records");
    let workspace = bench.study_of_records("records", &[]);
    let ran = bench.run(&workspace);
    let model = workspace.report_of(&ran);
    check_load(bench, &workspace, &output_text(&ran), &model);
    let info = &model.trials[0].info;
    for (agent, node) in info.agents.iter().zip(nodes(bench, &model)) {
        check_clock(agent, node);
    }
    let ledger = info.ledger.as_ref().unwrap();
    assert!(ledger.accepted > 0, "{ledger:?}");
    assert_eq!((ledger.missing, ledger.unexpected), (0, 0), "{ledger:?}");
    bench.assert_empty("records");
}

/// A date of last year does not keep an agent out; a clock that goes too fast is found, because delays are between clocks.
#[test]
fn a_wrong_clock_is_measured_and_named() {
    let bench = bench();
    bench.namespace("clock");
    let workspace = bench.study_of_records(
        "clock",
        &[("study: pods", &format!("study: {WRONG_CLOCK}"))],
    );
    let ran = bench.run(&workspace);
    let model = workspace.report_of(&ran);
    check_load(bench, &workspace, &output_text(&ran), &model);
    let nodes = nodes(bench, &model);
    let agents = &model.trials[0].info.agents;
    check_clock(&agents[0], nodes[0]);
    check_clock(&agents[2], nodes[2]);
    let wrong = &agents[1];
    let drift_ppm = wrong.drift_ppm - 20_000.0;
    assert!(drift_ppm.abs() <= wrong.drift_bound_ppm + 1.0, "{wrong:?}");
    let days = (wrong.wall_offset_ms / 86_400e3).round();
    assert_eq!(days, -400.0, "{wrong:?}");
    let page = fs::read_to_string(workspace.run_folder().join("report.md")).unwrap();
    let words = [
        "the clock of agent 2 of 3 (waggle-",
        " parts per million fast, more than 500",
    ];
    for words in words {
        assert!(page.contains(words), "{words} in {page}");
    }
    bench.assert_empty("clock");
}

#[test]
fn an_image_that_is_not_there_is_named() {
    let bench = bench();
    bench.namespace("image");
    bench.check_refused(
        "image",
        &[(IMAGE, "localhost/waggle/agent:2")],
        &["0 of 3 pods of waggle-", "agent:2", "ErrImageNeverPull"],
    );
}

/// It lets two of three agents in.
#[test]
fn a_quota_that_is_too_small_is_named() {
    let bench = bench();
    bench.namespace("quota");
    let quota = ["create", "quota", "cpus", "--hard=requests.cpu=2"];
    bench
        .cluster
        .kubectl(&[&quota[..], &["--namespace=quota"]].concat());
    bench.check_refused("quota", &[], &["quota"]);
}

#[test]
fn a_right_that_is_missing_is_named() {
    let bench = bench();
    bench.namespace("right");
    bench.cluster.apply(READER);
    let limited = bench.cluster.account_kubeconfig("right", "reader");
    let all = bench.cluster.kubeconfig();
    bench.check_refused(
        "right",
        &[(all.to_str().unwrap(), limited.to_str().unwrap())],
        &[
            "the verb \"create\" for \"configmaps\" is missing",
            "waggle cluster rbac",
        ],
    );
}

/// The gateway has one of three nodes, so the third agent has none.
#[test]
fn a_pod_that_no_node_takes_is_named() {
    let bench = bench();
    bench.namespace("apart");
    let apart = "pull: never\n    apart_from: { app: gateway }\n    apart_from_namespaces: [shop]";
    bench.check_refused(
        "apart",
        &[("pull: never", apart), ("wait: 3m", "wait: 30s")],
        &[
            "2 of 3 pods of waggle-",
            "each node has a pod on it that must not share its node with this one",
        ],
    );
}

#[test]
fn an_agent_that_does_not_reach_the_runner_is_named() {
    let bench = bench();
    bench.namespace("runner");
    let address = bench.free_address();
    bench.block("n3", address, "REJECT");
    let listen = format!("listen: {address}");
    let any = format!("listen: {}:0", bench.cluster.host());
    let node = format!(" on {}): ", bench.cluster.node_name("n3"));
    bench.check_refused(
        "runner",
        &[(&any, &listen), ("wait: 3m", "wait: 30s")],
        &[
            "2 of 3 agents had joined after 30 s: ",
            &node,
            &format!("the runner of pods cannot be reached, and is tried for 60 s: {address}: Connection refused"),
        ],
    );
}

#[test]
fn an_agent_that_does_not_reach_the_system_is_named() {
    let bench = bench();
    bench.namespace("system");
    let server = NullServer::start((bench.cluster.host(), 0).into(), ANSWER).unwrap();
    bench.block("n2", server.address(), "REJECT");
    let url = format!("http://{}", server.address());
    let workspace = bench.study("system", &[(&bench.url(), &url)]);
    let ran = bench.run(&workspace);
    let model = workspace.report_of(&ran);
    let place = nodes(bench, &model).iter().position(|node| *node == "n2");
    let agent = format!("from agent {} (waggle-pods-", place.unwrap() + 1);
    let reason = &model.trials[0].failure.as_ref().unwrap().reason;
    assert!(reason.contains(&agent), "{agent} in {reason}");
    assert!(reason.contains("refused"), "{reason}");
    assert_eq!(ran.status.code(), Some(5), "{reason}");
    bench.assert_empty("system");
}

/// A run that was killed leaves a Job, which `waggle system down` removes.
#[test]
fn what_a_killed_run_left_is_removed() {
    let bench = bench();
    bench.namespace("killed");
    let workspace = bench.study("killed", &[("measure: 2s", "measure: 5m")]);
    let mut running = Running::start(bench, &workspace);
    let list = ["get", "pods", "--namespace", "killed", "--output", "name"];
    wait_until("the agents", || {
        bench.cluster.kubectl(&list).lines().count() == 3
    });
    running.kill();
    remove_agents(bench, &workspace, "killed");
}

#[track_caller]
fn remove_agents(bench: &Bench, workspace: &Workspace, namespace: &str) {
    let mut down = bench.waggle(workspace, &["system", "down", "agents"]);
    let down = down.output().unwrap();
    assert_eq!(down.status.code(), Some(0), "{}", output_text(&down));
    bench.assert_empty(namespace);
}

/// The trial failed by the agent on this node; returns the reason.
#[track_caller]
fn check_lost(bench: &Bench, workspace: &Workspace, node: &str) -> String {
    let model = workspace.model();
    let place = nodes(bench, &model).iter().position(|name| *name == node);
    let agent = format!("agent {} of 3 (waggle-pods-", place.unwrap() + 1);
    let reason = &model.trials[0].failure.as_ref().unwrap().reason;
    assert!(reason.contains(&agent), "{agent} in {reason}");
    reason.clone()
}

/// Its packets are lost, so that nothing closes its connection.
#[test]
fn an_agent_that_falls_silent_is_named() {
    let bench = bench();
    bench.namespace("silent");
    let address = bench.free_address();
    let any = format!("listen: {}:0", bench.cluster.host());
    let listen = format!("listen: {address}");
    let changes = [
        (any.as_str(), listen.as_str()),
        ("measure: 2s", "measure: 5m"),
    ];
    let workspace = bench.study("silent", &changes);
    let mut running = Running::start(bench, &workspace);
    running.wait_for(MEASURES);
    bench.block("n2", address, "DROP");
    let code = running.exit_code();
    let reason = check_lost(bench, &workspace, "n2");
    // By the connection of the load or by that of the clocks.
    assert!(reason.contains(" nothing for 10 s"), "{reason}");
    assert_eq!(code, Some(5), "{reason}");
    bench.assert_empty("silent");
}

/// What cannot be removed from the node that is gone is said, and is removed when it is back.
#[test]
fn an_agent_whose_node_dies_is_named() {
    let bench = bench();
    let _fourth = bench.take_fourth_node();
    bench.namespace("node");
    let nodes = "pull: never\n    node_selector: { test: node-dies }\n    tolerations: [{ key: test, value: node-dies, effect: NoSchedule }]";
    let changes = [("measure: 2s", "measure: 5m"), ("pull: never", nodes)];
    let workspace = bench.study("node", &changes);
    let mut running = Running::start(bench, &workspace);
    running.wait_for(MEASURES);
    bench.cluster.service("n4", "node", "kill");
    let code = running.exit_code();
    check_lost(bench, &workspace, "n4");
    let said = running.text();
    assert_eq!(code, Some(5), "{said}");
    let words = "if the node does not come back: kubectl ";
    assert!(said.contains(words), "{said}");
    // Those of the others are not lost with it.
    let logs = fs::read_dir(workspace.run_folder().join("agents")).unwrap();
    assert_eq!(logs.count(), 4, "{said}");
    bench.start_fourth_node();
    remove_agents(bench, &workspace, "node");
}

//! A network of its own for each trial: load and system are in it, the machine's stays as it is, and what cannot be had is refused.

use std::{
    fs,
    os::unix::process::CommandExt,
    process::{Command, Output},
};

use waggle_analysis::Model;
use waggle_testkit::not_tested;

use crate::workspace::{Workspace, output_text};

/// The user and group without rights.
const NOBODY: u32 = 65_534;

fn workspace(network: &str, load: &str, rest: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.system("answering");
    let study = format!(
        "study: networks\nquestion: What does the network do?\nsystem: {{ use: answering }}\n\
         network: {network}\n\
         load:\n  {load}\n  request: {{ name: get, get: /, timeout: 20s }}\n\
         schedule: {{ repeat: 1, warm_up: 0s, measure: 1s, interval: 100ms }}\n{rest}"
    );
    fs::write(workspace.path().join("study.yaml"), study).unwrap();
    workspace
}

/// One client with as many requests as connections, a new one for each.
fn clients(network: &str, connections: u32, keys: &str) -> Workspace {
    let load = format!(
        "model: clients\n  clients: 1\n  connections: {connections}\n  requests: {connections}\n  \
         keep_alive: false\n  {keys}"
    );
    let workspace = workspace(network, &load, "");
    let study = workspace.path().join("study.yaml");
    let text = fs::read_to_string(&study).unwrap();
    let by_clients = text.replace("warm_up: 0s, measure: 1s", "measure: 60s");
    fs::write(&study, by_clients).unwrap();
    workspace
}

fn successes_of(model: &Model) -> Vec<u64> {
    let trials = model.trials.iter();
    trials
        .map(|trial| {
            trial
                .numbers
                .as_ref()
                .map_or(0, |numbers| numbers.counts.succeeded)
        })
        .collect()
}

const CLOSED: &str = "model: closed\n  connections: 4";

#[test]
fn load_and_system_meet_in_a_network_of_their_own() {
    let workspace = workspace(
        "{ sysctl: { net.core.somaxconn: \"${queue}\", net.ipv4.tcp_syncookies: 0 } }",
        CLOSED,
        "factors: { queue: [7, 9] }\nthresholds: ['network.listen_overflows >= 0', 'network.resets >= 0']\n",
    );
    let before = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let planned = output_text(&workspace.output(&["plan", "study.yaml"]));
    assert!(
        planned.contains("each trial has a network of its own, of 2 kinds"),
        "{planned}"
    );
    let model = workspace.run();
    assert!(
        successes_of(&model).iter().all(|count| *count > 0),
        "{model:#?}"
    );
    for trial in &model.trials {
        let network = trial.info.network.as_ref().unwrap();
        let queue = trial.levels[0].1.clone();
        assert_eq!(network.sysctl["net.core.somaxconn"], queue);
        assert_eq!(network.sysctl["net.ipv4.tcp_syncookies"], "0");
        assert!(network.counts.is_some());
    }
    let report = fs::read_to_string(workspace.run_folder().join("report.md")).unwrap();
    for queue in [7, 9] {
        let setting = format!("net.core.somaxconn = {queue}");
        assert!(report.contains(&setting), "{report}");
    }
    let after = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    assert_eq!(before, after, "the machine's own network is as it was");
}

/// 15,000 bytes pass at once and 80 kbit are 10,000 bytes per second; an answer has some 160 bytes, its request some 60 and each
/// packet 54 more.
#[test]
fn a_rate_limits_what_passes() {
    let workspace = workspace("{ rate: 80kbit }", CLOSED, "");
    let model = workspace.run();
    let passed = successes_of(&model)[0];
    assert!((1..=200).contains(&passed), "{passed}");
    let network = model.trials[0].info.network.as_ref().unwrap();
    assert_eq!((network.rate_bits_per_s, network.mtu), (Some(80_000), 1500));
}

/// A queue of four connections, which is emptied by one thread, and clients that open 400 at once: some find it full.
#[test]
fn full_queues_of_listeners_are_counted() {
    let settings = "{ sysctl: { net.core.somaxconn: 4, net.ipv4.tcp_syncookies: 0 } }";
    let model = clients(settings, 400, "on_socket_error: end_client").run();
    let counts = model.trials[0]
        .info
        .network
        .as_ref()
        .unwrap()
        .counts
        .unwrap();
    assert!(counts.listen_drops > 0, "{counts:?}");
}

/// Several addresses have more ports for connections to one port than one has. In this network an address has 100.
#[test]
fn connections_come_from_several_addresses() {
    let settings = "{ sysctl: { net.ipv4.ip_local_port_range: 40000 40099 } }";
    let run = |addresses: &str| {
        let keys = format!("on_socket_error: count\n  {addresses}");
        successes_of(&clients(settings, 250, &keys).run())[0]
    };
    let alone = run("");
    assert!(alone <= 200, "{alone}");
    assert_eq!(run("source_addresses: [127.0.0.2-127.0.0.5]"), 250);
}

#[test]
fn what_the_kernel_does_not_have_is_refused_before_anything_starts() {
    let check = |network: &str, expected: &str| {
        let workspace = workspace(network, CLOSED, "");
        let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
        let text = output_text(&ran);
        assert_eq!(ran.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
    };
    check(
        "{ sysctl: { net.core.no_such_setting: 1 } }",
        "network.sysctl: net.core.no_such_setting cannot be set: the kernel has no such setting",
    );
    check(
        "{ sysctl: { net.ipv4.tcp_syncookies: many } }",
        "network.sysctl: net.ipv4.tcp_syncookies cannot be set: the kernel refuses the value many",
    );
}

/// Without root it is a user namespace. Where the kernel refuses that, too, the run says so before it starts anything.
#[test]
fn a_user_without_rights_has_networks_or_a_reason() {
    let workspace = workspace("{ sysctl: { net.core.somaxconn: 7 } }", CLOSED, "");
    open_to_all(&workspace);
    let arguments = ["run", "study.yaml", "--quiet", "--trust", "."];
    let mut command: Command = workspace.waggle(&arguments);
    command.env("XDG_CACHE_HOME", workspace.path());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let ran: Output = command.output().unwrap();
    let text = output_text(&ran);
    if text.contains("a network namespace cannot be made") {
        assert_eq!(ran.status.code(), Some(2), "{text}");
        not_tested(
            "networks of a user without rights",
            "the kernel makes no network namespace for one",
        );
        return;
    }
    let model = workspace.report_of(&ran);
    assert!(successes_of(&model)[0] > 0, "{text}");
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Lets every user write in the folder.
fn open_to_all(workspace: &Workspace) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(workspace.path(), fs::Permissions::from_mode(0o777)).unwrap();
}

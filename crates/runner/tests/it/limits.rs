//! Limits of components by the cgroups of this machine; where it has none that may be used, the same studies are refused.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::process::{Signal, kill_process};
use waggle_results::{LimitMeans, PhaseName, Run, TrialEnd};
use waggle_testkit::{Lines, not_tested, wait_until};

use super::{
    Bench, one_store,
    orphans::{assert_all_gone, pid_of},
    study,
};

const STORE: &str = "[STORE, '${port.http}']";
/// A loop that would use a whole CPU, for as long as its component runs. Its limits are so low that a busy machine gives it more.
const BURNER: &str = "[sh, -c, 'while :; do :; done & exec STORE $0', '${port.http}']";
/// Takes memory without end; without its limit it would end at 1 GB.
const HOG: &str =
    "[sh, -c, 'STORE $0 & sleep 1; ulimit -v 1000000; exec tail /dev/zero', '${port.http}']";

/// The system of a store with a second component.
fn system(second: &str, limits: &str) -> String {
    let second = one_store(second);
    let process = second.lines().find(|line| line.contains("process:"));
    let component = format!(
        "  second:
    ports: [http]
{}
    limits: {limits}
    ready: {{ http: {{ port: http, path: /ready }} }}
    stop_timeout: 5s
endpoints:\n",
        process.unwrap()
    );
    one_store(STORE).replace("endpoints:\n", &component)
}

/// Folders of cgroups that a process of waggle with this id has made.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let mut groups = Vec::new();
    find_below(
        Path::new("/sys/fs/cgroup"),
        &format!("-{pid}-"),
        &mut groups,
    );
    groups
}

fn find_below(folder: &Path, number: &str, groups: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let is_one = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with("waggle-") && name.contains(number));
        if is_one {
            groups.push(entry.path());
        }
        find_below(&entry.path(), number, groups);
    }
}

/// Runs a study; `None`: it was refused because this machine has no cgroup that may be used.
fn run(bench: &Bench) -> Option<Run> {
    let child = bench.start();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new(), "left behind");
    if output.status.code() == Some(2) {
        assert_refused(&said);
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(Run::read(&bench.path("run")).unwrap())
}

/// A refusal comes before anything is started, with its reason, and is right: this test cannot make a cgroup either.
fn assert_refused(said: &str) {
    assert!(
        said.contains("component second cannot be limited to"),
        "{said}"
    );
    assert!(said.contains("systemd-run --user --scope"), "{said}");
    assert!(!said.contains("phase:"), "{said}");
    not_tested(
        "limits of components by cgroup",
        "this process may make no cgroup",
    );
    for controller in ["cpu", "memory"] {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
        let group = groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let is_it = controllers.split(',').any(|name| name == controller);
            is_it.then(|| path.trim_start_matches('/'))
        });
        let root = Path::new("/sys/fs/cgroup").join(controller);
        let probe = root
            .join(group.unwrap_or_default())
            .join(format!("waggle-test-{}", std::process::id()));
        assert!(fs::create_dir(&probe).is_err(), "{}", probe.display());
    }
}

#[test]
fn a_component_gets_no_more_cpu_than_its_limit() {
    let bench = Bench::new(&system(BURNER, "{ cpus: 0.05 }"), &study("one-store", ""));
    let Some(run) = run(&bench) else { return };
    let trial = &run.trials[0];
    assert_eq!(trial.info.end, TrialEnd::Completed);
    let [limit] = &trial.info.limits[..] else {
        panic!("{:?}", trial.info.limits);
    };
    assert_eq!(limit.replica, "second-0");
    let cpus = limit.cpus.unwrap();
    assert!((cpus.cpus - 0.05).abs() < 1e-9 && cpus.by != LimitMeans::Affinity);
    assert_eq!(limit.memory, None);
    let throttling = limit.throttling.unwrap();
    assert!(throttling.throttled_periods > 0, "{throttling:?}");
    assert!(throttling.throttled_periods <= throttling.periods);
    assert!(throttling.throttled_s > 0.0);
    // By the kernel's own counters: no more than the quota in each period, in those at both ends of the readings, and a slice that is
    // paid back later.
    let measure = trial.info.phase(PhaseName::Measure).unwrap();
    let (mut used, mut before) = (0.0, 0.0);
    for row in trial
        .resources
        .iter()
        .filter(|row| row.component == "second-0")
    {
        if row.at_s > measure.start_s && row.at_s <= measure.end_s {
            used += row.cpu_cores * (row.at_s - before);
        }
        before = row.at_s;
    }
    #[expect(clippy::cast_precision_loss, reason = "some dozens")]
    let periods = throttling.periods as f64;
    assert!(
        used > 0.0 && used <= 0.005 * (periods + 4.0) + 0.02,
        "{used} {periods}"
    );
}

#[test]
fn a_restarted_component_is_limited_again() {
    let faults = "faults:\n  - { kill: second, at: 1s, restart_after: 100ms }\n";
    let system = system(BURNER, "{ cpus: 0.05, memory: 256MiB }");
    let bench = Bench::new(&system, &study("one-store", faults));
    let Some(run) = run(&bench) else { return };
    let trial = &run.trials[0];
    assert_eq!(trial.info.end, TrialEnd::Completed, "{:?}", trial.info);
    let limit = &trial.info.limits[0];
    assert!(limit.throttling.unwrap().throttled_periods > 0);
    assert_eq!(limit.memory.unwrap().oom_kills, 0);
}

#[test]
fn a_component_out_of_memory_is_a_failed_trial_with_that_reason() {
    let bench = Bench::new(
        &system(HOG, "{ memory: 32MiB }"),
        &study("one-store", "").replace("measure: 2s", "measure: 20s"),
    );
    let Some(run) = run(&bench) else { return };
    let trial = &run.trials[0];
    let TrialEnd::Failed { reason, .. } = &trial.info.end else {
        panic!("{:?}", trial.info);
    };
    assert_eq!(
        reason,
        "second-0 ended by signal 9 (out of memory: its limit is 32MiB)"
    );
    let memory = trial.info.limits[0].memory.unwrap();
    assert_eq!((memory.bytes, memory.oom_kills), (32 << 20, 1));
}

#[test]
fn a_killed_waggle_leaves_no_cgroup_behind() {
    let bench = Bench::new(
        &system(BURNER, "{ cpus: 0.5, memory: 256MiB }"),
        &study("one-store", "").replace("measure: 2s", "measure: 60s"),
    );
    let mut child = bench.start();
    let mut lines = Lines::new(child.stdout.take().unwrap());
    let first = lines.wait_for("");
    if first.starts_with("error:") {
        assert_refused(&first);
        child.wait().unwrap();
        return;
    }
    lines.wait_for("phase: Measure");
    let groups = groups_of(child.id());
    assert!(!groups.is_empty());
    kill_process(pid_of(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_all_gone(&bench);
    wait_until("the cgroups are gone", || groups_of(child.id()).is_empty());
}

#[test]
fn without_cgroups_a_fraction_is_refused_and_whole_cpus_are_kept() {
    let bench = Bench::new(&system(STORE, "{ cpus: 0.5 }"), &study("one-store", ""));
    let output = bench.run(&["no-cgroups"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let expected =
        "error: component second cannot be limited to 0.5 CPUs: no cgroup controller cpu is at ";
    assert!(said.contains(expected), "{said}");
    assert!(
        said.contains("systemd-run --user --scope") && !said.contains("phase:"),
        "{said}"
    );
    let bench = Bench::new(&system(STORE, "{ cpus: 64 }"), &study("one-store", ""));
    let run = bench.results_in(&["no-cgroups"]);
    let limit = &run.trials[0].info.limits[0];
    assert_eq!(limit.cpus.unwrap().by, LimitMeans::Affinity);
    assert_eq!(limit.throttling, None);
    // A system that is not pinned has any CPU.
    let system = run.info.host.system_cpus.len();
    let remark = format!("the limit of second, 64 CPUs, is above what the system has: {system}");
    let has_remark = run.trials[0].info.remarks.contains(&remark);
    assert_eq!(
        has_remark,
        (1..64).contains(&system),
        "{:?}",
        run.trials[0].info.remarks
    );
}

#[test]
fn the_system_has_the_cpus_that_the_study_names() {
    let study = |cpuset: &str| {
        let system = format!("system: {{ use: one-store, cpuset: {cpuset} }}");
        study("one-store", "").replace("system: { use: one-store }", &system)
    };
    let bench = Bench::new(&one_store(STORE), &study("[1023]"));
    let output = bench.run(&[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("system.cpuset has CPU 1023, which waggle may not use"),
        "{said}"
    );
    let Some(first) = waggle_system::cpus::allowed_cpus().first().copied() else {
        panic!("no CPU");
    };
    let bench = Bench::new(&one_store(STORE), &study(&format!("[{first}]")));
    let host = bench.results().info.host;
    let first = u32::try_from(first).unwrap();
    assert_eq!(host.system_cpus, [first]);
    assert!(!host.load_cpus.contains(&first));
}

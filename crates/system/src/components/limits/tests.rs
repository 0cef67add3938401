//! Means for limits on fake mount points of cgroups: version 1, version 2, and none.

use std::{fs, path::Path};

use waggle_results::LimitMeans;
use waggle_study::Limits;

use super::{Cgroups, Limiter, ReplicaLimits};
use crate::host::owner::Owner;

/// Half a CPU and 64 MiB.
const BOTH: Limits = Limits {
    cpus: Some(0.5),
    memory: Some(64 << 20),
};
const V2: &str = "0::/user/own\n";
const V1: &str = "4:memory:/own\n1:cpu,cpuacct:/own\n0::/\n";

/// A mount point with these files; a limiter there for a process in these groups, on the CPUs 4 to 7.
fn limiter(groups: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Limiter) {
    let mounted = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let file = mounted.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let limiter = Limiter {
        cgroups: Cgroups::find(mounted.path(), groups),
        allowed: vec![4, 5, 6, 7],
    };
    (mounted, limiter)
}

fn of_v1() -> (tempfile::TempDir, Limiter) {
    let files = [
        ("cpu,cpuacct/own/cgroup.procs", ""),
        ("memory/own/cgroup.procs", ""),
    ];
    limiter(V1, &files)
}

fn of_v2() -> (tempfile::TempDir, Limiter) {
    let files = [
        ("cgroup.controllers", "cpu memory"),
        ("cgroup.subtree_control", "cpu memory"),
        ("cgroup.procs", ""),
        ("user/cgroup.subtree_control", "cpu memory pids"),
        ("user/cgroup.procs", ""),
        ("user/own/cgroup.subtree_control", ""),
        ("user/own/cgroup.procs", ""),
    ];
    limiter(V2, &files)
}

/// The files that are in the group after it was made, with their texts, below the mount point.
fn make_files(mounted: &Path, applied: &ReplicaLimits) -> Vec<(String, String)> {
    let group = applied.group.as_ref().unwrap();
    group.make().unwrap();
    let mut files = Vec::new();
    for folder in &group.folders {
        for entry in fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().path();
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            let above = folder.parent().unwrap().strip_prefix(mounted).unwrap();
            let text = fs::read_to_string(&file).unwrap();
            files.push((format!("{}/*/{name}", above.display()), text));
        }
    }
    files.sort();
    files
}

fn check(files: &[(String, String)], expected: &[(&str, &str)]) {
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    assert_eq!(files, expected);
}

#[test]
fn version_1_has_a_group_for_each_controller() {
    let (mounted, limiter) = of_v1();
    let applied = limiter.apply(BOTH, 0, &[]).unwrap();
    let files = make_files(mounted.path(), &applied);
    let expected = [
        ("cpu,cpuacct/own/*/cpu.cfs_period_us", "100000"),
        ("cpu,cpuacct/own/*/cpu.cfs_quota_us", "50000"),
        ("memory/own/*/memory.limit_in_bytes", "67108864"),
    ];
    check(&files, &expected);
    let info = applied.info("a-0", 0);
    assert_eq!(info.cpus.unwrap().by, LimitMeans::CgroupV1);
    assert_eq!(info.memory.unwrap().by, LimitMeans::CgroupV1);
    assert_eq!(applied.cpus, None);
}

#[test]
fn version_2_has_one_group_next_to_that_of_waggle() {
    let (mounted, limiter) = of_v2();
    let applied = limiter.apply(BOTH, 0, &[]).unwrap();
    let files = make_files(mounted.path(), &applied);
    let expected = [
        ("user/*/cpu.max", "50000 100000"),
        ("user/*/memory.max", "67108864"),
    ];
    check(&files, &expected);
    assert_eq!(
        applied.info("a-0", 0).cpus.unwrap().by,
        LimitMeans::CgroupV2
    );
    let group = applied.group.unwrap();
    assert_eq!(group.folders.len(), 1);
    assert_eq!(group.home, [mounted.path().join("user/own")]);
}

#[test]
fn swap_is_limited_where_the_kernel_can() {
    let (mounted, limiter) = of_v2();
    let applied = limiter.apply(BOTH, 0, &[]).unwrap();
    let group = applied.group.as_ref().unwrap();
    // A kernel makes the files of a group together with its folder.
    for folder in &group.folders {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("memory.swap.max"), "max").unwrap();
    }
    let mut again = group.clone();
    again.folders.clear();
    again.make().unwrap();
    let text = fs::read_to_string(group.folders[0].join("memory.swap.max")).unwrap();
    assert_eq!(text, "0");
    drop(mounted);
}

#[test]
fn each_replica_has_its_own_group() {
    let (_mounted, limiter) = of_v2();
    let group = |number| limiter.apply(BOTH, number, &[]).unwrap().group.unwrap();
    assert_ne!(group(0).folders, group(1).folders);
}

#[test]
fn version_2_takes_one_folder_for_both_controllers() {
    let files = [
        ("cgroup.controllers", "cpu memory"),
        ("cgroup.subtree_control", "cpu memory"),
        ("cgroup.procs", ""),
        ("user/cgroup.subtree_control", "memory"),
        ("user/cgroup.procs", ""),
        ("user/own/cgroup.procs", ""),
    ];
    let (mounted, limiter) = limiter(V2, &files);
    let group = limiter.apply(BOTH, 0, &[]).unwrap().group.unwrap();
    assert_eq!(group.folders.len(), 1);
    assert_eq!(group.folders[0].parent().unwrap(), mounted.path());
}

#[test]
fn without_a_cgroup_whole_cpus_are_kept_by_affinity() {
    let (_mounted, limiter) = limiter("", &[]);
    let check = |cpus: f64, number: u32, system: &[usize], expected: &[usize]| {
        let limits = Limits {
            cpus: Some(cpus),
            memory: None,
        };
        let applied = limiter.apply(limits, number, system).unwrap();
        assert_eq!(applied.cpus.as_deref(), Some(expected), "{cpus} {number}");
        assert_eq!(applied.group, None);
        let by = applied.info("a-0", 0).cpus.unwrap().by;
        assert_eq!(by, LimitMeans::Affinity);
    };
    check(1.0, 0, &[1, 3], &[1]);
    check(1.0, 1, &[1, 3], &[3]);
    check(1.0, 2, &[1, 3], &[1]);
    check(2.0, 1, &[0, 1, 2, 3], &[2, 3]);
    check(8.0, 0, &[1, 3], &[1, 3]);
    // A system that is not pinned.
    check(2.0, 0, &[], &[4, 5]);
}

#[test]
fn without_a_cgroup_the_rest_is_refused_with_the_reason() {
    let check = |groups: &str, files: &[(&str, &str)], limits: Limits, expected: &[&str]| {
        let (_mounted, limiter) = limiter(groups, files);
        let refusal = limiter.apply(limits, 0, &[]).unwrap_err().to_string();
        for part in expected {
            assert!(refusal.contains(part), "{refusal}");
        }
        assert!(refusal.contains("systemd-run"), "{refusal}");
    };
    let half = Limits {
        cpus: Some(0.5),
        memory: None,
    };
    let memory = Limits {
        cpus: None,
        memory: Some(64 << 20),
    };
    let whole = "a whole number of CPUs";
    check(
        "",
        &[],
        half,
        &["0.5 CPUs: no cgroup controller cpu", whole],
    );
    check(
        "",
        &[],
        memory,
        &["64MiB of memory: no cgroup controller memory"],
    );
    // Version 2 of which only memory was handed down.
    let files = [
        ("cgroup.controllers", "cpu memory"),
        ("user/cgroup.subtree_control", "memory"),
        ("user/cgroup.procs", ""),
        ("user/own/cgroup.procs", ""),
    ];
    let handed_down = "no cgroup above this process hands down the controller cpu";
    check(V2, &files, half, &[handed_down]);
    let (_mounted, limiter) = limiter(V2, &files);
    assert!(limiter.apply(memory, 0, &[]).unwrap().group.is_some());
    // A file in place of the folder: a group cannot be made there, whoever runs this test.
    let files = [
        ("cgroup.controllers", "cpu memory"),
        ("user/cgroup.subtree_control", "cpu"),
        ("user/own/x", ""),
    ];
    check(V2, &files, half, &["no cgroup can be made in"]);
}

#[test]
fn groups_of_a_killed_run_are_removed() {
    let (mounted, _) = of_v2();
    let this = Owner::of_this_process().unwrap().to_string();
    let group_of = |owner: &str| mounted.path().join(format!("user/waggle-{owner}-0"));
    let (own_group, start) = (group_of(&this), this.rsplit_once('-').unwrap());
    // A process of the same number, which was started earlier; and one of another container.
    let left_over = group_of(&format!("{}-1", start.0));
    let elsewhere = group_of(&format!("1{}-1", start.0));
    let other = mounted.path().join("user/waggler");
    for folder in [&left_over, &own_group, &other, &elsewhere] {
        fs::create_dir(folder).unwrap();
    }
    Cgroups::find(mounted.path(), V2);
    assert!(!left_over.exists());
    assert!(own_group.exists() && other.exists() && elsewhere.exists());
}

#[test]
fn a_group_is_an_argument() {
    let (_mounted, limiter) = of_v1();
    let group = limiter.apply(BOTH, 0, &[]).unwrap().group.unwrap();
    let read = super::Group::from_argument(&group.to_argument()).unwrap();
    assert_eq!(read, Some(group));
    assert_eq!(super::Group::from_argument("").unwrap(), None);
    assert!(super::Group::from_argument("{").is_err());
}

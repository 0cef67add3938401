//! What an agent says of the machine that it is on, and of the limits that it runs under.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ring::digest::{SHA256, digest};
use rustix::{
    system::uname,
    thread::{CpuSet, sched_getaffinity},
};
use serde::{Deserialize, Serialize};

/// The machine of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    pub name: String,
    /// The same for everything on one kernel since it was booted, and different elsewhere: a digest of its boot id.
    pub machine: String,
    pub kernel: String,
    /// `x86_64`.
    pub architecture: String,
    pub cpu_model: String,
    /// CPUs that the agent may use; of a cgroup's quota, whole CPUs that fit, at least one.
    pub cpus: u32,
    /// CPUs that its cgroup may use on average; `None`: as many as there are.
    pub cpu_quota: Option<f64>,
}

/// How often a cgroup was out of CPU time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuThrottle {
    /// Periods in which it wanted to run.
    pub periods: u64,
    /// Those in which it was stopped until the end.
    pub throttled: u64,
    pub throttled_ns: u64,
}

impl CpuThrottle {
    /// What was added since an earlier reading.
    pub(crate) fn difference(self, earlier: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            throttled_ns: self.throttled_ns.saturating_sub(earlier.throttled_ns),
        }
    }
}

/// Reads the facts of this machine.
pub(crate) fn host_facts() -> HostFacts {
    let names = uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let allowed = sched_getaffinity(None).map_or(1, |set: CpuSet| set.count());
    let quota = cpu_folder().and_then(|folder| cpu_quota(&folder));
    let whole = quota.map_or(allowed, |quota| whole_cpus(quota).min(allowed));
    HostFacts {
        name: text(names.nodename()),
        machine: machine_id(),
        kernel: text(names.release()),
        architecture: text(names.machine()),
        cpu_model: cpu_model(),
        cpus: whole.max(1),
        cpu_quota: quota,
    }
}

/// What identifies the running kernel; empty if it does not say.
#[must_use]
pub fn machine_id() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    match boot.trim() {
        "" => String::new(),
        boot => hexadecimal(&digest(&SHA256, boot.as_bytes()).as_ref()[..8]),
    }
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let model = lines.find(|(key, _)| key.trim() == "model name");
    model.map_or_else(String::new, |(_, model)| model.trim().to_owned())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of CPUs"
)]
fn whole_cpus(quota: f64) -> u32 {
    quota.clamp(1.0, 1e6) as u32
}

/// How often this program's cgroup was throttled so far; `None`: there is no such cgroup.
pub(crate) fn cpu_throttle() -> Option<CpuThrottle> {
    let text = fs::read_to_string(cpu_folder()?.join("cpu.stat")).ok()?;
    Some(parse_cpu_stat(&text))
}

/// The folder of this program's cgroup that limits CPU time, of version 1 or 2.
fn cpu_folder() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let (roots, path) = cgroup_of(&groups)?;
    let path = path.trim_start_matches('/');
    // Within a container the path may be that on the host, and the folder the container's own.
    let folders = roots
        .iter()
        .flat_map(|root| [Path::new(root).join(path), PathBuf::from(root)]);
    folders
        .into_iter()
        .find(|folder| folder.join("cpu.stat").is_file())
}

/// Where cgroups are mounted that count CPU time, and the path of this program's.
fn cgroup_of(groups: &str) -> Option<(&'static [&'static str], &str)> {
    let lines = || {
        groups
            .lines()
            .map(|line| line.splitn(3, ':').collect::<Vec<_>>())
    };
    let with_cpu = lines().find(|line| {
        line.get(1)
            .is_some_and(|controllers| controllers.split(',').any(|name| name == "cpu"))
    });
    if let Some([_, _, path]) = with_cpu.as_deref() {
        return Some((&["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"], path));
    }
    let unified = lines().find(|line| line.first() == Some(&"0"));
    match unified.as_deref() {
        Some([_, _, path]) => Some((&["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], path)),
        _ => None,
    }
}

fn parse_cpu_stat(text: &str) -> CpuThrottle {
    let mut throttle = CpuThrottle::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        let value: u64 = value.trim().parse().unwrap_or(0);
        match key {
            "nr_periods" => throttle.periods = value,
            "nr_throttled" => throttle.throttled = value,
            // Version 1 counts nanoseconds, version 2 microseconds.
            "throttled_time" => throttle.throttled_ns = value,
            "throttled_usec" => throttle.throttled_ns = value.saturating_mul(1_000),
            _ => {}
        }
    }
    throttle
}

/// CPUs of a quota; `None`: there is none.
fn cpu_quota(folder: &Path) -> Option<f64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let (quota, period) = match read("cpu.max") {
        Some(text) => {
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.parse().ok()?, period.parse().ok()?)
        }
        None => {
            let number = |name| read(name)?.trim().parse::<f64>().ok();
            (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
        }
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a String takes all");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_cgroups_are_read() {
        let first = "nr_periods 10\nnr_throttled 4\nthrottled_time 5000000\n";
        let second = "usage_usec 7\nnr_periods 10\nnr_throttled 4\nthrottled_usec 5000\n";
        let expected = CpuThrottle {
            periods: 10,
            throttled: 4,
            throttled_ns: 5_000_000,
        };
        assert_eq!(parse_cpu_stat(first), expected);
        assert_eq!(parse_cpu_stat(second), expected);
        assert_eq!(expected.difference(expected), CpuThrottle::default());

        let groups = "4:memory:/a\n3:cpu,cpuacct:/pods/b\n0::/c\n";
        assert_eq!(cgroup_of(groups).map(|(_, path)| path), Some("/pods/b"));
        assert_eq!(cgroup_of("0::/c\n").map(|(_, path)| path), Some("/c"));
        assert_eq!(cgroup_of("4:memory:/a\n"), None);

        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("cpu.cfs_quota_us", "-1\n");
        write("cpu.cfs_period_us", "100000\n");
        assert_eq!(cpu_quota(folder.path()), None);
        write("cpu.cfs_quota_us", "150000\n");
        assert_eq!(cpu_quota(folder.path()), Some(1.5));
        write("cpu.max", "max 100000\n");
        assert_eq!(cpu_quota(folder.path()), None);
        write("cpu.max", "50000 100000\n");
        assert_eq!(cpu_quota(folder.path()), Some(0.5));
    }

    #[test]
    fn this_machine_has_facts() {
        let facts = host_facts();
        assert!(facts.cpus >= 1 && !facts.name.is_empty(), "{facts:?}");
        assert_eq!(facts.machine, machine_id());
    }
}

//! Limits on the CPU time of this process: loops would use it up, and the rest of the container would get none.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A limit on CPU time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    pub(super) file: PathBuf,
    /// As a number of CPUs.
    pub(super) cpus: f64,
}

impl Limit {
    /// Whether the limit is below the capacity of this many CPUs.
    pub(super) fn is_below(&self, cpus: usize) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "CPUs are far fewer than 2^52")]
        let all = cpus as f64;
        self.cpus < all
    }
}

/// The strictest limit on this process and the groups it is in; `None` if none is visible.
///
/// `groups` is `/proc/self/cgroup` with one line per hierarchy: `ID:CONTROLLERS:PATH`, without controllers in version 2.
/// `mounted` is the mount point of the groups. In a container the group's own folder may be mounted there, whatever its path. So
/// every folder up to the mount point is read.
pub(super) fn strictest_limit(groups: &str, mounted: &Path) -> Option<Limit> {
    let limits = groups.lines().flat_map(|line| limits_of(line, mounted));
    limits.min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

/// Reads the limit of a group.
type Read = fn(&Path) -> Option<Limit>;

/// The limits of the group of one hierarchy, and of those above it.
fn limits_of(line: &str, mounted: &Path) -> Vec<Limit> {
    let mut parts = line.splitn(3, ':').skip(1);
    let controllers = parts.next().unwrap_or_default();
    let path = parts.next().unwrap_or_default();
    let is_v2 = controllers.is_empty();
    let roots = if is_v2 {
        [mounted.to_path_buf(), mounted.join("unified")]
    } else if controllers.split(',').any(|name| name == "cpu") {
        [mounted.join(controllers), mounted.join("cpu")]
    } else {
        return Vec::new();
    };
    let read: Read = if is_v2 { limit_v2 } else { limit_v1 };
    let above = Path::new(path.trim_start_matches('/')).ancestors();
    above
        .flat_map(|group| roots.iter().map(move |root| root.join(group)))
        .filter_map(|folder| read(&folder))
        .collect()
}

/// `cpu.max`: `150000 100000`, or `max 100000` without a limit.
fn limit_v2(group: &Path) -> Option<Limit> {
    let file = group.join("cpu.max");
    let text = fs::read_to_string(&file).ok()?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(Limit {
        file,
        cpus: quota / period,
    })
}

/// `cpu.cfs_quota_us`, -1 without a limit, and `cpu.cfs_period_us`.
fn limit_v1(group: &Path) -> Option<Limit> {
    let number = |file: &Path| fs::read_to_string(file).ok()?.trim().parse::<f64>().ok();
    let file = group.join("cpu.cfs_quota_us");
    let quota = number(&file).filter(|quota| *quota >= 0.0)?;
    let period = number(&group.join("cpu.cfs_period_us"))?;
    Some(Limit {
        file,
        cpus: quota / period,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::strictest_limit;

    /// `files`: paths below the folder of groups, with their contents.
    fn check(groups: &str, files: &[(&str, &str)], expected: Option<(&str, f64)>) {
        let mounted = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let file = mounted.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let quota = strictest_limit(groups, mounted.path());
        let quota = quota.map(|limit| {
            let file = limit.file.strip_prefix(mounted.path()).unwrap();
            (file.to_path_buf(), limit.cpus)
        });
        let expected = expected.map(|(file, cpus)| (Path::new(file).to_path_buf(), cpus));
        assert_eq!(quota, expected, "{groups:?} {files:?}");
    }

    #[test]
    fn the_strictest_limit_on_the_way_up_is_found() {
        check("", &[], None);
        check("0::/\n", &[], None);
        check("0::/\n", &[("cpu.max", "max 100000\n")], None);
        check(
            "0::/\n",
            &[("cpu.max", "150000 100000\n")],
            Some(("cpu.max", 1.5)),
        );
        check(
            "0::/a/b\n",
            &[
                ("a/cpu.max", "50000 100000\n"),
                ("a/b/cpu.max", "200000 100000\n"),
                ("c/cpu.max", "1000 100000\n"),
            ],
            Some(("a/cpu.max", 0.5)),
        );
        check(
            "3:cpuset:/\n2:cpu,cpuacct:/docker/ab\n",
            &[
                ("cpu,cpuacct/cpu.cfs_quota_us", "200000\n"),
                ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ],
            Some(("cpu,cpuacct/cpu.cfs_quota_us", 2.0)),
        );
        check(
            "1:cpu:/\n0::/\n",
            &[
                ("cpu/cpu.cfs_quota_us", "-1\n"),
                ("cpu/cpu.cfs_period_us", "100000\n"),
            ],
            None,
        );
    }
}

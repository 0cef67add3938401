//! Counters of a cgroup: throttled periods, and processes that were killed for memory.

use std::{fs, path::Path, time::Duration};

use serde::{Deserialize, Serialize};

/// Running totals of a group's CPU limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttled {
    /// Periods in which the group had something to do.
    pub periods: u64,
    pub throttled_periods: u64,
    pub time: Duration,
}

impl Throttled {
    /// Reads `cpu.stat`: lines of a name and a number. The time is in ns in version 1, in µs in version 2.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let number = |name: &str| number(text, name);
        let time = match number("throttled_usec") {
            Some(micros) => Duration::from_micros(micros),
            None => Duration::from_nanos(number("throttled_time")?),
        };
        Some(Self {
            periods: number("nr_periods")?,
            throttled_periods: number("nr_throttled")?,
            time,
        })
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            periods: self.periods + other.periods,
            throttled_periods: self.throttled_periods + other.throttled_periods,
            time: self.time + other.time,
        }
    }

    pub fn growth_since(self, before: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(before.periods),
            throttled_periods: self
                .throttled_periods
                .saturating_sub(before.throttled_periods),
            time: self.time.saturating_sub(before.time),
        }
    }
}

/// Counters of the container in which this process is: its group is the root of what it sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContainerCounters {
    /// `None`: its CPU time is not limited.
    pub throttled: Option<Throttled>,
    pub oom_kills: u64,
}

impl ContainerCounters {
    /// With the cgroups at this mount point.
    pub fn read(mounted: &Path) -> Self {
        let cpu = ["", "cpu,cpuacct", "cpu"].map(|controller| mounted.join(controller));
        let throttled = cpu.iter().find_map(|folder| {
            let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
            Throttled::parse(&text)
        });
        let memory = ["", "memory"].map(|controller| mounted.join(controller));
        Self {
            // A group without a limit has no periods.
            throttled: throttled.filter(|throttled| throttled.periods > 0),
            oom_kills: memory
                .iter()
                .map(|folder| oom_kills(folder))
                .max()
                .unwrap_or(0),
        }
    }
}

/// Processes that the kernel killed in a group: `memory.events` in version 2, `memory.oom_control` in version 1.
pub(super) fn oom_kills(folder: &Path) -> u64 {
    let mut files = ["memory.events", "memory.oom_control"].into_iter();
    let count = files.find_map(|file| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        number(&text, "oom_kill")
    });
    count.unwrap_or(0)
}

fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, number) = lines.find(|(known, _)| *known == name)?;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::{ContainerCounters, Throttled, oom_kills};

    #[test]
    fn both_versions_are_read() {
        let check = |text: &str, expected: Option<(u64, u64, u64)>| {
            let expected = expected.map(|(periods, throttled_periods, micros)| Throttled {
                periods,
                throttled_periods,
                time: Duration::from_micros(micros),
            });
            assert_eq!(Throttled::parse(text), expected, "{text:?}");
        };
        check(
            "nr_periods 10\nnr_throttled 4\nthrottled_time 2500000\nnr_bursts 0\n",
            Some((10, 4, 2500)),
        );
        check(
            "usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2500\n",
            Some((10, 4, 2500)),
        );
        // Version 2 without the controller.
        check("usage_usec 9\nuser_usec 5\nsystem_usec 4\n", None);
        check("", None);
    }

    #[test]
    fn kills_are_counted() {
        let check = |file: &str, text: &str, expected: u64| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(file), text).unwrap();
            assert_eq!(oom_kills(folder.path()), expected, "{file}");
        };
        check("memory.events", "low 0\noom 3\noom_kill 2\n", 2);
        check(
            "memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            1,
        );
        check("memory.oom_control", "oom_kill_disable 0\n", 0);
        check("other", "", 0);
    }

    #[test]
    fn counters_of_a_container_are_at_the_root_of_what_it_sees() {
        let check = |files: &[(&str, &str)], expected: (Option<u64>, u64)| {
            let mounted = tempfile::tempdir().unwrap();
            for (file, text) in files {
                let file = mounted.path().join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            let ContainerCounters {
                throttled,
                oom_kills,
            } = ContainerCounters::read(mounted.path());
            let throttled = throttled.map(|throttled| throttled.throttled_periods);
            assert_eq!((throttled, oom_kills), expected, "{files:?}");
        };
        let first = "nr_periods 10\nnr_throttled 4\nthrottled_time 2500000\n";
        let second = "usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2500\n";
        check(
            &[
                ("cpu,cpuacct/cpu.stat", first),
                ("memory/memory.oom_control", "oom_kill 1\n"),
            ],
            (Some(4), 1),
        );
        check(
            &[("cpu.stat", second), ("memory.events", "oom_kill 2\n")],
            (Some(4), 2),
        );
        check(&[("cpu.stat", "usage_usec 9\n")], (None, 0));
        check(
            &[(
                "cpu/cpu.stat",
                "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
            )],
            (None, 0),
        );
    }
}

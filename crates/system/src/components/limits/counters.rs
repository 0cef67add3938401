//! Counters of a cgroup: throttled periods, and processes that were killed for memory.

use std::{fs, path::Path, time::Duration};

/// Running totals of a group's CPU limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

    use super::{Throttled, oom_kills};

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
}

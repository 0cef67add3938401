//! Whether the host is idle again after a trial.

use std::fs;

use crate::host::cpu_time::{CpuClocks, Ticks};

/// CPU utilization over all CPUs below which a host is idle.
const BUSY_AT_MOST: f64 = 0.1;
/// Number of sockets in TIME_WAIT that does not disturb the next trial.
const TIME_WAIT_AT_MOST: u64 = 2_000;

/// Remembers the CPU ticks of the last poll.
#[derive(Debug, Default)]
pub struct IdleCheck {
    /// All CPUs of the machine.
    clocks: CpuClocks,
    before: Option<Ticks>,
}

impl IdleCheck {
    /// With the process of idle polling, whose CPU time is not work.
    pub fn new(loops: Option<u32>) -> Self {
        let clocks = CpuClocks {
            cpus: Vec::new(),
            loops,
        };
        Self {
            clocks,
            before: None,
        }
    }

    /// True if the host was idle since the last poll and few sockets are left over. If `/proc` cannot be read, the host counts as
    /// idle, because waiting would not change that.
    pub fn poll(&mut self) -> bool {
        let Some(now) = self.clocks.read() else {
            return true;
        };
        let Some(before) = self.before.replace(now) else {
            return false;
        };
        let sockets = fs::read_to_string("/proc/net/sockstat")
            .ok()
            .as_deref()
            .and_then(time_wait)
            .unwrap_or(0);
        is_idle(before, now) && sockets <= TIME_WAIT_AT_MOST
    }

    /// Forgets the last poll, so that the next one does not include the trial that has just ended.
    pub fn forget(&mut self) {
        self.before = None;
    }
}

/// Stolen time counts as busy: it would disturb the next trial as well.
fn is_idle(before: Ticks, now: Ticks) -> bool {
    let since = now.shares_since(before);
    since.is_some_and(|machine| 1.0 - machine.cpu_idle <= BUSY_AT_MOST)
}

/// `TCP: inuse 5 orphan 0 tw 12 alloc 6 mem 1` in `/proc/net/sockstat`.
fn time_wait(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{is_idle, time_wait};
    use crate::host::cpu_time::Ticks;

    #[test]
    fn sockets_are_counted() {
        assert_eq!(
            time_wait("sockets: used 9\nTCP: inuse 5 orphan 0 tw 12 alloc 6 mem 1\n"),
            Some(12)
        );
        assert_eq!(time_wait("UDP: inuse 5"), None);
    }

    #[test]
    fn idle_is_a_share_of_all_clocks() {
        let ticks = |all, idle, stolen| Ticks { all, idle, stolen };
        let before = Ticks::default();
        assert!(is_idle(before, ticks(100, 90, 0)));
        assert!(!is_idle(before, ticks(100, 89, 0)));
        assert!(!is_idle(before, ticks(100, 80, 20)));
        assert!(!is_idle(before, before));
    }
}

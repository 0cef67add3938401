//! Whether the host has come to rest after a trial.

use std::fs;

/// CPU share, over all CPUs, under which a host is idle.
const BUSY_AT_MOST: f64 = 0.1;
/// Sockets in TIME_WAIT that do not disturb the next trial.
const TIME_WAIT_AT_MOST: u64 = 2_000;

/// Remembers the CPU clocks between two looks.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    before: Option<Clocks>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Clocks {
    busy: u64,
    all: u64,
}

impl Rest {
    /// True where the host was idle since the last look and few sockets are left over. What `/proc` does not
    /// tell counts as quiet, for waiting would not change it.
    pub(crate) fn look(&mut self) -> bool {
        let clocks = fs::read_to_string("/proc/stat")
            .ok()
            .as_deref()
            .and_then(clocks);
        let Some(now) = clocks else { return true };
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

    /// Forgets the last look, so that the next one does not speak of the trial that has just ended.
    pub(crate) fn forget(&mut self) {
        self.before = None;
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "clock ticks of a short stretch are far below 2^52"
)]
fn is_idle(before: Clocks, now: Clocks) -> bool {
    let all = now.all.saturating_sub(before.all);
    all > 0 && now.busy.saturating_sub(before.busy) as f64 / all as f64 <= BUSY_AT_MOST
}

/// The first line of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal …`.
fn clocks(text: &str) -> Option<Clocks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map_while(|tick| tick.parse().ok())
        .collect();
    let all = ticks.iter().sum();
    Some(Clocks {
        busy: all - ticks.get(3)? - ticks.get(4)?,
        all,
    })
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
    use super::{Clocks, clocks, is_idle, time_wait};

    #[test]
    fn proc_files_are_read() {
        let text = "cpu  10 2 3 80 5 0 0 0 0 0\ncpu0 1 1 1 1 1\n";
        assert_eq!(clocks(text), Some(Clocks { busy: 15, all: 100 }));
        assert_eq!(clocks("intr 1"), None);
        assert_eq!(
            time_wait("sockets: used 9\nTCP: inuse 5 orphan 0 tw 12 alloc 6 mem 1\n"),
            Some(12)
        );
        assert_eq!(time_wait("UDP: inuse 5"), None);
    }

    #[test]
    fn idle_is_a_share_of_all_clocks() {
        let before = Clocks { busy: 0, all: 0 };
        assert!(is_idle(before, Clocks { busy: 10, all: 100 }));
        assert!(!is_idle(before, Clocks { busy: 11, all: 100 }));
        assert!(!is_idle(before, before));
    }
}

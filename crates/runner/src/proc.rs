//! CPU time and memory of processes, from `/proc`.
//!
//! Two clocks are read: the process's own (which knows of threads that have ended, but counts in ticks of 10 ms)
//! and the sum over its living threads (to the nanosecond). Neither is ever too high, so the larger one is taken.

use std::{fs, path::PathBuf, time::Duration};

use crate::driver::Usage;

/// Processes of one component that are looked at.
const TREE_MAX: usize = 256;

/// What one process, or a tree of them, has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) cpu: Duration,
    pub(crate) rss_bytes: u64,
    pub(crate) threads: u32,
}

impl Used {
    pub(crate) fn of(self, replica: &str) -> Usage {
        Usage {
            replica: replica.to_owned(),
            cpu: self.cpu,
            rss_bytes: self.rss_bytes,
            threads: self.threads,
        }
    }
}

/// Everything that descends from a process, without itself; `None` where nothing does.
///
/// Asked of a supervisor, that is its component with all that this started: what lost its own parent has become the
/// supervisor's child.
pub(crate) fn below(pid: u32) -> Option<Used> {
    let mut sum: Option<Used> = None;
    let mut waiting = children(pid);
    let mut seen = 0;
    while let Some(child) = waiting.pop() {
        seen += 1;
        if seen > TREE_MAX {
            break;
        }
        if let Some(used) = process(child, Children::Counted) {
            let sum = sum.get_or_insert_default();
            sum.cpu += used.cpu;
            sum.rss_bytes += used.rss_bytes;
            sum.threads += used.threads;
            waiting.extend(children(child));
        }
    }
    sum
}

/// This process alone: the components are its descendants and have their own rows.
pub(crate) fn own() -> Option<Used> {
    alone(std::process::id())
}

/// One process without its children.
pub(crate) fn alone(pid: u32) -> Option<Used> {
    process(pid, Children::LeftOut)
}

/// Whether a process is there and has not ended; one that has waits for its parent to take note of it.
pub(crate) fn runs(pid: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = text
        .rfind(')')
        .and_then(|name| text[name + 1..].split_whitespace().next());
    state.is_some_and(|state| state != "Z" && state != "X")
}

/// Whether the time of children that have ended counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Children {
    Counted,
    LeftOut,
}

fn process(pid: u32, ended_children: Children) -> Option<Used> {
    let stat = Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    let tick =
        Duration::from_secs(1) / u32::try_from(rustix::param::clock_ticks_per_second()).ok()?;
    let of_ticks = |ticks: u64| tick.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX));
    let cpu = of_ticks(stat.own_ticks).max(of_threads(pid));
    let children = match ended_children {
        Children::Counted => of_ticks(stat.children_ticks),
        Children::LeftOut => Duration::ZERO,
    };
    Some(Used {
        cpu: cpu + children,
        rss_bytes: stat.rss_pages * rustix::param::page_size() as u64,
        threads: stat.threads,
    })
}

fn threads(pid: u32) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

/// Nanoseconds on a CPU, from the first number of each thread's `schedstat`.
fn of_threads(pid: u32) -> Duration {
    let times = threads(pid).filter_map(|thread| {
        let text = fs::read_to_string(thread.join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(times.sum())
}

fn children(pid: u32) -> Vec<u32> {
    let lines = threads(pid).filter_map(|thread| fs::read_to_string(thread.join("children")).ok());
    lines
        .flat_map(|line| {
            line.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The numbers of `/proc/PID/stat` that are of use here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    own_ticks: u64,
    children_ticks: u64,
    threads: u32,
    rss_pages: u64,
}

impl Stat {
    /// See proc_pid_stat(5). The second field is a name in brackets that may hold spaces and brackets itself.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
        // Field 3 of the manual page is the first one here.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            own_ticks: field(14)? + field(15)?,
            children_ticks: field(16)? + field(17)?,
            threads: u32::try_from(field(20)?).ok()?,
            rss_pages: field(24)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Stat, below, own, runs};

    #[test]
    fn a_stat_line_is_read_whatever_the_program_is_called() {
        let line =
            "11 (a) b) R 1 2 3 0 -1 4 5 6 7 8 70 5 30 1 20 0 9 0 113490 3133440 389 184 1 2\n";
        let expected = Stat {
            own_ticks: 75,
            children_ticks: 31,
            threads: 9,
            rss_pages: 389,
        };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(Stat::parse("11 (a"), None);
        assert_eq!(Stat::parse("11 (a) R 1"), None);
    }

    #[test]
    fn this_process_is_found() {
        let used = own().unwrap();
        assert!(used.rss_bytes > 0 && used.threads > 0);
        assert_eq!(below(u32::MAX), None);
        assert!(runs(std::process::id()) && !runs(u32::MAX));
    }
}

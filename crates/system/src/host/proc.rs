//! CPU time and memory of processes, from `/proc`.
//!
//! Two clocks are read: the process's own (it includes threads that have ended, but counts in ticks of 10 ms) and the sum over
//! its living threads (to the nanosecond). Neither is ever too high, so the larger one is taken.

use std::{collections::BTreeSet, time::Duration};

use procfs::process::{Process, Task};

use crate::host::usage::Usage;

/// Limit on the processes of one component.
const TREE_MAX: usize = 256;

/// What one process, or a tree of them, has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    pub cpu: Duration,
    pub rss_bytes: u64,
    pub threads: u32,
}

impl Used {
    fn add(&mut self, other: Self) {
        self.cpu += other.cpu;
        self.rss_bytes += other.rss_bytes;
        self.threads += other.threads;
    }

    pub fn into_usage(self, replica: &str) -> Usage {
        Usage {
            replica: replica.to_owned(),
            cpu: self.cpu,
            rss_bytes: self.rss_bytes,
            threads: self.threads,
            read_at: None,
        }
    }
}

/// The usage of all descendants of a process, without itself; `None` if there are none.
///
/// For a supervisor this is its component with all that the component started: a process that lost its parent has become the
/// supervisor's child.
pub fn descendants_usage(pid: u32) -> Option<Used> {
    let mut sum: Option<Used> = None;
    let mut waiting = children(pid);
    let mut seen = 0;
    while let Some(child) = waiting.pop() {
        seen += 1;
        if seen > TREE_MAX {
            break;
        }
        if let Some(used) = process(child, Children::Counted) {
            sum.get_or_insert_default().add(used);
            waiting.extend(children(child));
        }
    }
    sum
}

/// The usage of processes and of all that they have started, each once; not that of waggle, which one of them may have started.
pub fn trees_usage(roots: &BTreeSet<u32>) -> Used {
    let mut sum = Used::default();
    let mut waiting: Vec<u32> = roots.iter().copied().collect();
    let mut seen = BTreeSet::from([std::process::id()]);
    while let Some(pid) = waiting.pop() {
        if seen.len() > TREE_MAX || !seen.insert(pid) {
            continue;
        }
        if let Some(used) = process(pid, Children::Counted) {
            sum.add(used);
            waiting.extend(children(pid));
        }
    }
    sum
}

/// This process with the ones that it started for itself: load generators, and supervisors, whose components are their children and
/// have their own rows. `loops`: the process of idle polling, which does no work.
pub fn own_usage(loops: Option<u32>) -> Option<Used> {
    let mut sum = process_usage(std::process::id())?;
    let started = children(std::process::id()).into_iter();
    for child in started.filter(|child| Some(*child) != loops) {
        if let Some(used) = process_usage(child) {
            sum.add(used);
        }
    }
    Some(sum)
}

/// One process without its children.
pub fn process_usage(pid: u32) -> Option<Used> {
    process(pid, Children::LeftOut)
}

/// Whether a process exists and has not ended. A zombie has ended and waits for its parent.
pub fn runs(pid: u32) -> bool {
    open_process(pid)
        .and_then(|process| process.stat().ok())
        .is_some_and(|stat| stat.state != 'Z' && stat.state != 'X')
}

/// Whether the time of children that have ended counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Children {
    Counted,
    LeftOut,
}

fn open_process(pid: u32) -> Option<Process> {
    Process::new(i32::try_from(pid).ok()?).ok()
}

fn process(pid: u32, ended_children: Children) -> Option<Used> {
    let process = open_process(pid)?;
    let stat = process.stat().ok()?;
    let tick = Duration::from_secs(1) / u32::try_from(procfs::ticks_per_second()).ok()?;
    let of_ticks = |ticks: u64| tick.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX));
    let cpu = of_ticks(stat.utime + stat.stime).max(of_threads(&process));
    let children = match ended_children {
        Children::Counted => of_ticks(u64::try_from(stat.cutime + stat.cstime).unwrap_or(0)),
        Children::LeftOut => Duration::ZERO,
    };
    Some(Used {
        cpu: cpu + children,
        rss_bytes: stat.rss * procfs::page_size(),
        threads: u32::try_from(stat.num_threads).ok()?,
    })
}

fn threads(process: &Process) -> impl Iterator<Item = Task> {
    process.tasks().into_iter().flatten().filter_map(Result::ok)
}

/// Time on a CPU, as the scheduler counts it.
fn of_threads(process: &Process) -> Duration {
    let times =
        threads(process).filter_map(|thread| Some(thread.schedstat().ok()?.sum_exec_runtime));
    Duration::from_nanos(times.sum())
}

fn children(pid: u32) -> Vec<u32> {
    let Some(process) = open_process(pid) else {
        return Vec::new();
    };
    threads(&process)
        .filter_map(|thread| thread.children().ok())
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{descendants_usage, own_usage, runs};

    #[test]
    fn this_process_is_found() {
        let used = own_usage(None).unwrap();
        assert!(used.rss_bytes > 0 && used.threads > 0);
        assert_eq!(descendants_usage(u32::MAX), None);
        assert!(runs(std::process::id()) && !runs(u32::MAX));
    }
}

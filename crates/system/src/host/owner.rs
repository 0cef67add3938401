//! Which waggle something belongs to: processes and cgroups that outlive it together with its supervisors are known by this.

use std::{fmt, fs, os::unix::fs::MetadataExt};

use procfs::process::Process;

/// A process that no other process is taken for: the number of a process is used again, and is another one in each container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The namespace of its number.
    namespace: u64,
    pid: u32,
    /// When it was started, in ticks since the machine was.
    start: u64,
}

impl Owner {
    /// This process; `None` if `/proc` does not tell.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        let pid = std::process::id();
        Some(Self {
            namespace: own_namespace()?,
            pid,
            start: start_of(pid)?,
        })
    }

    /// Reads what [`fmt::Display`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('-');
        let owner = Self {
            namespace: numbers.next()?.parse().ok()?,
            pid: numbers.next()?.parse().ok()?,
            start: numbers.next()?.parse().ok()?,
        };
        numbers.next().is_none().then_some(owner)
    }

    /// Whether it has ended for certain. Of another container's process that is not known.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        own_namespace() == Some(self.namespace) && start_of(self.pid) != Some(self.start)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.namespace, self.pid, self.start)
    }
}

fn own_namespace() -> Option<u64> {
    let about = fs::metadata("/proc/self/ns/pid").ok()?;
    Some(about.ino())
}

/// `None`: there is no such process, or it is a zombie.
fn start_of(pid: u32) -> Option<u64> {
    let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    (stat.state != 'Z' && stat.state != 'X').then_some(stat.starttime)
}

#[cfg(test)]
mod tests {
    use super::Owner;

    #[test]
    fn a_process_of_the_same_number_is_not_the_owner() {
        let this = Owner::of_this_process().unwrap();
        assert_eq!(Owner::parse(&this.to_string()), Some(this));
        assert!(!this.has_ended());
        let earlier = Owner {
            start: this.start - 1,
            ..this
        };
        assert!(earlier.has_ended());
        let elsewhere = Owner {
            namespace: this.namespace + 1,
            ..earlier
        };
        assert!(!elsewhere.has_ended(), "it may run in its container");
        assert_eq!(Owner::parse("4-x-1"), None);
        assert_eq!(Owner::parse("4-1-1-1"), None);
    }
}

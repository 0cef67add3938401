//! What a worker thread had of its CPU, and what it had to wait for it.
//!
//! A thread that others keep off its CPU uses little and looks idle; the time it stood in the run queue tells the two
//! apart. Only the kernel knows it, so it is read from `/proc`, once an interval, through a file opened at the start.

use std::{fs::File, os::unix::fs::FileExt, time::Duration};

use crate::clock::thread_cpu;

/// Three numbers of up to twenty digits.
const SCHEDSTAT_MAX_BYTES: usize = 64;

/// The clocks of one thread, to be read by it alone.
#[derive(Debug)]
pub(crate) struct ThreadTime {
    /// `None` where the kernel keeps no such account.
    schedstat: Option<File>,
    before: Had,
}

/// What a thread had, all in all or since some instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Had {
    /// CPU time.
    pub(crate) used: Duration,
    /// Time in the run queue.
    pub(crate) waited: Duration,
    /// How often it got onto a CPU.
    pub(crate) turns: u64,
}

impl ThreadTime {
    /// Counts from now on.
    pub(crate) fn of_this_thread() -> Self {
        let mut time = Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            before: Had::default(),
        };
        time.since_last();
        time
    }

    /// What it had since the last call.
    pub(crate) fn since_last(&mut self) -> Had {
        let told = self.schedstat.as_ref().and_then(read);
        let (waited, turns) = told.unwrap_or((self.before.waited, self.before.turns));
        let now = Had {
            used: thread_cpu(),
            waited,
            turns,
        };
        let before = std::mem::replace(&mut self.before, now);
        Had {
            used: now.used.saturating_sub(before.used),
            waited: now.waited.saturating_sub(before.waited),
            turns: now.turns.saturating_sub(before.turns),
        }
    }
}

fn read(schedstat: &File) -> Option<(Duration, u64)> {
    let mut bytes = [0; SCHEDSTAT_MAX_BYTES];
    let length = schedstat.read_at(&mut bytes, 0).ok()?;
    waited_and_turns(std::str::from_utf8(&bytes[..length]).ok()?)
}

/// The last two of the three numbers: nanoseconds on a CPU, nanoseconds in the run queue, turns on a CPU.
fn waited_and_turns(schedstat: &str) -> Option<(Duration, u64)> {
    let mut numbers = schedstat.split_ascii_whitespace().skip(1);
    let nanoseconds = numbers.next()?.parse().ok()?;
    Some((
        Duration::from_nanos(nanoseconds),
        numbers.next()?.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_account_is_read() {
        let check = |text: &str, expected: Option<(u64, u64)>| {
            let expected = expected.map(|(waited, turns)| (Duration::from_nanos(waited), turns));
            assert_eq!(waited_and_turns(text), expected, "{text:?}");
        };
        check("269289768 725650819 77\n", Some((725_650_819, 77)));
        check("1 0 1\n", Some((0, 1)));
        check("1 0\n", None);
        check("", None);
        check("1 x 1\n", None);
    }
}

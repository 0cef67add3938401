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
    used: Duration,
    waited: Duration,
}

impl ThreadTime {
    /// Counts from now on.
    pub(crate) fn of_this_thread() -> Self {
        let mut time = Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            used: Duration::ZERO,
            waited: Duration::ZERO,
        };
        time.since_last();
        time
    }

    /// CPU time used, and time spent waiting in the run queue, since the last call.
    pub(crate) fn since_last(&mut self) -> (Duration, Duration) {
        let used = thread_cpu();
        let waited = self.schedstat.as_ref().and_then(waited);
        let waited = waited.unwrap_or(self.waited);
        let before = (
            std::mem::replace(&mut self.used, used),
            std::mem::replace(&mut self.waited, waited),
        );
        (
            used.saturating_sub(before.0),
            waited.saturating_sub(before.1),
        )
    }
}

fn waited(schedstat: &File) -> Option<Duration> {
    let mut bytes = [0; SCHEDSTAT_MAX_BYTES];
    let length = schedstat.read_at(&mut bytes, 0).ok()?;
    in_run_queue(std::str::from_utf8(&bytes[..length]).ok()?)
}

/// The second of the three numbers: nanoseconds on a CPU, nanoseconds in the run queue, turns on a CPU.
fn in_run_queue(schedstat: &str) -> Option<Duration> {
    let nanoseconds = schedstat.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_time_in_the_run_queue() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(
                in_run_queue(text),
                expected.map(Duration::from_nanos),
                "{text:?}"
            );
        };
        check("269289768 725650819 77\n", Some(725_650_819));
        check("1 0 1\n", Some(0));
        check("1\n", None);
        check("", None);
        check("1 x 1\n", None);
    }
}

//! CPU time of a worker thread, and its time in the run queue.
//!
//! A thread that others keep off its CPU uses little CPU time and looks idle; its time in the run queue shows the difference.
//! Only the kernel knows that time, so it is read from `/proc` once per interval, through a file opened at the start.

use std::{fs::File, os::unix::fs::FileExt, time::Duration};

use super::clock::thread_cpu;

/// Three numbers of up to twenty digits.
const SCHEDSTAT_MAX_BYTES: usize = 64;

/// The clocks of one thread, which only that thread reads.
#[derive(Debug)]
pub(crate) struct ThreadTime {
    /// `None` if the kernel has no scheduler statistics.
    schedstat: Option<File>,
    before: ThreadUsage,
}

/// CPU usage of a thread, in total or since some instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    /// CPU time.
    pub(crate) used: Duration,
    /// Time in the run queue.
    pub(crate) waited: Duration,
    /// Number of time slices.
    pub(crate) time_slices: u64,
}

impl ThreadTime {
    /// Counts from now on.
    pub(crate) fn for_this_thread() -> Self {
        let mut time = Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            before: ThreadUsage::default(),
        };
        time.since_last();
        time
    }

    /// Usage since the last call.
    pub(crate) fn since_last(&mut self) -> ThreadUsage {
        let reading = self.schedstat.as_ref().and_then(read);
        let (waited, time_slices) =
            reading.unwrap_or((self.before.waited, self.before.time_slices));
        let now = ThreadUsage {
            used: thread_cpu(),
            waited,
            time_slices,
        };
        let before = std::mem::replace(&mut self.before, now);
        ThreadUsage {
            used: now.used.saturating_sub(before.used),
            waited: now.waited.saturating_sub(before.waited),
            time_slices: now.time_slices.saturating_sub(before.time_slices),
        }
    }
}

fn read(schedstat: &File) -> Option<(Duration, u64)> {
    let mut bytes = [0; SCHEDSTAT_MAX_BYTES];
    let length = schedstat.read_at(&mut bytes, 0).ok()?;
    wait_and_time_slices(std::str::from_utf8(&bytes[..length]).ok()?)
}

/// The last two of the three numbers: nanoseconds on a CPU, nanoseconds in the run queue, time slices.
fn wait_and_time_slices(schedstat: &str) -> Option<(Duration, u64)> {
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
    fn scheduler_statistics_of_the_kernel_are_read() {
        let check = |text: &str, expected: Option<(u64, u64)>| {
            let expected =
                expected.map(|(waited, time_slices)| (Duration::from_nanos(waited), time_slices));
            assert_eq!(wait_and_time_slices(text), expected, "{text:?}");
        };
        check("269289768 725650819 77\n", Some((725_650_819, 77)));
        check("1 0 1\n", Some((0, 1)));
        check("1 0\n", None);
        check("", None);
        check("1 x 1\n", None);
    }
}

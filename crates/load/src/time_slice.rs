//! How soon a worker gets its CPU when it wakes and another thread has it: the one place that asks the kernel by hand.
//!
//! The others on a worker's CPU are those that look: at the system's processes, its queues, the place where records arrive. A look takes
//! milliseconds, and who is in the middle of a slice is left there to its end (1.4 ms on two CPUs). Whoever asks for a short slice is
//! let in at once and gets no larger share for it. Kernels from Linux 6.12 on take that wish; older ones keep no such number.

use std::{io, mem::size_of, time::Duration};

/// The shortest that the kernel grants.
const SLICE: Duration = Duration::from_micros(100);

/// Asks for a short slice for the calling thread. Where that is refused, the thread is as late as it would have been: lateness is
/// measured and judged in every trial, so there is nothing else to do about it.
pub(crate) fn shorten() -> io::Result<()> {
    let mut wish = attributes()?;
    // A class of fixed priority, which somebody gave to waggle as a whole, is let in at once as it is.
    if wish.sched_policy == libc::SCHED_OTHER.cast_unsigned() {
        wish.sched_runtime = SLICE.as_nanos() as u64;
        set(&wish)?;
    }
    Ok(())
}

const THIS_THREAD: libc::pid_t = 0;
const NO_FLAGS: libc::c_uint = 0;

#[expect(
    unsafe_code,
    reason = "neither rustix nor the standard library has this call"
)]
fn attributes() -> io::Result<libc::sched_attr> {
    let size = size_of::<libc::sched_attr>();
    // SAFETY: it is made of numbers alone, for all of which zero is a value.
    let mut found: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes no more than `size` bytes to the address, which is that of a value of that size.
    let told = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            THIS_THREAD,
            &raw mut found,
            size as libc::c_uint,
            NO_FLAGS,
        )
    };
    check_result(told).map(|()| found)
}

#[expect(
    unsafe_code,
    reason = "neither rustix nor the standard library has this call"
)]
fn set(wish: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the value says in its field `size`, which came from the kernel itself for this type.
    let told = unsafe {
        libc::syscall(
            libc::SYS_sched_setattr,
            THIS_THREAD,
            std::ptr::from_ref(wish),
            NO_FLAGS,
        )
    };
    check_result(told)
}

fn check_result(told: libc::c_long) -> io::Result<()> {
    if told == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::{SLICE, attributes, shorten};

    #[test]
    fn the_slice_becomes_short_and_nothing_else_changes() {
        let before = attributes().unwrap();
        shorten().unwrap();
        let after = attributes().unwrap();
        assert_eq!(
            (after.sched_policy, after.sched_nice, after.sched_flags),
            (before.sched_policy, before.sched_nice, before.sched_flags)
        );
        // Zero from kernels that do not know of it.
        if before.sched_runtime > 0 {
            assert_eq!(u128::from(after.sched_runtime), SLICE.as_nanos());
        } else {
            assert_eq!(after.sched_runtime, 0);
        }
    }
}

//! Requests a short scheduler time slice, so that a worker that wakes gets its CPU soon. The only `unsafe` system calls are here.
//!
//! A worker shares its CPU with threads that sample: the system's processes, its queues, the stores with records. One sample
//! takes milliseconds, and the kernel lets a running time slice end first (1.4 ms on two CPUs). A thread that requests a short
//! slice preempts at once, and its share of the CPU stays the same. Kernels from Linux 6.12 on support that; older ones ignore
//! the number.

use std::{io, mem::size_of, time::Duration};

/// The shortest that the kernel grants.
const SLICE: Duration = Duration::from_micros(100);

/// Requests a short slice for the calling thread. If that is refused, the thread is as late as before; lateness is measured and
/// judged in every trial, so the error can be ignored.
pub(crate) fn shorten() -> io::Result<()> {
    let mut wish = attributes()?;
    // A real-time class, set from outside for the whole process, preempts at once anyway.
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
    // SAFETY: it consists of integers, for all of which zero is valid.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes no more than `size` bytes to the address, which is that of a value of that size.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            THIS_THREAD,
            &raw mut attributes,
            size as libc::c_uint,
            NO_FLAGS,
        )
    };
    check_result(result).map(|()| attributes)
}

#[expect(
    unsafe_code,
    reason = "neither rustix nor the standard library has this call"
)]
fn set(wish: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the value says in its field `size`, which came from the kernel itself for this
    // type.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setattr,
            THIS_THREAD,
            std::ptr::from_ref(wish),
            NO_FLAGS,
        )
    };
    check_result(result)
}

fn check_result(result: libc::c_long) -> io::Result<()> {
    if result == 0 {
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
        // Zero from kernels without this feature.
        if before.sched_runtime > 0 {
            assert_eq!(u128::from(after.sched_runtime), SLICE.as_nanos());
        } else {
            assert_eq!(after.sched_runtime, 0);
        }
    }
}

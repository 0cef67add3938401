//! The machine below a load: clocks, CPU time of threads, the scheduler, source addresses. Most system calls are here.

pub(crate) mod clock;
pub(crate) mod source_address;
pub(crate) mod thread_time;
pub(crate) mod time_slice;

//! Threads that take CPU only when nobody else wants it.

use preempt_rt::sched::{Pid, Scheduler, SchedulerParams, set_scheduler};

/// Puts the calling thread, and those that it starts, into the idle scheduling class. Where that is refused, its nice value counts alone.
pub fn yield_to_all() {
    let priority = SchedulerParams { priority: 0 };
    set_scheduler(Pid::current_thread(), Scheduler::SCHED_IDLE, priority).ok();
}

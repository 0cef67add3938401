//! The priority of threads that must not disturb the load generator.

use waggle_system::cpus;

/// Nice value of such a thread.
const NICE: i32 = 15;

/// Keeps this thread off the CPUs of the load generator if there are others, and lowers its priority. Errors are ignored.
pub(crate) fn out_of_the_way(engine_cpus: &[usize]) {
    let _ = rustix::process::setpriority_process(None, NICE);
    let mut others = rustix::thread::CpuSet::new();
    let free: Vec<usize> = cpus::allowed_cpus()
        .into_iter()
        .filter(|cpu| !engine_cpus.contains(cpu))
        .collect();
    for cpu in &free {
        others.set(*cpu);
    }
    if !free.is_empty() && !engine_cpus.is_empty() {
        let _ = rustix::thread::sched_setaffinity(None, &others);
    }
}

//! The run queue time of a worker shows that others keep it off its CPU.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::support::{OK, closed_model, job, run};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use waggle_load::NullServer;

/// Threads that use one CPU fully, until dropped.
struct Hogs {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    fn start(cpu: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let hog = |stop: Arc<AtomicBool>| {
            move || {
                let mut set = CpuSet::new();
                set.set(cpu);
                sched_setaffinity(None, &set).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let threads = (0..3)
            .map(|_| std::thread::spawn(hog(Arc::clone(&stop))))
            .collect();
        Self { stop, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

#[test]
fn run_queue_time_of_a_worker_is_reported_with_its_cpu_time() {
    let allowed = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU)
        .find(|cpu| allowed.is_set(*cpu))
        .unwrap();
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), OK).unwrap();
    let mut job = job(server.address(), closed_model(10, 1));
    job.workers = vec![Some(cpu)];
    job.max_duration = Duration::from_secs(1);
    let hogs = Hogs::start(cpu);
    let ended = run(job);
    drop(hogs);
    ended.check_sums();
    let counts = ended.counts();
    // Four share the CPU. How long the worker waits depends on the kernel; that it waits is certain.
    let waited = counts.engine_cpu_wanted_busiest - counts.engine_cpu_busiest;
    assert!(waited > Duration::ZERO, "{counts:?}");
    assert_eq!(waited, counts.engine_run_queue_wait, "there is one worker");
    assert!(counts.engine_time_slices > 0, "{counts:?}");
}

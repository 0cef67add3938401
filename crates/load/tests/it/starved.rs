//! A worker that others keep off its CPU says so by its own figures.

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

/// Threads that do nothing but use one CPU, until dropped.
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
fn what_a_worker_waits_for_its_cpu_is_told_beside_what_it_had() {
    let allowed = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU)
        .find(|cpu| allowed.is_set(*cpu))
        .unwrap();
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), OK).unwrap();
    let mut job = job(server.address(), closed_model(10, 1));
    job.workers = vec![Some(cpu)];
    job.at_most = Duration::from_secs(1);
    let hogs = Hogs::start(cpu);
    let ended = run(job);
    drop(hogs);
    ended.check_sums();
    let counts = ended.counts();
    // Four share the CPU. How long the worker waits for it is the kernel's affair; that it does is certain.
    let waited = counts.engine_wanted_busiest - counts.engine_cpu_busiest;
    assert!(waited > Duration::ZERO, "{counts:?}");
    assert_eq!(waited, counts.engine_waited, "there is one worker");
    assert!(counts.engine_turns > 0, "{counts:?}");
}

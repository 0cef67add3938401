//! Which CPUs the load and the system get, and how threads are pinned to them.

use std::{fs, io};

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// How the CPUs are shared out. If there is only one, nothing is pinned and every list is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    /// One engine thread on each.
    pub engine: Vec<usize>,
    /// For the runner's own thread and all other threads of this process.
    pub runner: Vec<usize>,
    pub system: Vec<usize>,
    /// CPUs of each agent that makes the load on another host; empty: the engine is on this machine.
    pub agents: Vec<u32>,
}

/// From this number of load CPUs on, the runner gets one of its own, so that the probe does not compete with the engine.
const LOAD_CPUS_TO_SPARE: usize = 3;

/// Half of the CPUs for the load, the rest for the system; the sets are disjoint.
#[must_use]
pub fn share(allowed: &[usize]) -> Shares {
    if allowed.len() < 2 {
        return Shares::default();
    }
    let (load, system) = allowed.split_at(allowed.len() / 2);
    let (runner, engine) = if load.len() >= LOAD_CPUS_TO_SPARE {
        load.split_at(1)
    } else {
        (load, load)
    };
    Shares {
        engine: engine.to_vec(),
        runner: runner.to_vec(),
        system: system.to_vec(),
        agents: Vec::new(),
    }
}

/// These CPUs for the load and these for the system, as far as they are named: one of the two gets what the other one does not have.
/// With neither it is [`share`].
#[must_use]
pub fn share_for(load: &[usize], system: &[usize], allowed: &[usize]) -> Shares {
    if load.is_empty() && system.is_empty() {
        return share(allowed);
    }
    let load_cpus = cpus_or_rest(load, system, allowed);
    Shares {
        runner: load_cpus.clone(),
        engine: load_cpus,
        system: cpus_or_rest(system, load, allowed),
        agents: Vec::new(),
    }
}

/// The named CPUs; if there are none, those allowed that are not the others'.
fn cpus_or_rest(named: &[usize], others: &[usize], allowed: &[usize]) -> Vec<usize> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let rest = allowed.iter().filter(|cpu| !others.contains(cpu));
    rest.copied().collect()
}

impl Shares {
    /// Two halves, for two versions that run at the same time; `None`: there are fewer than two CPUs. With less than two on one side
    /// load and system of a version share the CPUs of its half.
    #[must_use]
    pub fn halves(&self) -> Option<[Self; 2]> {
        let half = |engine: &[usize], system: &[usize]| Self {
            engine: engine.to_vec(),
            runner: self.runner.clone(),
            system: system.to_vec(),
            agents: Vec::new(),
        };
        if self.engine.len() >= 2 && self.system.len() >= 2 {
            let (first_load, second_load) = self.engine.split_at(self.engine.len() / 2);
            let (first, second) = self.system.split_at(self.system.len() / 2);
            return Some([half(first_load, first), half(second_load, second)]);
        }
        let mut all: Vec<usize> = self.engine.iter().chain(&self.system).copied().collect();
        all.sort_unstable();
        all.dedup();
        let (first, second) = all.split_at(all.len() / 2);
        (!first.is_empty()).then(|| [half(first, first), half(second, second)])
    }

    /// Whether both have CPUs of their own.
    #[must_use]
    pub fn are_disjoint(&self) -> bool {
        !self.engine.is_empty() && !self.system.is_empty()
    }

    /// The load is made by agents: all of this machine is the system's, and the runner's.
    #[must_use]
    pub fn without_load(self) -> Self {
        let mut all = [self.engine, self.runner, self.system].concat();
        all.sort_unstable();
        all.dedup();
        Self {
            engine: Vec::new(),
            runner: Vec::new(),
            system: all,
            agents: Vec::new(),
        }
    }

    /// Every CPU of the load's side.
    #[must_use]
    pub fn load(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.runner.iter().chain(&self.engine).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// One entry per engine thread: as many as asked, or one per CPU of the engine, but at least one for each generator.
    #[must_use]
    pub fn workers(&self, asked: Option<u32>, generators: u32) -> Vec<Option<usize>> {
        let agents = self.agents.iter().take(generators as usize);
        let of_agents: usize = agents.map(|cpus| *cpus as usize).sum();
        let most = self.engine.len().max(of_agents);
        let count = asked.map_or(most, |asked| asked as usize);
        (0..count.max(generators as usize).max(1))
            .map(|worker| {
                (!self.engine.is_empty()).then(|| self.engine[worker % self.engine.len()])
            })
            .collect()
    }
}

/// The CPUs this process may use.
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect()
}

/// Pins every thread of this process to `cpus`; later threads inherit it. An empty list changes nothing.
pub fn pin_this_process(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let set = set_of(cpus);
    for thread in fs::read_dir("/proc/self/task")? {
        let id = thread?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw);
        // A thread that has ended in the meantime needs no CPU.
        if let Some(id) = id {
            sched_setaffinity(Some(id), &set).ok();
        }
    }
    Ok(())
}

/// Pins the calling thread to `cpus`. An empty list changes nothing.
pub fn pin_this_thread(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    Ok(sched_setaffinity(None, &set_of(cpus))?)
}

fn set_of(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    set
}

/// Parses `1,3`, as [`cpu_list`] writes it.
pub fn parse(text: &str) -> Vec<usize> {
    text.split(',').filter_map(|cpu| cpu.parse().ok()).collect()
}

/// CPUs as an argument of a command line.
pub fn cpu_list(cpus: &[usize]) -> String {
    cpus.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::{cpu_list, parse, share};

    #[track_caller]
    fn check(cpus: &[usize], engine: &[usize], runner: &[usize], system: &[usize]) {
        let shares = share(cpus);
        assert_eq!(
            (&*shares.engine, &*shares.runner, &*shares.system),
            (engine, runner, system)
        );
        assert!(shares.load().iter().all(|cpu| !shares.system.contains(cpu)));
    }

    #[test]
    fn load_and_system_never_share_a_cpu() {
        check(&[], &[], &[], &[]);
        check(&[4], &[], &[], &[]);
        check(&[0, 1], &[0], &[0], &[1]);
        check(&[0, 2, 5], &[0], &[0], &[2, 5]);
        check(&[0, 1, 2, 3], &[0, 1], &[0, 1], &[2, 3]);
        check(&[0, 1, 2, 3, 4, 5], &[1, 2], &[0], &[3, 4, 5]);
    }

    #[test]
    fn what_the_load_is_not_given_is_the_system_s() {
        let check = |load: &[usize], system: &[usize], expected: (&[usize], &[usize])| {
            let shares = super::share_for(load, system, &[0, 1, 2, 3]);
            let parts = (&shares.engine[..], &shares.system[..]);
            assert_eq!(parts, expected, "{load:?} {system:?}");
        };
        check(&[3, 1], &[], (&[3, 1], &[0, 2]));
        check(&[], &[3, 1], (&[0, 2], &[3, 1]));
        check(&[2], &[0], (&[2], &[0]));
        check(&[], &[], (&[0, 1], &[2, 3]));
        check(&[0, 1, 2, 3], &[], (&[0, 1, 2, 3], &[]));
        check(&[], &[0, 1, 2, 3], (&[], &[0, 1, 2, 3]));
        let shares = super::share_for(&[3, 1], &[], &[0, 1, 2, 3]);
        assert_eq!(shares.load(), [1, 3]);
        assert_eq!(shares.workers(Some(3), 1), [Some(3), Some(1), Some(3)]);
    }

    #[test]
    fn halves_are_disjoint_and_as_large() {
        let check = |cpus: &[usize], expected: Option<[(&[usize], &[usize]); 2]>| {
            let halves = share(cpus).halves();
            let actual = halves.as_ref().map(|halves| {
                halves
                    .each_ref()
                    .map(|half| (&half.engine[..], &half.system[..]))
            });
            assert_eq!(actual, expected, "{cpus:?}");
        };
        check(&[4], None);
        check(&[0, 1], Some([(&[0], &[0]), (&[1], &[1])]));
        check(&[0, 1, 2], Some([(&[0], &[0]), (&[1, 2], &[1, 2])]));
        check(&[0, 1, 2, 3], Some([(&[0], &[2]), (&[1], &[3])]));
    }

    #[test]
    fn more_workers_than_cpus_take_turns() {
        let check = |cpus: &[usize], asked, generators, expected: &[Option<usize>]| {
            let workers = share(cpus).workers(asked, generators);
            assert_eq!(workers, expected, "{cpus:?} {asked:?}");
        };
        check(&[0, 1], Some(3), 1, &[Some(0); 3]);
        check(&[0, 1, 2, 3], None, 1, &[Some(0), Some(1)]);
        check(&[0], Some(2), 1, &[None, None]);
        check(&[0], None, 1, &[None]);
        // Each generator has a worker.
        check(&[0, 1, 2, 3], None, 3, &[Some(0), Some(1), Some(0)]);
        check(
            &[0, 1, 2, 3],
            Some(4),
            3,
            &[Some(0), Some(1), Some(0), Some(1)],
        );
    }

    #[test]
    fn what_is_written_is_parsed() {
        assert_eq!(parse(&cpu_list(&[1, 3, 12])), vec![1, 3, 12]);
        assert_eq!(parse(&cpu_list(&[])), Vec::<usize>::new());
    }
}

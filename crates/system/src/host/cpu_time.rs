//! How CPUs spent their time, from `/proc/stat`: busy, idle, or stolen by the host of a virtual machine.
//!
//! The time of idle polling counts as idle.

use std::{fs, time::Duration};

use waggle_results::MachineInfo;

use crate::host::{
    proc,
    usage::{INSTRUMENT, Usage, of_system},
};

/// CPUs whose time is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuClocks {
    /// Empty: all CPUs of the machine.
    pub cpus: Vec<usize>,
    /// The process of idle polling.
    pub loops: Option<u32>,
}

/// Running totals over CPUs, in the kernel's ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    pub all: u64,
    /// Without work, or running only a loop of idle polling.
    pub idle: u64,
    /// Stolen by the machine's host while the CPU had work to do.
    pub stolen: u64,
}

/// CPU time so far: of the CPUs, and of the processes that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuReading {
    pub ticks: Ticks,
    /// How many CPUs they are of.
    pub cpus: u32,
    /// Of waggle.
    pub own: Duration,
    /// Of the system, as far as it is known.
    pub system: Duration,
    /// All of the system that runs on this machine is known.
    pub is_whole: bool,
}

impl CpuReading {
    /// The use of the CPUs since an earlier reading, in shares and cores; `None` if no time has passed.
    pub fn machine_since(self, before: Self) -> Option<MachineInfo> {
        let shares = self.ticks.shares_since(before.ticks)?;
        let per_s = rustix::param::clock_ticks_per_second();
        let ticks = self.ticks.all.saturating_sub(before.ticks.all);
        let cpus = f64::from(self.cpus);
        let seconds = share(ticks, per_s) / cpus;
        let cores =
            |now: Duration, before: Duration| now.saturating_sub(before).as_secs_f64() / seconds;
        let instrument = cores(self.own, before.own);
        let system = cores(self.system, before.system);
        let busy = cpus * (1.0 - shares.cpu_idle - shares.cpu_steal);
        let is_whole = self.is_whole && before.is_whole;
        Some(MachineInfo {
            own_cores: Some(instrument),
            system_cores: is_whole.then_some(system),
            // Known processes may run on CPUs that waggle may not use.
            other_cores: is_whole.then_some((busy - instrument - system).max(0.0)),
            ..shares
        })
    }
}

impl CpuReading {
    /// Cores that others used since an earlier reading; what of the system is not known counts as theirs.
    pub fn other_cores_since(self, before: Self) -> Option<f64> {
        let as_whole = |reading: Self| Self {
            is_whole: true,
            ..reading
        };
        as_whole(self).machine_since(as_whole(before))?.other_cores
    }
}

impl CpuClocks {
    /// With what is known of processes by their rows; `is_whole`: they have all of the system that runs on this machine.
    pub fn reading(&self, usage: &[Usage], is_whole: bool) -> Option<CpuReading> {
        let ticks = self.read()?;
        let instrument_usage = usage.iter().filter(|used| used.replica == INSTRUMENT);
        Some(CpuReading {
            ticks,
            cpus: u32::try_from(self.cpus.len())
                .ok()
                .filter(|cpus| *cpus > 0)?,
            own: instrument_usage.map(|used| used.cpu).sum(),
            system: of_system(usage),
            is_whole,
        })
    }

    /// `None` if `/proc` cannot be read.
    pub fn read(&self) -> Option<Ticks> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let ticks = Ticks::parse(&text, &self.cpus)?;
        let of_loops = self.loops.and_then(proc::process_usage);
        Some(ticks.with_loops(of_loops.map_or(Duration::ZERO, |used| used.cpu)))
    }

    /// False if loops were started and have ended.
    pub fn loops_run(&self) -> bool {
        self.loops.is_none_or(proc::runs)
    }
}

impl Ticks {
    /// Parsed here and not by procfs, which numbers CPUs by line: the line of an offline CPU is missing. `/proc/stat` begins with
    /// the sum over all CPUs, then has a line for each: `cpu0 user nice system idle iowait irq softirq steal …`.
    fn parse(text: &str, cpus: &[usize]) -> Option<Self> {
        let lines = text.lines().map_while(|line| line.strip_prefix("cpu"));
        let mut sum: Option<Self> = None;
        for line in lines {
            let (name, numbers) = line.split_once(' ')?;
            let is_asked_for = match name.parse() {
                Ok(cpu) => cpus.contains(&cpu),
                Err(_) => cpus.is_empty(),
            };
            if is_asked_for {
                let sum = sum.get_or_insert_default();
                sum.add(numbers)?;
            }
        }
        sum
    }

    fn add(&mut self, numbers: &str) -> Option<()> {
        let ticks: Vec<u64> = numbers
            .split_whitespace()
            .take(8)
            .map_while(|tick| tick.parse().ok())
            .collect();
        self.all += ticks.iter().sum::<u64>();
        self.idle += ticks.get(3)? + ticks.get(4)?;
        self.stolen += ticks.get(7).copied().unwrap_or(0);
        Some(())
    }

    fn with_loops(mut self, loops: Duration) -> Self {
        let ticks = u128::from(rustix::param::clock_ticks_per_second());
        let idle = loops.as_nanos() * ticks / Duration::from_secs(1).as_nanos();
        self.idle += u64::try_from(idle).unwrap_or(u64::MAX);
        self
    }

    /// Shares of the time since an earlier reading; `None` if no time has passed.
    pub fn shares_since(self, before: Self) -> Option<MachineInfo> {
        let all = self.all.saturating_sub(before.all);
        let stolen = self.stolen.saturating_sub(before.stolen).min(all);
        // The time of a loop has a finer resolution than that of a CPU, and may include stolen time.
        let idle = self.idle.saturating_sub(before.idle).min(all - stolen);
        (all > 0).then(|| MachineInfo {
            cpu_steal: share(stolen, all),
            cpu_idle: share(idle, all),
            ..MachineInfo::default()
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ticks of one run are far below 2^52"
)]
fn share(part: u64, all: u64) -> f64 {
    part as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waggle_results::MachineInfo;

    use super::{CpuClocks, CpuReading, Ticks};

    const STAT: &str = "cpu  30 4 6 150 10 0 0 20 0 0\ncpu0 10 2 3 80 5 0 0 0 0 0\ncpu1 20 2 3 70 5 0 0 20 0 0\nintr 1\n";

    #[test]
    fn clocks_of_all_or_of_some_cpus_are_read() {
        let check = |text: &str, cpus: &[usize], expected: Option<[u64; 3]>| {
            let expected = expected.map(|[all, idle, stolen]| Ticks { all, idle, stolen });
            assert_eq!(Ticks::parse(text, cpus), expected, "{text:?} {cpus:?}");
        };
        check(STAT, &[], Some([220, 160, 20]));
        check(STAT, &[0, 1], Some([220, 160, 20]));
        check(STAT, &[1], Some([120, 75, 20]));
        check(STAT, &[7], None);
        check("cpu  10 2 3 80 5\n", &[], Some([100, 85, 0]));
        check("cpu  10 2 3\n", &[], None);
        check("intr 1\n", &[], None);
        check("", &[], None);
    }

    #[test]
    fn shares_are_of_the_time_between_two_readings() {
        let before = Ticks {
            all: 1_000,
            idle: 500,
            stolen: 100,
        };
        let check = |all: u64, idle: u64, stolen: u64, expected: Option<(f64, f64)>| {
            let now = Ticks { all, idle, stolen };
            let expected = expected.map(|(cpu_steal, cpu_idle)| MachineInfo {
                cpu_steal,
                cpu_idle,
                ..MachineInfo::default()
            });
            assert_eq!(now.shares_since(before), expected, "{now:?}");
        };
        check(1_000, 500, 100, None);
        check(1_200, 600, 150, Some((0.25, 0.5)));
        // The time of loops that have ended is no longer read.
        check(1_200, 400, 100, Some((0.0, 0.0)));
        // Idle time is at most the time that was not stolen.
        check(1_200, 900, 150, Some((0.25, 0.75)));
    }

    #[test]
    fn what_nobody_known_used_others_did() {
        let per_s = rustix::param::clock_ticks_per_second();
        let reading = |seconds: u64, busy_s: u64, own_ms: u64, system_ms: u64| CpuReading {
            ticks: Ticks {
                all: 2 * seconds * per_s,
                idle: (2 * seconds - busy_s) * per_s,
                stolen: 0,
            },
            cpus: 2,
            own: Duration::from_millis(own_ms),
            system: Duration::from_millis(system_ms),
            is_whole: true,
        };
        let before = reading(100, 50, 3_000, 4_000);
        let check = |now: CpuReading, expected: Option<[f64; 2]>| {
            let usage = now.machine_since(before).unwrap();
            let usage = usage.system_cores.zip(usage.other_cores);
            assert_eq!(
                usage.map(|(system, others)| [system, others]),
                expected,
                "{now:?}"
            );
        };
        // 4 s: 6 s of CPU, of which waggle had 1 s and the system 2 s.
        check(reading(104, 56, 4_000, 6_000), Some([0.5, 0.75]));
        check(reading(104, 53, 4_000, 6_000), Some([0.5, 0.0]));
        // More than there was: some of it was on other CPUs.
        check(reading(104, 51, 4_000, 6_000), Some([0.5, 0.0]));
        let unknown = CpuReading {
            is_whole: false,
            ..reading(104, 56, 4_000, 6_000)
        };
        check(unknown, None);
        assert_eq!(before.machine_since(before), None);
    }

    #[test]
    fn a_loop_is_no_work() {
        let ticks = u64::from(
            u32::try_from(rustix::param::clock_ticks_per_second()).expect("some hundred a second"),
        );
        // Two CPUs for a second: one works for half of it, and the loops have the rest.
        let busy = Ticks {
            all: 2 * ticks,
            idle: 0,
            stolen: 0,
        };
        let with_loops = busy.with_loops(Duration::from_millis(1_500));
        let shares = with_loops.shares_since(Ticks::default()).unwrap();
        assert!((shares.cpu_idle - 0.75).abs() < 0.02, "{shares:?}");
    }

    #[test]
    fn this_machine_has_ticks_and_missing_loops_are_noticed() {
        let mut clocks = CpuClocks {
            cpus: crate::host::cpus::allowed_cpus(),
            loops: Some(std::process::id()),
        };
        let ticks = clocks.read().unwrap();
        assert!(ticks.all > 0, "{ticks:?}");
        assert!(clocks.loops_run());
        clocks.loops = Some(u32::MAX);
        assert!(!clocks.loops_run());
        clocks.loops = None;
        assert!(clocks.loops_run());
    }
}

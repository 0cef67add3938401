//! Where the reasons of a verdict come from, as far as the numbers show it, and what may be done.
//!
//! A reason says what is wrong with a trial; a cause says who did it. Nothing is guessed: without a cause there is none to name.

use crate::{
    judgement::{
        checks::{BUSY_LIMIT, CPU_STEAL_MAX, MOSTLY_IDLE, OTHER_CPU_MAX},
        finding::{
            Change, Finding, InstrumentFinding, LatenessFinding, NthGenerator, SystemFinding,
        },
        reason::Reason,
        verdict::Verdict,
    },
    over_time::{steady::Series, trial_facts::Machine},
};

/// CPUs that have less idle time than this are busy.
const BUSY_FROM: f64 = 0.90;
/// The change of a level that a longer warm-up takes with it is over by then, unless it is known when it was.
const WARM_UP_MIN_S: f64 = 2.0;

/// Who is behind a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cause {
    /// Other programs used much of the CPU.
    OtherPrograms(CpuUse),
    /// The CPUs were busy, and it is not known with what.
    BusyCpus(CpuUse),
    /// The system and waggle together filled the CPUs.
    SharedCpus(CpuUse),
    /// The host of the virtual machine took this share of the CPU time; whether idle polling was on.
    CpuSteal { share: f64, idle_poll: bool },
    /// The load generator was late although this share of the CPU time was idle: a CPU that halts wakes up late.
    HaltedCpus { idle: f64 },
    /// A worker of the load generator used all of its CPU.
    FullWorker {
        busy: f64,
        generator: Option<NthGenerator>,
    },
    /// The system was still getting faster: the measured phase began too early.
    WarmingUp { ratio: f64, warm_up_min_s: f64 },
}

/// Who used the CPUs, in cores.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuUse {
    pub cpus: u32,
    /// Share of their time that was neither idle nor stolen.
    pub busy: f64,
    pub own_cores: Option<f64>,
    pub system_cores: Option<f64>,
    pub other_cores: Option<f64>,
}

/// What may be done about a cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Remedy {
    StopPrograms,
    IdlePoll,
    /// A host with fewer virtual machines, or CPUs of one's own: idle polling is on already.
    QuieterHost,
    MoreWorkers,
    /// The load generator and the system need CPUs of their own, or less load.
    SeparateCpus,
    LongerWarmUp {
        min_s: f64,
    },
}

impl Cause {
    /// What may be done.
    #[must_use]
    pub fn remedy(self) -> Remedy {
        match self {
            Self::OtherPrograms(_) | Self::BusyCpus(_) => Remedy::StopPrograms,
            Self::SharedCpus(_) => Remedy::SeparateCpus,
            Self::CpuSteal {
                idle_poll: true, ..
            } => Remedy::QuieterHost,
            Self::CpuSteal { .. } | Self::HaltedCpus { .. } => Remedy::IdlePoll,
            Self::FullWorker { .. } => Remedy::MoreWorkers,
            Self::WarmingUp { warm_up_min_s, .. } => Remedy::LongerWarmUp {
                min_s: warm_up_min_s,
            },
        }
    }
}

/// The causes of a trial's reasons, the most likely first; empty if the numbers show none.
#[must_use]
pub fn causes(reasons: &[Reason], machine: Option<&Machine>) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    let needs_cpu = reasons.iter().any(is_want_of_cpu);
    if let Some(machine) = machine.filter(|_| needs_cpu) {
        causes.extend(of_machine(reasons, machine));
    }
    causes.extend(reasons.iter().find_map(full_worker));
    causes.extend(reasons.iter().find_map(warming_up));
    causes
}

/// Whether want of CPU can be behind it.
fn is_want_of_cpu(reason: &Reason) -> bool {
    let late = matches!(
        reason.finding,
        Finding::Lateness(_) | Finding::Instrument(InstrumentFinding::Rate { .. })
    );
    late || matches!(reason.verdict, Verdict::Contended | Verdict::Unsteady)
}

fn of_machine(reasons: &[Reason], machine: &Machine) -> Vec<Cause> {
    let busy = (1.0 - machine.cpu_idle - machine.cpu_steal).clamp(0.0, 1.0);
    let used = CpuUse {
        cpus: machine.cpus,
        busy,
        own_cores: machine.own_cores,
        system_cores: machine.system_cores,
        other_cores: machine.other_cores,
    };
    let is_full = busy + machine.cpu_steal >= BUSY_FROM;
    let limit = OTHER_CPU_MAX * f64::from(machine.cpus);
    let by = |verdict: Verdict| reasons.iter().any(|reason| reason.verdict == verdict);
    let late = by(Verdict::InstrumentLimited);
    let mut causes = Vec::new();
    match machine.other_cores {
        Some(cores) if cores >= limit && machine.cpus > 0 => {
            causes.push(Cause::OtherPrograms(used));
        }
        Some(_) if is_full && late => causes.push(Cause::SharedCpus(used)),
        None if is_full && late => causes.push(Cause::BusyCpus(used)),
        Some(_) | None => {}
    }
    if machine.cpu_steal >= CPU_STEAL_MAX {
        causes.push(Cause::CpuSteal {
            share: machine.cpu_steal,
            idle_poll: machine.idle_poll,
        });
    } else if late && causes.is_empty() && machine.cpu_idle >= MOSTLY_IDLE && !machine.idle_poll {
        causes.push(Cause::HaltedCpus {
            idle: machine.cpu_idle,
        });
    }
    causes
}

/// A worker that waited for its CPU was kept off it by others; one that used it had too much to do.
fn full_worker(reason: &Reason) -> Option<Cause> {
    match &reason.finding {
        Finding::Lateness(LatenessFinding::WorkerFull {
            busy, generator, ..
        }) if *busy >= BUSY_LIMIT => Some(Cause::FullWorker {
            busy: *busy,
            generator: *generator,
        }),
        _ => None,
    }
}

/// More requests per second, or shorter times, at the end of the measured phase than at its start.
fn warming_up(reason: &Reason) -> Option<Cause> {
    let Finding::System(SystemFinding::Changed {
        what,
        from,
        to,
        how,
    }) = &reason.finding
    else {
        return None;
    };
    let ratio = match what {
        Series::Throughput => to / from,
        Series::P50 | Series::P99 | Series::Cpu => from / to,
    };
    let over_s = match how {
        Change::Step { at_s } => at_s.ceil(),
        Change::Drift => 0.0,
    };
    (ratio > 1.0 && *what != Series::Cpu).then_some(Cause::WarmingUp {
        ratio,
        warm_up_min_s: over_s.max(WARM_UP_MIN_S),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::finding::{Contention, Lag};

    fn machine(idle: f64, steal: f64, others: Option<f64>) -> Machine {
        Machine {
            cpu_idle: idle,
            cpu_steal: steal,
            idle_poll: false,
            cpus: 2,
            own_cores: Some(0.1),
            system_cores: others.map(|_| 0.2),
            other_cores: others,
        }
    }

    fn reason(letter: char) -> Reason {
        let changed = |what, from, to, how| SystemFinding::Changed {
            what,
            from,
            to,
            how,
        };
        let (verdict, finding): (Verdict, Finding) = match letter {
            'l' => {
                let lag = Lag {
                    p99_us: 18_500.0,
                    median_us: 1_450.0,
                    of_median: 12.74,
                };
                let late = LatenessFinding::Late {
                    lag,
                    allowed_us: 145.0,
                    generator: None,
                };
                (Verdict::InstrumentLimited, late.into())
            }
            'w' | 'W' => {
                let full = LatenessFinding::WorkerFull {
                    busy: if letter == 'W' { 0.97 } else { 0.4 },
                    wanted: 0.98,
                    generator: None,
                };
                (Verdict::InstrumentLimited, full.into())
            }
            'c' => {
                let contention = Contention {
                    other_cores: Some(1.7),
                    cpus: 2,
                    cpu_steal: 0.0,
                    by_programs: true,
                };
                (Verdict::Contended, contention.into())
            }
            'r' => {
                let rose = changed(Series::Throughput, 1_780.0, 6_700.0, Change::Drift);
                (Verdict::Unsteady, rose.into())
            }
            'f' => {
                let fell = changed(Series::Throughput, 6_700.0, 1_780.0, Change::Drift);
                (Verdict::Unsteady, fell.into())
            }
            's' => {
                let step = changed(Series::P50, 900.0, 300.0, Change::Step { at_s: 3.2 });
                (Verdict::Unsteady, step.into())
            }
            'o' => (Verdict::Overloaded, Finding::NothingSent),
            other => panic!("{other}"),
        };
        Reason { verdict, finding }
    }

    /// What may be done, by the first letter of each remedy.
    fn check(letters: &str, machine: Option<Machine>, expected: &[Remedy]) {
        let reasons: Vec<Reason> = letters.chars().map(reason).collect();
        let remedies = causes(&reasons, machine.as_ref());
        let remedies: Vec<Remedy> = remedies.into_iter().map(Cause::remedy).collect();
        assert_eq!(remedies, expected, "{letters} {machine:?}");
    }

    #[test]
    fn each_cause_has_its_remedy() {
        use Remedy::{
            IdlePoll, LongerWarmUp, MoreWorkers, QuieterHost, SeparateCpus, StopPrograms,
        };
        let full = machine(0.0, 0.0, Some(1.7));
        check("", Some(full), &[]);
        check("o", Some(full), &[]);
        check("l", Some(full), &[StopPrograms]);
        check("c", Some(full), &[StopPrograms]);
        check("f", Some(full), &[StopPrograms]);
        check("l", None, &[]);
        // The CPUs are full, and the system is not known.
        check("l", Some(machine(0.0, 0.0, None)), &[StopPrograms]);
        check("c", Some(machine(0.5, 0.0, None)), &[]);
        // The system and the load generator fill them.
        check("l", Some(machine(0.02, 0.0, Some(0.05))), &[SeparateCpus]);
        check("l", Some(machine(0.3, 0.0, Some(0.05))), &[]);
        check("l", Some(machine(0.8, 0.0, Some(0.05))), &[IdlePoll]);
        check("l", Some(machine(0.8, 0.03, Some(0.05))), &[IdlePoll]);
        let polled = Machine {
            idle_poll: true,
            ..machine(0.8, 0.03, Some(0.05))
        };
        check("l", Some(polled), &[QuieterHost]);
        check("w", Some(full), &[StopPrograms]);
        check("W", Some(machine(0.3, 0.0, Some(0.0))), &[MoreWorkers]);
        let quiet = Some(machine(0.5, 0.0, Some(0.0)));
        check("r", quiet, &[LongerWarmUp { min_s: 2.0 }]);
        check("s", quiet, &[LongerWarmUp { min_s: 4.0 }]);
        check("f", quiet, &[]);
        check(
            "r",
            Some(full),
            &[StopPrograms, LongerWarmUp { min_s: 2.0 }],
        );
    }

    #[test]
    fn a_cause_says_who_used_the_cpus() {
        let actual = causes(&[reason('l')], Some(&machine(0.0, 0.0, Some(1.7))));
        let expected = CpuUse {
            cpus: 2,
            busy: 1.0,
            own_cores: Some(0.1),
            system_cores: Some(0.2),
            other_cores: Some(1.7),
        };
        assert_eq!(actual, [Cause::OtherPrograms(expected)]);
    }
}

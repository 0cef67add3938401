//! Where a verdict comes from, and what may be done about it: one line for each cause.

use waggle_analysis::{CellCause, Counted, CpuCapacity, Model, OtherCores};
use waggle_stats::{CPU_STEAL_MAX, Cause, CpuUse, Remedy};

use crate::words::format::{self, Unit};

/// Where a setting is named: in a study's keys, or in the flags of `waggle load`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Study,
    Flags,
}

/// The cause with its remedy.
#[must_use]
pub fn sentence(cause: Cause, place: Place) -> String {
    format!("{}: {}", fact(cause), remedy(cause, place))
}

/// The same of a cell, with the number of trials.
pub(crate) fn of_cell(cause: &CellCause, ran: usize) -> String {
    let trials = match (cause.trials, ran) {
        (_, 0 | 1) => String::new(),
        (all, ran) if all == ran => format!(" (all {ran} trials)"),
        (some, ran) => format!(" ({some} of {ran} trials)"),
    };
    format!("cause: {}{trials}", sentence(cause.cause, Place::Study))
}

fn fact(cause: Cause) -> String {
    match cause {
        Cause::OtherPrograms(used) => format!("other programs used the CPUs ({})", use_text(used)),
        Cause::BusyCpus(used) => format!(
            "the CPUs were busy, and which programs used them is not known ({})",
            use_text(used)
        ),
        Cause::SharedCpus(used) => format!(
            "the system and the load generator filled the CPUs ({})",
            use_text(used)
        ),
        Cause::CpuSteal { share, .. } => format!(
            "the hypervisor took {} of the CPU time",
            format::share(share)
        ),
        Cause::HaltedCpus { idle } => format!(
            "the CPUs were {} idle, and a CPU that halts wakes up late",
            format::share(idle)
        ),
        Cause::FullWorker { busy, generator } => {
            let owner = generator.map_or_else(String::new, |nth| {
                format!(" of load generator {} of {}", nth.number, nth.of)
            });
            format!("a worker{owner} used {} of its CPU", format::share(busy))
        }
        Cause::WarmingUp { ratio, .. } => format!(
            "the system became faster in the measured phase ({})",
            format::times(ratio)
        ),
    }
}

/// `100 % busy; waggle used 0.1 of 2, the system 0.2, other programs 1.7`.
fn use_text(used: CpuUse) -> String {
    let CpuUse {
        cpus,
        busy,
        own_cores,
        system_cores,
        other_cores,
    } = used;
    let parts = [
        own_cores.map(|cores| format!("waggle used {} of {cpus}", cores_text(cores))),
        system_cores.map(|cores| format!("the system {}", cores_text(cores))),
        other_cores.map(|cores| format!("other programs {}", cores_text(cores))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let busy = format!("{} busy", format::share(busy));
    match parts.is_empty() {
        true => busy,
        false => format!("{busy}; {}", parts.join(", ")),
    }
}

fn cores_text(cores: f64) -> String {
    match cores < 0.01 {
        true => "0".to_owned(),
        false => format::three_digits(cores),
    }
}

/// Where no trial was without contention: `Other programs used 0.9 of 2 CPUs throughout (0.74 to 1.07 by trial): alone the system does as
/// much or more, as fast or faster.`
pub(crate) fn throughout(model: &Model) -> Option<String> {
    let contention = model.contention.as_ref()?;
    if !contention.is_throughout() {
        return None;
    }
    let cores = contention.other_cores.filter(|cores| cores.mean >= 0.01);
    let programs = cores.map(|cores| other_programs(cores, contention.cpus));
    let is_stolen = contention.cpu_steal_max >= CPU_STEAL_MAX;
    let most = format::share(contention.cpu_steal_max);
    let steal = is_stolen.then(|| match programs {
        Some(_) => format!("the hypervisor took up to {most} of the CPU time"),
        None => format!("The hypervisor took CPU time throughout, up to {most} of it"),
    });
    let parts: Vec<String> = programs.into_iter().chain(steal).collect();
    let alone = "alone the system does as much or more, as fast or faster";
    (!parts.is_empty()).then(|| format!("{}: {alone}.", parts.join(", and ")))
}

fn other_programs(cores: OtherCores, cpus: u32) -> String {
    let by_trial = match cores.trials {
        1 => String::new(),
        _ => format!(
            " ({} to {} by trial)",
            cores_text(cores.min),
            cores_text(cores.max)
        ),
    };
    format!(
        "Other programs used {} of {} throughout{by_trial}",
        cores_text(cores.mean),
        format::plural(u64::from(cpus), "CPU")
    )
}

fn remedy(cause: Cause, place: Place) -> String {
    match (cause.remedy(), place) {
        (Remedy::StopPrograms, _) => "stop other programs".to_owned(),
        (Remedy::IdlePoll, _) => "--idle-poll may help".to_owned(),
        (Remedy::QuieterHost, _) => "a host with fewer virtual machines may help".to_owned(),
        (Remedy::MoreWorkers, Place::Flags) => "more workers (-t) may help".to_owned(),
        (Remedy::MoreWorkers, Place::Study) => "more workers (load.workers) may help".to_owned(),
        (Remedy::SeparateCpus, _) => "less load, or CPUs of their own, may help".to_owned(),
        (Remedy::LongerWarmUp { min_s }, Place::Flags) => {
            format!("try a longer warm-up, such as --warm-up {min_s:.0}s")
        }
        (Remedy::LongerWarmUp { min_s }, Place::Study) => {
            format!("try a longer warm-up, such as schedule.warm_up: {min_s:.0}s")
        }
    }
}

/// `A record costs 1.48 µs of CPU, so one CPU is good for 681k records per second.`
#[must_use]
pub(crate) fn cpu_capacity(capacity: &CpuCapacity) -> String {
    let (singular, many) = match capacity.counted {
        Counted::Records => ("record", "records"),
        Counted::Requests => ("request", "requests"),
    };
    let (most, least) = match capacity.is_contended {
        true => ("at most ", "at least "),
        false => ("", ""),
    };
    let interval = capacity
        .cpu_us
        .interval
        .map_or_else(String::new, |(low, high)| {
            format!(" ({} – {})", Unit::Time.show(low), Unit::Time.show(high))
        });
    format!(
        "A {singular} costs {most}{} of CPU{interval}, so one CPU is good for {least}{} {many} per second.",
        Unit::Time.show(capacity.cpu_us.point),
        Unit::Plain.show(capacity.per_cpu_per_s)
    )
}

#[cfg(test)]
mod tests {
    use waggle_stats::Estimate;

    use super::*;

    #[test]
    fn a_cause_names_who_and_what_to_do() {
        let check = |cause: Cause, flags: &str, study: &str| {
            assert_eq!(sentence(cause, Place::Flags), flags);
            assert_eq!(sentence(cause, Place::Study), study);
        };
        let used = CpuUse {
            cpus: 2,
            busy: 1.0,
            own_cores: Some(0.1),
            system_cores: Some(0.2),
            other_cores: Some(1.7),
        };
        let others = "other programs used the CPUs (100 % busy; waggle used 0.100 of 2, the system 0.200, other programs 1.70): stop other \
                      programs";
        check(Cause::OtherPrograms(used), others, others);
        let steal = Cause::CpuSteal {
            share: 0.05,
            idle_poll: false,
        };
        let text = "the hypervisor took 5.00 % of the CPU time: --idle-poll may help";
        check(steal, text, text);
        let full = Cause::FullWorker {
            busy: 0.98,
            generator: None,
        };
        check(
            full,
            "a worker used 98.0 % of its CPU: more workers (-t) may help",
            "a worker used 98.0 % of its CPU: more workers (load.workers) may help",
        );
        let rose = Cause::WarmingUp {
            ratio: 3.76,
            warm_up_min_s: 2.0,
        };
        let faster =
            "the system became faster in the measured phase (3.76×): try a longer warm-up, such as";
        check(
            rose,
            &format!("{faster} --warm-up 2s"),
            &format!("{faster} schedule.warm_up: 2s"),
        );
    }

    #[test]
    fn what_a_cpu_is_good_for() {
        let capacity = |is_contended| CpuCapacity {
            counted: Counted::Records,
            cpu_us: Estimate {
                point: 1.48,
                interval: None,
                count: 1,
                least: None,
            },
            per_cpu_per_s: 1e6 / 1.48,
            trials: 1,
            is_contended,
        };
        assert_eq!(
            cpu_capacity(&capacity(false)),
            "A record costs 1.48 µs of CPU, so one CPU is good for 676k records per second."
        );
        assert_eq!(
            cpu_capacity(&capacity(true)),
            "A record costs at most 1.48 µs of CPU, so one CPU is good for at least 676k records per second."
        );
    }
}

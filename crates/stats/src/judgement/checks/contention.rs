//! The machine: whether other programs, or its host, used CPU that the system could have had (docs/design/0084).

use crate::{
    judgement::{
        checks::{
            findings::Findings,
            limits::{CPU_STEAL_MAX, OTHER_CPU_MAX},
        },
        finding::Contention,
        verdict::Verdict,
    },
    over_time::trial_facts::{Machine, TrialFacts},
};

/// What others used is judged where it is known, CPU steal everywhere.
pub(super) fn contention(facts: &TrialFacts<'_>, findings: &mut Findings) {
    if let Some(machine) = &facts.machine
        && let Some(contention) = find_contention(machine)
    {
        findings.reason(Verdict::Contended, contention);
    }
}

fn find_contention(machine: &Machine) -> Option<Contention> {
    let limit = OTHER_CPU_MAX * f64::from(machine.cpus);
    let by_programs = machine.other_cores.is_some_and(|cores| cores >= limit) && machine.cpus > 0;
    let is_contended = by_programs || machine.cpu_steal >= CPU_STEAL_MAX;
    is_contended.then_some(Contention {
        other_cores: machine.other_cores,
        cpus: machine.cpus,
        cpu_steal: machine.cpu_steal,
        by_programs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_judged() {
        let check =
            |cpus: u32, other_cores: Option<f64>, cpu_steal: f64, expected: Option<bool>| {
                let machine = Machine {
                    cpus,
                    other_cores,
                    cpu_steal,
                    ..Machine::default()
                };
                let origin = find_contention(&machine).map(|contention| contention.by_programs);
                assert_eq!(origin, expected, "{machine:?}");
            };
        check(2, None, 0.0, None);
        check(2, None, 0.019, None);
        check(2, None, 0.02, Some(false));
        check(2, Some(0.0), 0.0, None);
        check(2, Some(0.09), 0.0, None);
        check(2, Some(0.29), 0.0, None);
        check(2, Some(0.3), 0.0, Some(true));
        check(2, Some(0.3), 0.05, Some(true));
        check(8, Some(1.1), 0.0, None);
        check(8, Some(1.2), 0.0, Some(true));
        check(8, Some(0.1), 0.05, Some(false));
        check(0, Some(0.0), 0.0, None);
    }
}

//! The checks of one trial (method rules 5, 8 and 9): facts in, reasons and remarks out, each with its numbers.
//!
//! Which limit holds in which load model, and why, is in docs/design/0003-verdicts.md.

mod accounting;
mod agents;
mod contention;
mod findings;
mod instrument;
mod limits;
mod system;

#[cfg(test)]
mod tests;

pub use findings::{ACHIEVED_MIN, Findings, SteadinessTest};
pub(crate) use limits::{BUSY_LIMIT, MOSTLY_IDLE};
pub use limits::{CPU_STEAL_MAX, GENERATOR_BUSY, OTHER_CPU_MAX};

use crate::{
    judgement::{
        cause::causes,
        finding::{Finding, InstrumentFinding},
        verdict::Verdict,
    },
    over_time::trial_facts::{Sender, TrialFacts},
};

/// Runs every check that the facts allow.
#[must_use]
pub fn check(facts: &TrialFacts<'_>) -> Findings {
    let mut findings = Findings::default();
    if let Some(why) = &facts.failed {
        findings.reason(Verdict::Failed, Finding::Ended(why.clone()));
        return findings;
    }
    let measured = &facts.measured;
    if measured.seconds > 0.0 && measured.sent == 0 && measured.succeeded + measured.failed == 0 {
        findings.reason(Verdict::Failed, Finding::NothingSent);
        return findings;
    }
    accounting::requests(facts, &mut findings);
    accounting::records(facts, &mut findings);
    match facts.sender {
        Sender::Waggle => check_instrument(facts, &mut findings),
        Sender::OtherTool => findings.remark(InstrumentFinding::NotKnown),
    }
    system::backlogs(facts, &mut findings);
    system::steadiness(facts, &mut findings);
    system::stalls(facts, &mut findings);
    contention::contention(facts, &mut findings);
    findings.causes = causes(&findings.reasons, facts.machine.as_ref());
    findings
}

fn check_instrument(facts: &TrialFacts<'_>, findings: &mut Findings) {
    instrument::littles_law(facts, findings);
    instrument::connections(facts, findings);
    instrument::cpu(facts, findings);
    let late = [
        instrument::run_queue(facts, findings),
        instrument::lag(facts, findings),
        instrument::rate(facts, findings),
    ];
    instrument::machine(facts, late.contains(&true), findings);
    instrument::check_capacity(facts, findings);
    instrument::probe(facts, findings);
    instrument::probe_cpu(facts, findings);
    instrument::clocks(facts, findings);
    agents::agents(facts, findings);
    instrument::in_flight(facts, findings);
}

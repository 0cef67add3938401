//! The checks of one trial (method rules 5, 8 and 9): facts in, reasons and remarks out, each with its numbers.
//!
//! Which limit holds in which load model, and why, is in docs/design/0003-verdicts.md.

mod accounting;
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
    let mut found = Findings::default();
    if let Some(why) = &facts.failed {
        found.reason(Verdict::Failed, Finding::Ended(why.clone()));
        return found;
    }
    let measured = &facts.measured;
    if measured.seconds > 0.0 && measured.sent == 0 && measured.succeeded + measured.failed == 0 {
        found.reason(Verdict::Failed, Finding::NothingSent);
        return found;
    }
    accounting::requests(facts, &mut found);
    accounting::records(facts, &mut found);
    match facts.sender {
        Sender::Waggle => check_instrument(facts, &mut found),
        Sender::OtherTool => found.remark(InstrumentFinding::NotKnown),
    }
    system::backlogs(facts, &mut found);
    system::steadiness(facts, &mut found);
    system::stalls(facts, &mut found);
    contention::contention(facts, &mut found);
    found.causes = causes(&found.reasons, facts.machine.as_ref());
    found
}

fn check_instrument(facts: &TrialFacts<'_>, found: &mut Findings) {
    instrument::littles_law(facts, found);
    instrument::connections(facts, found);
    instrument::cpu(facts, found);
    let late = [
        instrument::run_queue(facts, found),
        instrument::lag(facts, found),
        instrument::rate(facts, found),
    ];
    instrument::machine(facts, late.contains(&true), found);
    instrument::check_capacity(facts, found);
    instrument::probe(facts, found);
    instrument::probe_cpu(facts, found);
    instrument::clocks(facts, found);
    instrument::in_flight(facts, found);
}

//! The checks of one trial (method rules 5, 8 and 9): facts in, reasons and remarks out, each with its numbers.
//!
//! Which limit holds in which load model, and why, is in docs/design/0003-verdicts.md.

mod account;
mod instrument;
mod system;

pub use instrument::GENERATOR_BUSY;

use crate::{Finding, Reason, Verdict, facts::TrialFacts};

/// Requests answered against due, and due against asked for, in open load.
pub const ACHIEVED_MIN: f64 = 0.99;
/// What is less than this share of the time that a search asks about cannot change its answer.
const BESIDE_BOUND: f64 = 0.10;
/// How many standard deviations chance may be off.
const CHANCE: f64 = 4.0;

/// What the checks found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// Why the trial is not valid; empty where it is.
    pub reasons: Vec<Reason>,
    /// Worth a line, and no reason to doubt the trial.
    pub remarks: Vec<Finding>,
    /// The generator came late while CPUs idled or were taken by the machine's host, and they were not kept awake.
    pub awake_may_help: bool,
    /// Whether the measured phase was tested for steadiness.
    pub steadiness: SteadinessTest,
}

/// Whether a measured phase was tested for steadiness, and if not, why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SteadinessTest {
    /// There was nothing to test: the trial failed.
    #[default]
    NotReached,
    Tested,
    TooFewIntervals,
    /// The load changed by its stages.
    StagedLoad,
    /// Something was killed on purpose.
    Disturbed,
}

impl Findings {
    fn reason(&mut self, verdict: Verdict, finding: impl Into<Finding>) {
        self.reasons.push(Reason {
            verdict,
            finding: finding.into(),
        });
    }

    fn remark(&mut self, finding: impl Into<Finding>) {
        self.remarks.push(finding.into());
    }
}

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
    account::requests(facts, &mut found);
    account::records(facts, &mut found);
    instrument::littles_law(facts, &mut found);
    instrument::connections(facts, &mut found);
    instrument::cpu(facts, &mut found);
    let late = [
        instrument::turns(facts, &mut found),
        instrument::lag(facts, &mut found),
        instrument::rate(facts, &mut found),
    ];
    instrument::machine(facts, late.contains(&true), &mut found);
    instrument::calibrated(facts, &mut found);
    instrument::probe(facts, &mut found);
    system::keeping_up(facts, &mut found);
    system::steadiness(facts, &mut found);
    system::silence(facts, &mut found);
    found
}

/// A part of a whole that is not 0.
fn share(part: u64, whole: u64) -> f64 {
    float(part) / float(whole)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one trial are far below 2^52"
)]
fn float(count: u64) -> f64 {
    count as f64
}

//! What checks find, and the limits that several of them have.

use crate::{Finding, Reason, Verdict};

/// Requests answered against due, and due against asked for, in open load.
pub const ACHIEVED_MIN: f64 = 0.99;
/// What is less than this share of the time that a search asks about cannot change its answer.
pub(super) const BESIDE_BOUND: f64 = 0.10;
/// How many standard deviations chance may be off.
pub(super) const CHANCE: f64 = 4.0;

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
    pub(super) fn reason(&mut self, verdict: Verdict, finding: impl Into<Finding>) {
        self.reasons.push(Reason {
            verdict,
            finding: finding.into(),
        });
    }

    pub(super) fn remark(&mut self, finding: impl Into<Finding>) {
        self.remarks.push(finding.into());
    }
}

/// A part of a whole that is not 0.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    float(part) / float(whole)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one trial are far below 2^52"
)]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

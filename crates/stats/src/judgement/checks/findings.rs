//! The findings of the checks, and the limits that several of them share.

use crate::judgement::{cause::Cause, finding::Finding, reason::Reason, verdict::Verdict};

/// Answered against due requests, and due against offered requests, in the open model.
pub const ACHIEVED_MIN: f64 = 0.99;
/// A time below this share of the time in the conditions of a search cannot change its answer.
pub(super) const SEARCH_BOUND_SHARE: f64 = 0.10;
/// How many standard deviations are taken for chance.
pub(super) const CHANCE: f64 = 4.0;

/// All findings of one trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// Why the trial is not valid; empty if it is.
    pub reasons: Vec<Reason>,
    /// Worth a line, and no reason to doubt the trial.
    pub remarks: Vec<Finding>,
    /// The load generator was late while CPUs were idle or stolen, without idle polling.
    pub idle_poll_may_help: bool,
    /// Where the reasons come from, as far as that is known, and what may be done.
    pub causes: Vec<Cause>,
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
    /// Each client ended with the last of its requests.
    EndingLoad,
    /// A fault was injected.
    Faults,
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

//! The closed set of verdicts a trial or a cell can get.

/// Whether a trial may be believed. The order is that of severity: a trial with several gets the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every check passed.
    Valid,
    /// The interval over trials is wider than asked.
    Noisy,
    /// The trial never became steady, or changed its level while it was measured.
    Unsteady,
    /// A backlog or queue grew: the system did not keep up with what was asked of it.
    Overloaded,
    /// Accepted records were missing at the end.
    Incomplete,
    /// The generator, not the system, was the limit.
    InstrumentLimited,
    /// The account does not add up; the equation is in the reason.
    Inconsistent,
    /// The trial did not come to its end.
    Failed,
}

/// Why a verdict was given: the numbers, in a sentence for the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    pub verdict: Verdict,
    pub text: String,
}

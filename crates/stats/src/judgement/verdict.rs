//! The closed set of verdicts a trial or a cell can get.

/// What is wrong with a trial or a cell. The order is that of severity: a trial with several gets the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every check passed.
    Valid,
    /// The trial never became steady, or changed its level while it was measured.
    Unsteady,
    /// Other programs, or the host of the virtual machine, used CPU that the system could have had.
    Contended,
    /// A backlog or queue grew: the system did not keep up with the load.
    Overloaded,
    /// The generator, not the system, was the limit.
    InstrumentLimited,
    /// Accepted records were missing at the end, which is so however good the instrument was.
    Incomplete,
    /// The accounting does not add up; the equation is in the reason.
    Inconsistent,
    /// The trial did not come to its end.
    Failed,
}

impl Verdict {
    /// As it is written everywhere.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Unsteady => "unsteady",
            Self::Contended => "contended",
            Self::Overloaded => "overloaded",
            Self::InstrumentLimited => "instrument-limited",
            Self::Incomplete => "incomplete",
            Self::Inconsistent => "inconsistent",
            Self::Failed => "failed",
        }
    }
}

//! Which form of a study is run.

/// How much of the schedule is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    /// Three repetitions.
    Pilot,
    /// One repetition with the shortest phases.
    Quick,
}

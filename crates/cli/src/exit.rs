//! The exit codes, documented and stable.

use std::process::ExitCode;

/// The result of the program, as its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Fine,
    /// Invalid arguments, an invalid study, a missing file.
    Mistake,
    /// A threshold is shown not to hold, or a cell has another verdict than the study expects.
    Threshold,
    /// A trial failed, counts do not add up, records are missing, no cell is reliable, or what was asked stays open. Takes precedence.
    NotValid,
    /// Stopped by the user; finished trials are kept.
    Interrupted,
}

/// The code of a panic, which is a bug in waggle.
pub(crate) const BUG: u8 = 1;

/// The code of a program that was ended by Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Mistake => 2,
            Exit::Threshold => 3,
            Exit::NotValid => 4,
            Exit::Interrupted => INTERRUPTED,
        })
    }
}

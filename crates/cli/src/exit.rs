//! The exit codes, documented and stable.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Fine,
    /// The user's mistake: arguments, a study, a file that is not there.
    Mistake,
    /// Every trial may be believed, and a threshold does not hold.
    Threshold,
    /// A trial may not be believed; wins over thresholds, which count on such trials for nothing.
    NotValid,
    /// Stopped by the user; what was measured is kept.
    Interrupted,
}

/// The code of a panic: our own bug.
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

//! The exit codes, documented and stable.

use std::process::ExitCode;

use waggle_analysis::Conclusion;
use waggle_flags::ExitCode as Code;

/// The result of the program, as its exit code.
/// In the order of precedence: of two results the later one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    Fine,
    /// A threshold is shown not to hold, or a cell has another verdict than the study expects.
    Threshold,
    /// Counts do not add up, records are missing, no cell is reliable, or what was asked stays open.
    NotValid,
    /// A trial failed, or no request succeeded.
    TrialFailed,
    /// Invalid arguments, an invalid study, a missing file.
    Mistake,
    /// Stopped by the user; finished trials are kept.
    Interrupted,
}

/// What a run shows, as the exit code of its command.
impl From<Conclusion> for Exit {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Answered => Self::Fine,
            Conclusion::Failed => Self::Threshold,
            Conclusion::Open => Self::NotValid,
            Conclusion::TrialFailed => Self::TrialFailed,
        }
    }
}

/// The code of a panic, which is a bug in waggle.
pub(crate) const BUG: u8 = 1;

/// The code of a program that was ended by Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

impl Exit {
    const ALL: [Self; 6] = [
        Self::Fine,
        Self::Threshold,
        Self::NotValid,
        Self::TrialFailed,
        Self::Mistake,
        Self::Interrupted,
    ];

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Mistake => 2,
            Self::Threshold => 3,
            Self::NotValid => 4,
            Self::TrialFailed => 5,
            Self::Interrupted => INTERRUPTED,
        }
    }

    /// `None`: no result has this code.
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| exit.code() == code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Of every command that has no codes of its own.
pub(crate) const OF_WAGGLE: [Code; 7] = [
    (0, "success"),
    (BUG, "a bug in waggle"),
    (
        2,
        "a mistake of the user: it is shown with its position, what was expected and the nearest valid word",
    ),
    (
        3,
        "a threshold of the study is shown not to hold, or a cell has another verdict than expected",
    ),
    (
        4,
        "the question stays open: a threshold is undecided, no cell is reliable, or records are missing and no threshold is about that; has \
         precedence over 3. A cell in which the load generator alone was the limit is reliable if every threshold is decided in it, \
         because a slow load generator can only make times longer and rates lower",
    ),
    (
        5,
        "a trial failed: the system did not start, or a check of it failed; has precedence over 3 and 4. `expect_verdict: failed` in the \
         study says that it is what was expected. Or no request of the whole run succeeded, and no threshold is shown not to hold; has \
         precedence over 4",
    ),
    (
        INTERRUPTED,
        "interrupted: the results so far are kept, and `waggle run --resume` runs the rest",
    ),
];

pub(crate) const OF_LOAD: [Code; 7] = [
    (
        0,
        "the verdict is `valid`, and every threshold holds; of a search: a level holds",
    ),
    (BUG, "a bug in waggle"),
    (
        2,
        "a flag, a file or the URL is wrong, the name cannot be resolved, or no address accepts a connection",
    ),
    (
        3,
        "a --threshold does not hold; of a search: no level holds",
    ),
    (
        4,
        "the verdict is not `valid`, or a threshold is undecided because its metric is doubtful; of a search: nothing can be said; has \
         precedence over 3. A limit of the load generator alone is no reason if every threshold is decided: it can only make times \
         longer and rates lower",
    ),
    (
        5,
        "no request succeeded, and no --threshold is shown not to hold",
    ),
    (
        INTERRUPTED,
        "ended by Ctrl-C, SIGTERM or SIGHUP; the result so far is printed",
    ),
];

pub(crate) const OF_COMPARE: [Code; 6] = [
    (
        0,
        "the same, or better; of `waggle run`: and every threshold of the study holds",
    ),
    (BUG, "a bug in waggle"),
    (
        2,
        "a mistake: no run, another study, no cell in common, no such metric",
    ),
    (
        3,
        "something that the study asks about is worse, or B misses accepted records and A does not; of `waggle run`: or a threshold of the \
         study does not hold",
    ),
    (
        4,
        "nothing is worse, and something is undecided; or a cell is missing on one side; of `waggle run`: or the question of the study stays \
         open, which then has precedence over 3",
    ),
    (
        5,
        "of `waggle run`: a trial failed, or no request succeeded; has precedence over 3 and 4",
    ),
];

pub(crate) const OF_AGENT: [Code; 4] = [
    (0, "the run is over"),
    (BUG, "a bug in waggle"),
    (
        2,
        "the file is wrong, the runner is not reached, or it refuses this agent",
    ),
    (5, "the connection to the runner was lost"),
];

pub(crate) const OF_HISTORY: [Code; 5] = [
    (
        0,
        "no change, or changes for the better, or what became worse has come back",
    ),
    (BUG, "a bug in waggle"),
    (
        2,
        "a mistake: no runs, several studies, too few runs, no such metric",
    ),
    (3, "something became worse, and has not come back"),
    (
        4,
        "nothing is shown to be worse, and the last change of a series, not for the better, is undecided",
    ),
];

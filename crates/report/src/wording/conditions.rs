//! Why a condition fails in a cell where its number alone does not say so.

use waggle_analysis::NotCounted;

use super::{text, words};

/// `does not count: the cell is overloaded`.
#[must_use]
pub fn not_counted(why: &NotCounted) -> String {
    match why {
        NotCounted::NoLevelHolds => "no level of it holds".to_owned(),
        NotCounted::NotRun => "no trial of it has run".to_owned(),
        NotCounted::Verdict(verdict) => {
            format!("does not count: the cell is {}", words::verdict(*verdict))
        }
        NotCounted::NotRecovered {
            trials,
            of,
            within_s,
        } => format!(
            "{trials} of {of} trials did not recover within {}",
            text::set_time_s(*within_s)
        ),
        NotCounted::NoRecovery => "no trial of it came to the end of its recovery".to_owned(),
        NotCounted::NoNumber(path) => format!("the run has no number {}", path.join(".")),
    }
}

//! Why a condition fails in a cell although its value alone does not show it.

use waggle_analysis::NotCounted;

use super::{format, labels};

/// `does not count: the cell is overloaded`.
#[must_use]
pub fn not_counted(why: &NotCounted) -> String {
    match why {
        NotCounted::NoLevelHolds => "no level holds".to_owned(),
        NotCounted::NotRun => "no trial has run".to_owned(),
        NotCounted::Verdict(verdict) => {
            format!("does not count: the cell is {}", labels::verdict(*verdict))
        }
        NotCounted::NotRecovered {
            trials,
            of,
            within_s,
        } => format!(
            "{trials} of {of} trials did not recover within {}",
            format::set_time_s(*within_s)
        ),
        NotCounted::NoRecovery => "no trial completed its recovery phase".to_owned(),
        NotCounted::NoMetric(path) => format!("the run has no metric {}", path.join(".")),
    }
}

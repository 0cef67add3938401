//! What a condition comes to in a cell, and why if its value alone does not show it.

use waggle_analysis::{Decision, Shortcoming};
use waggle_metrics::Unit;
use waggle_stats::Bias;

use super::{findings, format};

/// `holds`, `undecided`, `does not hold`.
#[must_use]
pub fn decision_label(decision: Decision) -> &'static str {
    match decision {
        Decision::Holds => "holds",
        Decision::Undecided => "undecided",
        Decision::Fails => "does not hold",
    }
}

/// `the 95 % interval 46.1 – 53.2 ms contains the limit`; the unit is that of the condition's metric.
#[must_use]
pub fn shortcoming(why: &Shortcoming, unit: Unit) -> String {
    match why {
        Shortcoming::NoLevelHolds => "no level holds".to_owned(),
        Shortcoming::NotRun => "no trial has run".to_owned(),
        Shortcoming::Interval(low, high) => format!(
            "the limit is within the 95 % interval, {} to {}",
            format::in_unit(*low, unit),
            format::in_unit(*high, unit)
        ),
        Shortcoming::Doubtful(biases) => doubt(biases),
        Shortcoming::Within(low, high) => format!(
            "the limit is within the range in which the value is known, {} to {}",
            format::in_unit(*low, unit),
            format::in_unit(*high, unit)
        ),
        Shortcoming::Windows(thin) => format!(
            "a sample of the records does not show it: {}",
            findings::thin(thin)
        ),
        Shortcoming::NotRecovered {
            trials,
            of,
            within_s,
        } => format!(
            "{trials} of {of} trials did not recover within {}",
            format::set_time_s(*within_s)
        ),
        Shortcoming::NoReference { trials, of } => {
            format!("in {trials} of {of} trials at least half of the control's intervals were bad")
        }
        Shortcoming::NoRecovery => "no trial completed its recovery phase".to_owned(),
        Shortcoming::NoMetric(path) => format!("the run has no metric {}", path.join(".")),
    }
}

/// In which directions the system's own value may differ.
fn doubt(biases: &[Bias]) -> String {
    let what = match biases {
        [Bias::AtMost | Bias::ByLag] => "the system's own value may be lower",
        [Bias::AtLeast] => "the system's own value may be higher",
        [Bias::Factor(factor)] => {
            let factor = format::three_digits(*factor);
            return format!("the level changed by a factor of {factor}, see the verdict");
        }
        _ => "the measured value is doubtful",
    };
    format!("{what}, see the verdict")
}

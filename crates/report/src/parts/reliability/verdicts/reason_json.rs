//! Reasons of verdicts, and what they make doubtful, for other programs.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_stats::{Aspect, Bias, Reason};

use crate::words::{findings, labels};

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReasonText {
    /// The trial; `null`: all of them together.
    pub(crate) repetition: Option<u32>,
    pub(crate) verdict: &'static str,
    pub(crate) text: String,
    /// What it makes doubtful.
    pub(crate) doubts: Vec<Doubt>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Doubt {
    /// `requests`, `times`, `delivery`, `cpu`, `accounting` or `generator`.
    about: &'static str,
    /// Where the system's own value is: `at_most` or `at_least` the measured one, within a `factor` of it, or `unknown`.
    own_value: &'static str,
    factor: Option<f64>,
}

pub(crate) fn reason_text(reason: &Reason) -> ReasonText {
    let doubts = reason.finding.doubts().into_iter();
    ReasonText {
        repetition: None,
        verdict: labels::verdict(reason.verdict),
        text: findings::reason(reason),
        doubts: doubts.map(doubt).collect(),
    }
}

pub(crate) fn doubt(doubt: waggle_stats::Doubt) -> Doubt {
    let (own_value, factor) = match doubt.bias {
        Bias::AtMost | Bias::ByLag => ("at_most", None),
        Bias::AtLeast => ("at_least", None),
        Bias::Factor(factor) => ("factor", Some(factor)),
        Bias::Unknown => ("unknown", None),
    };
    Doubt {
        about: match doubt.aspect {
            Aspect::Goodput => "requests",
            Aspect::Times => "times",
            Aspect::Delivery => "delivery",
            Aspect::Cpu => "cpu",
            Aspect::Accounting => "accounting",
            Aspect::Generator => "generator",
        },
        own_value,
        factor,
    }
}

//! The section of a scenario's steps: a spectrum of each, their numbers, the sessions, the failures.

use super::{
    sections::{CLOSE, chart, open},
    table,
};
use crate::tables;
use waggle_analysis::Model;

/// Nothing without a scenario.
pub(super) fn section(out: &mut String, model: &Model) {
    let Some(steps) = tables::steps(model) else {
        return;
    };
    open(
        out,
        "steps",
        "Steps of the scenario",
        "Each step has a response time of its own; pauses between steps are in none of them.",
    );
    out.push_str("<div class=\"choose js-only\" id=\"step-choice\"></div>\n");
    chart(
        out,
        "step-spectrum",
        "Response time of each step by percentile, both axes logarithmic",
        "wide",
    );
    table::write(out, &steps);
    for more in [tables::sessions(model), tables::step_failures(model)]
        .into_iter()
        .flatten()
    {
        table::write(out, &more);
    }
    out.push_str(CLOSE);
}

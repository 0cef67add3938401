//! The section of recovery: how soon each cell had recovered after its load fell.

use super::{
    sections::{CLOSE, open},
    table,
};
use crate::tables;
use waggle_analysis::Model;

/// Nothing where the load does not fall.
pub(super) fn section(out: &mut String, model: &Model) {
    let Some(recovery) = tables::recovery(model) else {
        return;
    };
    open(
        out,
        "recovery",
        "Recovery",
        "When the measured phase is over, the load falls at once. An interval is bad in which a request failed, the p99 of response \
         time was above what is good, or no answer came although one was waited for. Response times count from when a request was \
         due, so that what had piled up is in them. A trial that was not well at the end took longer than was looked for; \
         there is a mean only where every trial recovered.",
    );
    table::write(out, &recovery);
    out.push_str(CLOSE);
}

//! Recovery: how long each cell took to recover after its load dropped.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

const WITHOUT_CONTROL: &str = "At the end of the measured phase the load drops at once. An interval is bad if a request failed, if \
    the p99 of response time was above its limit, or if no answer came although requests were waiting. Response times count from the \
    instant at which a request was due, so they include the time in a queue. A trial whose last interval was bad took longer than it \
    was observed; a cell has a mean only if every trial recovered.";
/// The same with the level of the recovery in the warm-up.
const WITH_CONTROL: &str = "At the end of the measured phase the load drops at once. An interval is bad if a request failed, if the \
    p99 of response time was above its limit, or if no answer came although requests were waiting. The control is the same level in \
    the warm-up, before the overload: a trial has recovered as soon as no more intervals are bad than the control's share explains. \
    Response times count from the instant at which a request was due, so they include the time in a queue. A trial that stayed bad \
    took longer than it was observed; a cell has a mean only if every trial recovered.";

/// `None` if the study has no recovery phase.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let has_control =
        (model.info.schedule.recovery).is_some_and(|recovery| recovery.control.is_some());
    Some(Section {
        lead: if has_control {
            WITH_CONTROL
        } else {
            WITHOUT_CONTROL
        },
        blocks: vec![Block::Table(table::recovery(model)?)],
        ..Section::new("recovery", "Recovery")
    })
}

//! Cells that are left out, for other programs.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::LeftOutGroup;

use super::words;

/// Cells that are left out for the same reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LeftOut {
    /// Their names, or the levels that only they have.
    cells: String,
    count: usize,
    reason: String,
}

impl LeftOut {
    pub(crate) fn new(group: &LeftOutGroup) -> Self {
        Self {
            cells: words::cells(group),
            count: group.count,
            reason: words::reason(&group.reason),
        }
    }
}

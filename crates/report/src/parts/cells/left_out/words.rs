//! Cells that are left out because their system could not be had: which, and why.

use waggle_analysis::{CellGroup, LeftOutGroup};
use waggle_results::LeftOutReason;

use crate::words::names::cell_group;

/// So many cells are named where not all of them need be.
const NAMED_CELLS: usize = 3;

/// `technology=phoenix (7 cells)`; `all 16 cells`.
#[must_use]
pub fn cells(group: &LeftOutGroup) -> String {
    let names = cell_group(&group.cells);
    match (&group.cells, group.count) {
        (CellGroup::Levels(levels), 2..) if levels.is_empty() => {
            format!("all {} cells", group.count)
        }
        (CellGroup::Levels(_), 2..) => format!("{names} ({} cells)", group.count),
        _ => names,
    }
}

/// `phoenix 1.7.14 requires mix, which is not installed`.
#[must_use]
pub fn reason(reason: &LeftOutReason) -> String {
    match reason {
        LeftOutReason::Requires {
            artifact,
            version,
            programs,
        } => {
            let are = match programs.len() {
                1 => "is",
                _ => "are",
            };
            format!(
                "a fetch of {artifact} {version} requires {}, which {are} not installed",
                programs.join(", ")
            )
        }
        LeftOutReason::FetchFailed {
            artifact,
            version,
            why,
            failed_utc,
        } => format!("{artifact} {version} could not be fetched at {failed_utc}: {why}"),
        LeftOutReason::Partner { cell } => {
            format!("the other version, cell {cell}, is left out")
        }
    }
}

/// `technology=phoenix (7 cells): a fetch of phoenix 1.7.14 requires mix, which is not installed`.
#[must_use]
pub fn line(group: &LeftOutGroup) -> String {
    format!("{}: {}", cells(group), reason(&group.reason))
}

/// That a run has fewer cells than its study; `None`: it has all of them.
pub(crate) fn warning(groups: &[LeftOutGroup], kept: usize) -> Option<String> {
    let count: usize = groups.iter().map(|group| group.count).sum();
    let were = match count {
        0 => return None,
        1 => "cell was",
        _ => "cells were",
    };
    let named: Vec<String> = groups.iter().take(NAMED_CELLS).map(cells).collect();
    let more = match groups.len().saturating_sub(NAMED_CELLS) {
        0 => "",
        _ => "; and others",
    };
    Some(format!(
        "{count} {were} left out of {}, because their system could not be had: {}{more}. The reasons are in Cells left out.",
        count + kept,
        named.join("; ")
    ))
}

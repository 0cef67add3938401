//! Which artifacts a run used.

use waggle_analysis::part_of_cells;
use waggle_results::{ArtifactInfo, RunInfo};

use crate::words::names::cell_group;

/// Each version of each artifact, with the cells that use it if those are not all.
pub(crate) fn artifacts(info: &RunInfo) -> String {
    let all = info.artifacts.iter();
    let all: Vec<String> = all.map(|entry| artifact(info, entry)).collect();
    all.join(", ")
}

fn artifact(info: &RunInfo, entry: &ArtifactInfo) -> String {
    let version = entry.version.as_deref().unwrap_or("(installed)");
    let named = format!("{} {version}", entry.name);
    match part_of_cells(info, &entry.cells) {
        Some(cells) => format!("{named} ({})", cell_group(&cells)),
        None => named,
    }
}

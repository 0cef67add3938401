//! Cells that are left out because their system cannot be had, by name and with the reason.

use std::path::Path;

use anyhow::{Context, Result, bail};
use waggle_analysis::left_out_groups;
use waggle_report::wording;
use waggle_results::{CellInfo, LeftOutInfo};
use waggle_runner::SystemWithArtifacts;

use crate::inputs::{
    artifacts::{artifacts_folder, fetch_locations},
    study::Loaded,
};

/// The cells of the study that need an artifact that is missing and cannot be fetched.
pub(crate) fn find(loaded: &Loaded) -> Result<Vec<LeftOutInfo>> {
    // The image of the system has its programs.
    if loaded.study.system_pods.is_some() || artifacts_folder(&loaded.trust).is_err() {
        return Ok(Vec::new());
    }
    let locations = fetch_locations(&loaded.system_folder, &loaded.trust)?;
    let changed = match &loaded.changed {
        Some(changed) => Some((
            &changed.system,
            fetch_locations(&changed.folder, &loaded.trust)?,
        )),
        None => None,
    };
    let changed = changed.as_ref();
    Ok(waggle_runner::cells_to_leave_out(
        &loaded.study,
        SystemWithArtifacts {
            system: &loaded.system,
            fetching: &locations,
        },
        changed.map(|(system, fetching)| SystemWithArtifacts { system, fetching }),
    ))
}

/// The cells that were left out when the run in this folder was begun: a run has the same cells from beginning to end.
pub(crate) fn find_as_begun(run: &Path) -> Result<Vec<LeftOutInfo>> {
    let info = waggle_results::run_info(run);
    let info = info.with_context(|| format!("cannot resume {}", run.display()))?;
    Ok(info.left_out)
}

/// Takes these cells out of the study.
///
/// # Errors
/// They are all of its cells.
pub(crate) fn remove(loaded: &mut Loaded, left_out: &[LeftOutInfo]) -> Result<()> {
    if kept_cells(loaded, left_out).is_empty() {
        bail!("no cell can be run\n{}", lines(loaded, left_out).join("\n"));
    }
    if !left_out.is_empty() {
        let numbers = waggle_runner::left_out_numbers(left_out);
        loaded.study.leave_out(&numbers);
    }
    Ok(())
}

/// Which cells and why, and what can be done; none if no cell is left out.
pub(crate) fn lines(loaded: &Loaded, left_out: &[LeftOutInfo]) -> Vec<String> {
    let groups = left_out_groups(&kept_cells(loaded, left_out), left_out);
    let named = groups.iter().map(wording::left_out::line);
    let named = named.map(|line| format!("left out: {line}"));
    let remedy = format!(
        "`waggle system fetch {}` tries again to fetch what is missing",
        loaded.system.name
    );
    let remedy = (!groups.is_empty()).then_some(remedy);
    named.chain(remedy).collect()
}

/// Without the sentinel.
fn kept_cells(loaded: &Loaded, left_out: &[LeftOutInfo]) -> Vec<CellInfo> {
    let numbers = waggle_runner::left_out_numbers(left_out);
    let mut cells = waggle_runner::cell_infos(&loaded.study);
    cells.retain(|cell| !cell.is_sentinel && !numbers.contains(&cell.cell));
    cells
}

//! Cells that are left out because their system cannot be had, by name and with the reason.

use std::path::Path;

use anyhow::{Context, Result, bail};
use waggle_analysis::left_out_groups;
use waggle_report::wording;
use waggle_results::LeftOutInfo;

use crate::{files::Loaded, folders, system::fetch_locations};

/// Leaves out the cells of the study that need an artifact that is missing and cannot be fetched.
///
/// # Errors
/// Those are all cells.
pub(crate) fn leave_out(loaded: &mut Loaded) -> Result<Vec<LeftOutInfo>> {
    if folders::artifacts().is_none() {
        return Ok(Vec::new());
    }
    let own = fetch_locations(&loaded.system_folder)?;
    let changed = match &loaded.changed {
        Some(changed) => Some((&changed.system, fetch_locations(&changed.folder)?)),
        None => None,
    };
    let left_out = waggle_runner::cells_to_leave_out(
        &loaded.study,
        (&loaded.system, &own),
        changed
            .as_ref()
            .map(|(system, fetching)| (*system, fetching)),
    );
    remove(loaded, &left_out)?;
    Ok(left_out)
}

/// Leaves out the cells that were left out when the run in this folder was begun: trials of a run have the same cells from
/// beginning to end.
pub(crate) fn leave_out_as_begun(loaded: &mut Loaded, run: &Path) -> Result<Vec<LeftOutInfo>> {
    let info = waggle_results::run_info(run);
    let info = info.with_context(|| format!("cannot resume {}", run.display()))?;
    remove(loaded, &info.left_out)?;
    Ok(info.left_out)
}

fn remove(loaded: &mut Loaded, left_out: &[LeftOutInfo]) -> Result<()> {
    if left_out.is_empty() {
        return Ok(());
    }
    let study = &mut loaded.study;
    study.leave_out(&waggle_runner::left_out_numbers(left_out));
    if study.cells.is_empty() {
        bail!(
            "no cell can be run:\n{}",
            lines(loaded, left_out).join("\n")
        );
    }
    Ok(())
}

/// Which cells and why, and what can be done; none if no cell is left out.
pub(crate) fn lines(loaded: &Loaded, left_out: &[LeftOutInfo]) -> Vec<String> {
    let kept = waggle_runner::cell_infos(&loaded.study);
    let groups = left_out_groups(&kept, left_out);
    let named = groups.iter().map(wording::left_out::line);
    let named = named.map(|line| format!("left out: {line}"));
    let remedy = format!(
        "`waggle system fetch {}` tries again to fetch what is missing",
        loaded.system.name
    );
    let remedy = (!groups.is_empty()).then_some(remedy);
    named.chain(remedy).collect()
}

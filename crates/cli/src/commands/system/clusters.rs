//! What runs made in Kubernetes clusters and did not remove, because they were killed or could not.

use std::path::PathBuf;

use anyhow::Result;

use crate::process::folders;

/// Until one object is gone.
#[cfg(feature = "cluster")]
const LIMIT: std::time::Duration = std::time::Duration::from_secs(120);

/// Removes all of it, except what a run uses. Returns whether there was any.
pub(super) fn remove(system: &str) -> Result<bool> {
    match folders::cluster_notes() {
        Some(folder) if folder.join(system).is_dir() => remove_from(folder, system),
        _ => Ok(false),
    }
}

#[cfg(feature = "cluster")]
fn remove_from(folder: PathBuf, system: &str) -> Result<bool> {
    use super::shared::print_line;
    use crate::output;

    let place = waggle_cluster::Place {
        folder,
        system: system.to_owned(),
    };
    let all = waggle_cluster::left_behind(&place)?;
    let is_any = !all.is_empty();
    let mut is_left = false;
    for left in all {
        let (file, lines) = (left.file.clone(), left.lines().join(", "));
        let cluster = left.cluster();
        if left.is_in_use {
            print_line(&format!(
                "process {} runs {}, and removes at its end from {cluster}: {lines}",
                left.pid(),
                left.run()
            ));
            continue;
        }
        let problems = remove_one(left).unwrap_or_else(|why| vec![format!("{why:#}")]);
        if problems.is_empty() {
            print_line(&format!("removed from {cluster}: {lines}"));
            continue;
        }
        is_left = true;
        for problem in problems {
            output::print_progress(&problem);
        }
        output::print_progress(&format!(
            "when it is gone from {cluster}, delete {}: {lines}",
            file.display()
        ));
    }
    anyhow::ensure!(
        !is_left,
        "not everything that runs of {system} made in clusters is removed"
    );
    Ok(is_any)
}

/// The kubeconfig says again where the cluster is, and who one is there.
#[cfg(feature = "cluster")]
fn remove_one(left: waggle_cluster::LeftBehind) -> Result<Vec<String>> {
    let removed = super::shared::runtime()?.block_on(left.remove(LIMIT));
    Ok(removed?)
}

#[cfg(not(feature = "cluster"))]
fn remove_from(folder: PathBuf, system: &str) -> Result<bool> {
    let folder = folder.join(system);
    let is_empty = folder.read_dir()?.next().is_none();
    anyhow::ensure!(
        is_empty,
        "{} says what runs left in clusters, but {}",
        folder.display(),
        crate::commands::cluster::NO_SUPPORT
    );
    Ok(false)
}

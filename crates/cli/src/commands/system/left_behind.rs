//! What runs of studies made in systems that run already and did not remove, because they were killed or could not.

use anyhow::{Context, Result, bail};
use waggle_system::LeftBehind;

use super::shared::{print_line, runtime};
use crate::{
    arguments::{Choice, TrustFlags},
    inputs::study,
    output,
    process::folders,
};

/// Removes all of it, except what a run uses. Returns whether there was any.
pub(super) fn remove(system: &str, trust: &TrustFlags) -> Result<bool> {
    let Some(folder) = folders::creation_notes() else {
        return Ok(false);
    };
    let all = waggle_system::left_behind(&folder, system)?;
    let is_any = !all.is_empty();
    let mut is_left = false;
    for left in all {
        if left.is_in_use {
            print_line(&format!(
                "process {} runs {}, and removes at its end: {}",
                left.pid,
                left.study.display(),
                left.lines().join(", ")
            ));
            continue;
        }
        let (file, lines) = (left.file.clone(), left.lines());
        let problems = remove_one(left, trust).unwrap_or_else(|why| vec![format!("{why:#}")]);
        if problems.is_empty() {
            print_line(&format!("removed: {}", lines.join(", ")));
            continue;
        }
        is_left = true;
        for problem in problems {
            output::print_progress(&problem);
        }
        output::print_progress(&format!(
            "when it is gone, delete {}: {}",
            file.display(),
            lines.join(", ")
        ));
    }
    if is_left {
        bail!("not everything that runs made in {system} is removed");
    }
    Ok(is_any)
}

/// The study says again where the system is, and who one is there.
fn remove_one(left: LeftBehind, trust: &TrustFlags) -> Result<Vec<String>> {
    let choice = Choice {
        study: left.study.clone(),
        filter: Vec::new(),
        quick: false,
        pilot: false,
        against: Vec::new(),
        design: None,
        seed: None,
        trust: trust.clone(),
    };
    let mut loaded = study::load(&choice).context("its study cannot be read any more")?;
    loaded.take_values(&choice.study)?;
    Ok(runtime()?.block_on(left.remove(&loaded.study, &loaded.system)))
}

/// Says what this process left behind.
pub(crate) fn warn_of_own(system: &str) {
    let Some(folder) = folders::creation_notes() else {
        return;
    };
    let all = match waggle_system::left_behind(&folder, system) {
        Ok(all) => all,
        Err(why) => {
            output::print_progress(&format!("what is left in {system} is not known: {why}"));
            return;
        }
    };
    for left in all.iter().filter(|left| left.pid == std::process::id()) {
        for line in left.lines() {
            output::print_progress(&format!(
                "not removed: {line}; `waggle system down {system}` tries again"
            ));
        }
    }
}

//! Whether a run that is resumed is still the same: its study, its system, its machine.

use std::{io, path::Path};

use waggle_results::{RunFolder, private_file};

use super::{info, info::Inventory, named_files::NAMED_FILE_MAX_BYTES, request::RunRequest};
use crate::trial::error::RunError;

/// Letters of a line of a study that an error shows.
const SHOWN_LINE_MAX: usize = 80;

/// Trials of one run are comparable only if nothing has changed in between.
pub(super) fn check_same(
    request: &RunRequest,
    folder: &RunFolder,
    inventory: &Inventory,
) -> Result<(), RunError> {
    let different = |what| RunError::Different {
        folder: request.run_folder.clone(),
        what,
        line: None,
    };
    let texts = [
        ("the study", "study.yaml", &request.study_text),
        ("the system", "system.yaml", &request.system_text),
    ];
    for (what, name, now) in texts {
        let then = read(&request.run_folder, name)?;
        if then != *now {
            return Err(RunError::Different {
                folder: request.run_folder.clone(),
                what,
                line: first_difference(&then, now),
            });
        }
    }
    let begun = folder.info();
    let scenario_then = begun
        .scenario
        .as_ref()
        .and_then(|scenario| scenario.file.as_ref());
    if scenario_then != info::scenario_file(&request.study).as_ref() {
        return Err(different("the scenario's file"));
    }
    let (then, now) = (&begun.host, &inventory.host);
    let same_cpus = then.load_cpus == now.load_cpus && then.system_cpus == now.system_cpus;
    if (&then.name, &then.cpu_model, then.cpus) != (&now.name, &now.cpu_model, now.cpus)
        || !same_cpus
    {
        return Err(different("the machine"));
    }
    if then.idle_poll != now.idle_poll {
        return Err(different("the option --idle-poll"));
    }
    if begun.components != inventory.components {
        return Err(different("a component's version"));
    }
    if begun.versions != info::versions(request) {
        return Err(different("what is compared, --against or --design,"));
    }
    if begun.seed != request.study.seed {
        return Err(different("the seed"));
    }
    let same_schedule = begun.schedule == info::schedule(&request.study, &request.study.cells[0]);
    if begun.cells != info::cell_infos(&request.study)
        || begun.derived != request.study.derived
        || begun.planned_order() != info::order(&request.plan)
        || begun.search != request.study.search
        || !same_schedule
    {
        return Err(different("the choice of trials"));
    }
    Ok(())
}

/// Where two texts first differ: `line 7 was "repeat: 3" and is "repeat: 5"`.
fn first_difference(then: &str, now: &str) -> Option<String> {
    let lines = then.lines().count().max(now.lines().count());
    let nth_line = |text: &str, line: usize| text.lines().nth(line).map(str::to_owned);
    let line = (0..lines).find(|line| nth_line(then, *line) != nth_line(now, *line))?;
    let shown = |text: &str| match nth_line(text, line) {
        Some(content) if content.trim().is_empty() => "empty".to_owned(),
        Some(content) => {
            let cut: String = content.trim().chars().take(SHOWN_LINE_MAX).collect();
            format!("{cut:?}")
        }
        None => "not there".to_owned(),
    };
    Some(format!(
        "line {} was {} and is {}",
        line + 1,
        shown(then),
        shown(now)
    ))
}

fn read(folder: &Path, name: &str) -> Result<String, RunError> {
    let read = private_file::read_file(&folder.join(name), NAMED_FILE_MAX_BYTES);
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    text.map_err(|problem| RunError::CannotCompare {
        folder: folder.to_path_buf(),
        problem,
    })
}

//! What killed runs left: their processes, files and unfinished trials.

use crate::{arguments::Run, output};

/// Removes it, and says so.
pub(super) fn remove(arguments: &Run) {
    let resumed = arguments.resume.iter().flatten();
    let resumed = resumed.filter_map(|run| waggle_runner::remove_remains_of_run(run));
    let of_others = waggle_runner::remove_remains(&arguments.runs);
    for line in resumed.chain(of_others) {
        output::print_progress(&line);
    }
}

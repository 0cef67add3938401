//! Reports, comparisons and histories as pages, by the code of their own commands.

use std::path::{Path, PathBuf};

use waggle_analysis::{
    history::{HistorySettings, HostScope},
    model,
};
use waggle_report::{
    Site, compare_html_beside, history_html_beside, html_beside, wording::history::error,
};
use waggle_results::Run;
use waggle_serve::{HistoryScope, Reason};

use crate::{
    arguments::{DEFAULT_MARGIN, DEFAULT_MIN_CHANGE},
    commands::{compare, history},
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn report(run: &Path, site: Site) -> Result<String, Reason> {
    let run = Run::read(run).map_err(Reason::new)?;
    if run.trials.is_empty() {
        return Err(Reason::new("no trial has a result yet"));
    }
    Ok(html_beside(&model(&run), site))
}

pub(super) fn compare(sides: [&Path; 2], site: Site) -> Result<String, Reason> {
    let settings = waggle_analysis::compare::CompareSettings {
        margin: DEFAULT_MARGIN,
        metrics: Vec::new(),
    };
    let compared = compare::comparison(sides, &settings);
    let compared = compared.map_err(|why| Reason(format!("{why:#}")))?;
    Ok(compare_html_beside(&compared, VERSION, site))
}

pub(super) fn history(runs: &[PathBuf], scope: HistoryScope, site: Site) -> Result<String, Reason> {
    let settings = HistorySettings {
        min_change: DEFAULT_MIN_CHANGE,
        metrics: Vec::new(),
        hosts: match scope {
            HistoryScope::EachHost => HostScope::Each,
            HistoryScope::AllHosts => HostScope::Together,
        },
    };
    match history::of_runs(runs, &settings) {
        Ok(Ok(model)) => Ok(history_html_beside(&model, VERSION, site)),
        Ok(Err(why)) => Err(Reason(error(&why))),
        Err(why) => Err(Reason(format!("{why:#}"))),
    }
}

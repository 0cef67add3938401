//! When the sentinel is run.

use waggle_spec::Restart;

use super::Checker;
use crate::{mistake::Finding, raw};

/// After how many trials the sentinel is run.
pub(crate) fn sentinel(checker: &mut Checker<'_>, raw: &raw::Study) -> Option<u32> {
    let schedule = raw.schedule.as_ref()?;
    let every = schedule.sentinel.as_ref()?.every;
    let refused = if raw.search.is_some() {
        Some("studies without search, whose trials depend on one another")
    } else if matches!(schedule.restart, Some(Restart::EveryCell)) {
        Some("studies that restart the system for every trial")
    } else {
        None
    };
    if let Some(studies) = refused {
        let position = checker.key(&["schedule", "sentinel"]);
        let what = format!("schedule.sentinel belongs to {studies}");
        checker.report(Finding::new(position, what).with_expected("a study without it"));
    }
    every
}

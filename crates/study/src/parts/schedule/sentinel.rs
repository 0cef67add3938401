//! When the sentinel is run.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::Restart;

use crate::{
    at::{At, Key},
    check::Checker,
};

/// When the first cell is run again, to show whether the host drifts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sentinel {
    /// After so many trials of the study.
    #[schemars(required, range(min = 2, max = 1_000))]
    pub every: Key<u32>,
}

/// After how many trials the sentinel is run.
pub(super) fn sentinel(
    checker: &mut Checker<'_>,
    given: &Key<Sentinel>,
    restart: Restart,
    has_search: bool,
) -> Option<u32> {
    let At { place, value } = given.content()?;
    let refused = if has_search {
        Some("studies without search, whose trials depend on one another")
    } else if restart == Restart::EveryCell {
        Some("studies that restart the system for every trial")
    } else {
        None
    };
    if let Some(studies) = refused {
        let mistake = place.key_mistake(format!("belongs to {studies}"));
        checker.report(mistake.with_expected("a study without it"));
    }
    value.every.value().copied()
}

//! Cells that cannot be run, because an artifact of their system is missing and cannot be fetched. An artifact that nobody has
//! tried to fetch is none of these: the run ends with an error that names the command.

use std::collections::{BTreeMap, BTreeSet};

use waggle_results::{LeftOutInfo, LeftOutReason};
use waggle_study::{Artifact, Cell, Study, System};
use waggle_system::components::{
    artifacts::{Fetching, Location, artifacts, fetch_failure::FetchFailure},
    driver::{artifact_of, started_programs},
};

use crate::run::{info::cell_info, schedule::is_changed};

/// A system, and where its artifacts are searched.
#[derive(Debug, Clone, Copy)]
pub struct SystemWithArtifacts<'a> {
    pub system: &'a System,
    pub fetching: &'a Fetching,
}

/// The cells that cannot be run, in the order of the study, with the reasons. `changed` is the system of the changed version, if it is
/// another one.
///
/// Of two versions of a cell both are left out, because neither has anything to be compared with.
#[must_use]
pub fn cells_to_leave_out(
    study: &Study,
    baseline: SystemWithArtifacts<'_>,
    changed: Option<SystemWithArtifacts<'_>>,
) -> Vec<LeftOutInfo> {
    let baseline = AbsentArtifacts::find(baseline);
    let of_changed = changed.map(AbsentArtifacts::find);
    let own_reason = |cell: &Cell| {
        let of_changed = of_changed.as_ref().filter(|_| is_changed(cell));
        of_changed.unwrap_or(&baseline).reason(cell)
    };
    let cells = || study.cells.iter().filter(|cell| !cell.is_sentinel);
    let reasons: BTreeMap<u32, LeftOutReason> = cells()
        .filter_map(|cell| Some((cell.number, own_reason(cell)?)))
        .collect();
    let left_out = cells().filter_map(|cell| {
        Some(LeftOutInfo {
            reason: own_or_partner_reason(cell, &reasons)?,
            cell: cell_info(cell),
        })
    });
    left_out.collect()
}

fn own_or_partner_reason(
    cell: &Cell,
    reasons: &BTreeMap<u32, LeftOutReason>,
) -> Option<LeftOutReason> {
    if let Some(reason) = reasons.get(&cell.number) {
        return Some(reason.clone());
    }
    let partner = cell.version?.partner;
    let is_left_out = reasons.contains_key(&partner);
    is_left_out.then_some(LeftOutReason::Partner { cell: partner })
}

/// Artifacts of a system that are missing and cannot be fetched.
struct AbsentArtifacts<'a> {
    system: &'a System,
    /// By the name of the artifact.
    reasons: BTreeMap<String, LeftOutReason>,
}

impl<'a> AbsentArtifacts<'a> {
    fn find(SystemWithArtifacts { system, fetching }: SystemWithArtifacts<'a>) -> Self {
        let reason = |(artifact, location): (Artifact, Location)| {
            let is_missing = location == Location::Missing;
            let reason = is_missing.then(|| reason(&artifact, fetching))??;
            Some((artifact.name, reason))
        };
        let all = artifacts(system, None, fetching);
        Self {
            system,
            reasons: all.into_iter().filter_map(reason).collect(),
        }
    }

    /// That of the first artifact that a component of the cell's system needs.
    fn reason(&self, cell: &Cell) -> Option<LeftOutReason> {
        if self.reasons.is_empty() {
            return None;
        }
        let configured = self.system.configure(&cell.parameters);
        started_programs(&configured).find_map(|program| {
            let artifact = artifact_of(self.system, &program)?;
            self.reasons.get(&artifact.name).cloned()
        })
    }
}

/// Why a missing artifact cannot be fetched; `None`: that is not known before it is tried.
fn reason(artifact: &Artifact, fetching: &Fetching) -> Option<LeftOutReason> {
    let (name, version) = (artifact.name.clone(), artifact.version.clone());
    let programs = fetching.missing_programs(artifact);
    if !programs.is_empty() {
        return Some(LeftOutReason::Requires {
            artifact: name,
            version,
            programs,
        });
    }
    let failure = FetchFailure::read(&fetching.artifacts_folder, artifact)?;
    Some(LeftOutReason::FetchFailed {
        artifact: name,
        version,
        why: failure.why,
        failed_utc: failure.failed_utc,
    })
}

/// The numbers of the cells.
#[must_use]
pub fn left_out_numbers(left_out: &[LeftOutInfo]) -> BTreeSet<u32> {
    left_out.iter().map(|entry| entry.cell.cell).collect()
}

//! Two versions of a system in one run: the one as it is, and a changed one.

use crate::{Cell, Study};

/// Two versions that a run compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    pub design: Design,
    /// What the changed version has in place of the other's, as the user wrote it.
    pub changes: Vec<String>,
}

/// One of the two versions of a cell that a run compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellVersion {
    pub version: Version,
    /// The number of the cell with the other version.
    pub partner: u32,
}

/// The system as it is, or the changed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Baseline,
    Changed,
}

/// How the trials of two versions lie in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Design {
    /// One after the other, in the order of the study.
    #[default]
    Blocks,
    /// Both at the same time.
    Duet(DuetCpus),
}

/// The CPUs of two versions that run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuetCpus {
    /// Both load and both systems use the same ones.
    Shared,
    /// Each version has one half, the other one in the next repetition.
    Swapped,
}

impl Study {
    /// The cell that runs at the same time as this one.
    #[must_use]
    pub fn duet_partner(&self, cell: &Cell) -> Option<&Cell> {
        let version = cell.version.filter(|_| self.has_duets())?;
        self.cells
            .iter()
            .find(|candidate| candidate.number == version.partner)
    }

    /// Whether two versions run at the same time.
    #[must_use]
    pub fn has_duets(&self) -> bool {
        let versions = self.versions.as_ref();
        versions.is_some_and(|versions| matches!(versions.design, Design::Duet(_)))
    }

    /// Whether this cell's trials take no time of their own, because they run with those of its partner.
    #[must_use]
    pub fn follows_partner(&self, cell: &Cell) -> bool {
        self.has_duets()
            && cell
                .version
                .is_some_and(|version| version.version == Version::Changed)
    }
}

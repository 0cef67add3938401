//! What several cells are called together.

use waggle_results::{CellInfo, RunInfo};

/// Which cells, as short as they can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellGroup {
    /// All cells with these levels, which are none if the study has one cell.
    Levels(Vec<(String, String)>),
    /// The name of each, or its levels.
    Each(Vec<CalledCell>),
}

/// A cell as it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CalledCell {
    /// By the study.
    Named(String),
    Levels(Vec<(String, String)>),
}

/// The cells of a run with these numbers; `None`: those are all.
#[must_use]
pub fn part_of_cells(info: &RunInfo, numbers: &[u32]) -> Option<CellGroup> {
    let all: Vec<&CellInfo> = info.cells.iter().filter(|cell| !cell.is_sentinel).collect();
    let members = all.iter().filter(|cell| numbers.contains(&cell.cell));
    let members: Vec<&CellInfo> = members.copied().collect();
    (members.len() < all.len()).then(|| cell_group(&members, &all))
}

/// `members` are some of `all`.
pub(crate) fn cell_group(members: &[&CellInfo], all: &[&CellInfo]) -> CellGroup {
    shared_levels(members, all).unwrap_or_else(|| each_cell(members, all))
}

/// The levels that these cells share and that no other cell has; `None`: other cells have them, too.
fn shared_levels(members: &[&CellInfo], all: &[&CellInfo]) -> Option<CellGroup> {
    let first = members.first()?;
    let mut levels = telling_levels(first, all);
    levels.retain(|level| members.iter().all(|cell| cell.levels.contains(level)));
    let has_all = |cell: &&&CellInfo| levels.iter().all(|level| cell.levels.contains(level));
    let is_exact = all.iter().filter(has_all).count() == members.len();
    let has_name = members.len() == 1 && first.name.is_some();
    (is_exact && !has_name).then_some(CellGroup::Levels(levels))
}

fn each_cell(members: &[&CellInfo], all: &[&CellInfo]) -> CellGroup {
    let cell = |cell: &&CellInfo| match &cell.name {
        Some(name) => CalledCell::Named(name.clone()),
        None => CalledCell::Levels(telling_levels(cell, all)),
    };
    CellGroup::Each(members.iter().map(cell).collect())
}

/// Those in which the cells of the study differ.
fn telling_levels(cell: &CellInfo, all: &[&CellInfo]) -> Vec<(String, String)> {
    let levels = cell.levels.iter();
    let differs = |level: &&(String, String)| {
        !all.iter()
            .all(|study_cell| study_cell.levels.contains(level))
    };
    levels.filter(differs).cloned().collect()
}

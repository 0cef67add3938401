//! Cells that a run left out, those of one reason together.

use waggle_results::{CellInfo, LeftOutInfo, LeftOutReason, RunInfo};

use crate::run::cell_group::{CellGroup, cell_group};

/// Cells that are left out for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutGroup {
    pub cells: CellGroup,
    pub reason: LeftOutReason,
    /// How many cells it has.
    pub count: usize,
}

/// The cells that a run left out.
#[must_use]
pub fn left_out_of_run(info: &RunInfo) -> Vec<LeftOutGroup> {
    left_out_groups(&info.cells, &info.left_out)
}

/// In the order of their first cells; `kept` are the other cells of the study.
#[must_use]
pub fn left_out_groups(kept: &[CellInfo], left_out: &[LeftOutInfo]) -> Vec<LeftOutGroup> {
    let all: Vec<&CellInfo> = kept
        .iter()
        .filter(|cell| !cell.is_sentinel)
        .chain(left_out.iter().map(|omission| &omission.cell))
        .collect();
    let mut reasons: Vec<&LeftOutReason> = Vec::new();
    for omission in left_out {
        if !reasons.contains(&&omission.reason) {
            reasons.push(&omission.reason);
        }
    }
    let mut groups = Vec::new();
    for reason in reasons {
        let group_cells = left_out
            .iter()
            .filter(|omission| omission.reason == *reason);
        let group_cells: Vec<&CellInfo> = group_cells.map(|omission| &omission.cell).collect();
        groups.push(LeftOutGroup {
            cells: cell_group(&group_cells, &all),
            reason: reason.clone(),
            count: group_cells.len(),
        });
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::cell_group::CalledCell;

    fn cell(number: u32, levels: &[(&str, &str)]) -> CellInfo {
        let levels = levels.iter();
        CellInfo {
            cell: number,
            levels: levels
                .map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned()))
                .collect(),
            derived: Vec::new(),
            name: None,
            expect_verdict: None,
            is_sentinel: false,
        }
    }

    fn grid() -> Vec<CellInfo> {
        let technologies = ["go", "phoenix", "trot"];
        let pairs = technologies
            .iter()
            .flat_map(|technology_name| [(technology_name, "1"), (technology_name, "10")]);
        let cells = (1..).zip(pairs);
        cells
            .map(|(number, (technology, connections))| {
                let levels = [
                    ("technology", *technology),
                    ("connections", connections),
                    ("tuned", "false"),
                ];
                cell(number, &levels)
            })
            .collect()
    }

    fn requires(artifact: &str) -> LeftOutReason {
        LeftOutReason::Requires {
            artifact: artifact.to_owned(),
            version: "1".to_owned(),
            programs: vec!["mix".to_owned()],
        }
    }

    /// Leaves out the cells of the grid with these numbers, each for its artifact.
    fn groups(cells: &[CellInfo], left_out: &[(u32, &str)]) -> Vec<(CellGroup, usize)> {
        let reason = |cell: &CellInfo| {
            let mut omissions = left_out.iter().filter(|(number, _)| *number == cell.cell);
            omissions.next().map(|(_, artifact)| requires(artifact))
        };
        let (out, kept): (Vec<&CellInfo>, Vec<&CellInfo>) =
            cells.iter().partition(|cell| reason(cell).is_some());
        let kept: Vec<CellInfo> = kept.into_iter().cloned().collect();
        let out = out.into_iter().map(|cell| LeftOutInfo {
            cell: cell.clone(),
            reason: reason(cell).unwrap(),
        });
        let groups = left_out_groups(&kept, &out.collect::<Vec<_>>());
        let groups = groups.into_iter();
        groups.map(|group| (group.cells, group.count)).collect()
    }

    fn levels(levels: &[(&str, &str)]) -> Vec<(String, String)> {
        cell(0, levels).levels
    }

    #[test]
    fn a_group_is_named_by_the_levels_that_only_its_cells_have() {
        let phoenix = CellGroup::Levels(levels(&[("technology", "phoenix")]));
        let trot = CellGroup::Levels(levels(&[("technology", "trot")]));
        let phoenix_cell =
            CellGroup::Levels(levels(&[("technology", "phoenix"), ("connections", "10")]));
        let check = |left_out: &[(u32, &str)], expected: &[(CellGroup, usize)]| {
            assert_eq!(groups(&grid(), left_out), expected, "{left_out:?}");
        };
        check(&[], &[]);
        check(&[(3, "phoenix"), (4, "phoenix")], &[(phoenix.clone(), 2)]);
        check(
            &[(3, "phoenix"), (4, "phoenix"), (5, "trot"), (6, "trot")],
            &[(phoenix, 2), (trot, 2)],
        );
        check(&[(4, "phoenix")], &[(phoenix_cell, 1)]);
        let each = [4, 5].map(|number| {
            let cell = &grid()[number - 1];
            CalledCell::Levels(cell.levels[..2].to_vec())
        });
        check(
            &[(4, "elixir"), (5, "elixir")],
            &[(CellGroup::Each(each.to_vec()), 2)],
        );
    }

    #[test]
    fn a_cell_with_a_name_is_called_by_it() {
        let mut cells = grid();
        cells[3].name = Some("slow Phoenix".to_owned());
        let named = CellGroup::Each(vec![CalledCell::Named("slow Phoenix".to_owned())]);
        assert_eq!(groups(&cells, &[(4, "phoenix")]), [(named, 1)]);
    }
}

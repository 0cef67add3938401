//! Cells that have their trials on the same prepared system, which grows from one to the next.

use crate::{Cell, Preparation, Study};

impl Study {
    /// Whether two cells can have their trials on the same prepared system: they are the same, or differ only in the level of the
    /// factor with which it grows.
    #[must_use]
    pub fn share_preparation(&self, first_cell: &Cell, other: &Cell) -> bool {
        let Some(grow) = &self.grow else {
            return first_cell.number == other.number;
        };
        let fixed = |cell: &Cell| {
            let levels = cell.levels.iter();
            let levels = levels.filter(|(factor, _)| factor != grow);
            levels.cloned().collect::<Vec<_>>()
        };
        first_cell.version == other.version
            && first_cell.parameters == other.parameters
            && first_cell.network == other.network
            && fixed(first_cell) == fixed(other)
    }

    /// The cells in an order in which a prepared system grows: those that share it follow the first of them, smallest first.
    pub(crate) fn grown<'a>(&self, cells: Vec<&'a Cell>) -> Vec<&'a Cell> {
        if self.grow.is_none() {
            return cells;
        }
        let mut order: Vec<&Cell> = Vec::with_capacity(cells.len());
        for cell in &cells {
            if order.iter().any(|known| known.number == cell.number) {
                continue;
            }
            let mut group: Vec<&Cell> = cells
                .iter()
                .copied()
                .filter(|other| self.share_preparation(cell, other))
                .collect();
            group.sort_by_key(|cell| cell.preparation.as_ref().map(Preparation::sessions));
            order.extend(group);
        }
        order
    }
}

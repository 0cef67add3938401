//! Removing cells that cannot be run from a checked study.

use std::collections::BTreeSet;

use crate::Study;

impl Study {
    /// Removes cells by their numbers; the others keep theirs. The sentinel becomes a copy of the first cell that is left.
    pub fn leave_out(&mut self, numbers: &BTreeSet<u32>) {
        let sentinel = self.sentinel().map(|cell| cell.number);
        self.cells
            .retain(|cell| !cell.is_sentinel && !numbers.contains(&cell.number));
        if let Some(number) = sentinel {
            self.push_sentinel(number);
        }
    }
}

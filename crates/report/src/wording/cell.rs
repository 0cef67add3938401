//! A cell's verdict, also where there is none.

use super::words;
use waggle_analysis::CellModel;

/// The verdict's word, and how many trials there are where they are not all there.
#[must_use]
pub fn verdict(cell: &CellModel) -> String {
    let none = if cell.is_searched {
        "no level holds"
    } else {
        "not run"
    };
    let word = cell.verdict.map_or(none, words::verdict);
    if cell.ran > 0 && cell.ran < cell.planned as usize {
        format!("{word} ({} of {} trials)", cell.ran, cell.planned)
    } else {
        word.to_owned()
    }
}

//! What became of the records of a run, added up over its cells: how many were lost, doubled, done although refused, without a clear
//! answer, and in which cells.

use std::cmp::Reverse;

use waggle_results::LedgerInfo;

use crate::cell::cell_model::CellModel;

/// The accounts of all cells as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// How many cells have an account.
    pub cells: usize,
    pub accepted: u64,
    pub delivered: u64,
    pub missing: Spread,
    pub duplicates: Spread,
    pub rejected: Spread,
    pub rejected_delivered: Spread,
    pub unknown: Spread,
    pub unknown_delivered: u64,
    /// Found, and neither accepted, rejected nor unknown.
    pub stray: Spread,
}

/// A count over cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    pub sum: u64,
    /// Number of the cell and its part of the sum, most first; only cells that have a part.
    pub cells: Vec<(u32, u64)>,
}

impl Spread {
    /// Of each cell, its number and its count.
    fn new(counts: impl Iterator<Item = (u32, u64)>) -> Self {
        let mut cells: Vec<(u32, u64)> = counts.filter(|(_, count)| *count > 0).collect();
        cells.sort_by_key(|(_, count)| Reverse(*count));
        Self {
            sum: cells.iter().map(|(_, count)| count).sum(),
            cells,
        }
    }
}

/// `None` if no account was kept.
pub(crate) fn account(cells: &[CellModel]) -> Option<Account> {
    let all: Vec<(u32, &LedgerInfo)> = cells
        .iter()
        .filter_map(|cell| Some((cell.cell, cell.ledger.as_ref()?)))
        .collect();
    if all.is_empty() {
        return None;
    }
    let sum = |pick: fn(&LedgerInfo) -> u64| all.iter().map(|(_, ledger)| pick(ledger)).sum();
    let spread = |pick: fn(&LedgerInfo) -> u64| {
        Spread::new(all.iter().map(|(cell, ledger)| (*cell, pick(ledger))))
    };
    Some(Account {
        cells: all.len(),
        accepted: sum(|ledger| ledger.accepted),
        delivered: sum(|ledger| ledger.delivered),
        missing: spread(|ledger| ledger.missing),
        duplicates: spread(|ledger| ledger.duplicates),
        rejected: spread(|ledger| ledger.rejected),
        rejected_delivered: spread(|ledger| ledger.rejected_delivered),
        unknown: spread(|ledger| ledger.unknown),
        unknown_delivered: sum(|ledger| ledger.unknown_delivered),
        stray: spread(|ledger| ledger.unexpected.saturating_sub(ledger.rejected_delivered)),
    })
}

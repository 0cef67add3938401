//! What became of the records of all cells, for other programs.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::Account;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Accounting {
    accepted: u64,
    delivered: u64,
    missing: u64,
    duplicates: u64,
    rejected: u64,
    rejected_delivered: u64,
    unknown: u64,
    unknown_delivered: u64,
    unexpected: u64,
}

pub(crate) fn accounting(account: &Account) -> Accounting {
    Accounting {
        accepted: account.accepted,
        delivered: account.delivered,
        missing: account.missing.sum,
        duplicates: account.duplicates.sum,
        rejected: account.rejected.sum,
        rejected_delivered: account.rejected_delivered.sum,
        unknown: account.unknown.sum,
        unknown_delivered: account.unknown_delivered,
        unexpected: account.stray.sum,
    }
}

//! What a run leaves out of its study: cells without their system, with the reason, and what the command line did not choose.

use serde::{Deserialize, Serialize};

use crate::CellInfo;

/// A cell that no trial is planned of, because its system could not be had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOutInfo {
    pub cell: CellInfo,
    pub reason: LeftOutReason,
}

/// Why a cell is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LeftOutReason {
    /// An artifact of its system is missing, and its fetch requires programs that are not installed.
    Requires {
        artifact: String,
        version: String,
        programs: Vec<String>,
    },
    /// An artifact of its system is missing, and its fetch failed.
    FetchFailed {
        artifact: String,
        version: String,
        why: String,
        /// RFC 3339, UTC.
        failed_utc: String,
    },
    /// The cell with the other version of the system is left out.
    Partner { cell: u32 },
}

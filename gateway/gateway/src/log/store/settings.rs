//! Settings of the store.

use std::{path::PathBuf, time::Duration};

/// Settings of the store.
#[derive(Debug, Clone)]
pub(crate) struct StoreSettings {
    pub(crate) file: PathBuf,
    /// Maximum number of records that wait for a commit.
    pub(crate) queue_max_records: usize,
    /// Time that a commit waits for more records after the first.
    pub(crate) commit_delay: Duration,
    /// Maximum size of the file; 0 disables the limit.
    pub(crate) file_max_bytes: u64,
    /// Size of the write-ahead log at which a checkpoint is forced.
    pub(crate) wal_max_bytes: u64,
    pub(crate) topics_max: usize,
    /// Maximum number of concurrent reads.
    pub(crate) readers: usize,
    /// Maximum number of series in the table of latest readings, and its maximum memory.
    pub(crate) latest_max_series: usize,
    pub(crate) latest_max_bytes: usize,
    /// Maximum number of records that are read to restore the table.
    pub(crate) latest_restore_records: usize,
}

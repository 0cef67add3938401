//! Settings of the store.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of the store.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    pub file: PathBuf,
    /// Maximum number of records that wait for a commit.
    pub queue_max_records: usize,
    /// Time that a commit waits for more records after the first.
    pub commit_delay: Duration,
    /// Maximum size of the file; 0 disables the limit.
    pub file_max_bytes: u64,
    /// Size of the write-ahead log at which a checkpoint is forced.
    pub wal_max_bytes: u64,
    pub topics_max: usize,
    /// Maximum number of concurrent reads.
    pub readers: usize,
    /// Maximum number of series in the table of latest readings, and its maximum memory.
    pub latest_max_series: usize,
    pub latest_max_bytes: usize,
    /// Maximum number of records that are read to restore the table.
    pub latest_restore_records: usize,
}

//! Settings of the store.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of the store.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    pub file: PathBuf,
    /// Most records that wait for a commit.
    pub queue_max_records: usize,
    /// How long a commit waits for more records after the first.
    pub commit_delay: Duration,
    /// Largest size of the file; 0 is no limit.
    pub file_max_bytes: u64,
    /// Size of the write-ahead log at which it is checkpointed at the latest.
    pub wal_max_bytes: u64,
    pub topics_max: usize,
    /// Reads at once.
    pub readers: usize,
    /// Most series in the table of latest readings, and its memory.
    pub latest_max_series: usize,
    pub latest_max_bytes: usize,
    /// Most records that are read to restore the table.
    pub latest_restore_records: usize,
}

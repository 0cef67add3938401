//! How the store is kept.

use std::path::PathBuf;
use std::time::Duration;

/// How the store is to be kept.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    pub file: PathBuf,
    /// Records waiting for a commit at most.
    pub queue_max_records: usize,
    /// How long a commit waits for more records after the first.
    pub commit_delay: Duration,
    /// The file grows no further; 0 is no limit.
    pub file_max_bytes: u64,
    /// The write-ahead log is folded into the file at the latest at this size.
    pub wal_max_bytes: u64,
    pub topics_max: usize,
    /// Threads that read at once.
    pub readers: usize,
    /// Series whose latest reading is kept in memory, and their bytes.
    pub last_series: usize,
    pub last_max_bytes: usize,
    /// Records looked at, when the store is opened, to know them again.
    pub last_restore_records: usize,
}

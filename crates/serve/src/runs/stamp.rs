//! What tells whether a file has changed since it was read.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// A file that was changed so short a time ago may change again without another time.
const SETTLED_AGE: Duration = Duration::from_secs(2);

/// A file or a folder as it was when it was looked at. Names are short: there are four for each of ten thousand runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    #[serde(rename = "d")]
    device: u64,
    #[serde(rename = "i")]
    inode: u64,
    #[serde(rename = "b")]
    bytes: u64,
    #[serde(rename = "m")]
    modified: (i64, i64),
    /// Also of its owner, its mode and its name.
    #[serde(rename = "c")]
    changed: (i64, i64),
}

impl FileStamp {
    /// Of what a path leads to; `None`: it cannot be looked at.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(Self::from)
    }

    /// The same, of a link itself.
    pub(super) fn read_link(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(Self::from)
    }

    /// Whether who began to read it at that time has read it as it is now.
    #[must_use]
    pub fn is_settled(&self, begun: SystemTime) -> bool {
        let begun = begun.duration_since(UNIX_EPOCH);
        let settled = begun.unwrap_or_default().saturating_sub(SETTLED_AGE);
        let settled = i64::try_from(settled.as_secs()).unwrap_or(i64::MAX);
        self.modified.0.max(self.changed.0) < settled
    }
}

impl From<Metadata> for FileStamp {
    fn from(about: Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_has_just_changed_is_not_settled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "a").unwrap();
        let stamp = FileStamp::read(&path).unwrap();
        let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(stamp.changed.0).unwrap());
        assert!(!stamp.is_settled(changed));
        assert!(!stamp.is_settled(changed + SETTLED_AGE));
        assert!(stamp.is_settled(changed + SETTLED_AGE + Duration::from_secs(1)));
        // What a program says of its time does not make it older.
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        assert!(!FileStamp::read(&path).unwrap().is_settled(changed));
        fs::remove_file(&path).unwrap();
        assert_eq!(FileStamp::read(&path), None);
    }
}

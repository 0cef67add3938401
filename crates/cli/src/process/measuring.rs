//! Which waggles of this user measure now: two that measure at the same time disturb each other.
//!
//! Each has a file with what it does, which it locks until its process ends. A file without a lock is of a process that was killed.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::process::folders;

/// Longest text of a file that is read.
const TEXT_MAX: u64 = 200;

/// This process measures, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Measuring {
    /// Its file, locked.
    own: Option<(PathBuf, File)>,
    note: Option<String>,
}

impl Measuring {
    /// `what`: the command, as others are told. Without a folder to write to, nothing is known of others.
    pub(crate) fn new(what: &str) -> Self {
        let begun = folders::measuring().and_then(|folder| Self::begin(&folder, what).ok());
        begun.unwrap_or_default()
    }

    fn begin(folder: &Path, what: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(std::process::id().to_string());
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)?;
        file.try_lock()?;
        file.set_len(0)?;
        file.write_all(what.replace(char::is_control, " ").as_bytes())?;
        let others = others(folder, &path);
        Ok(Self {
            own: Some((path, file)),
            note: note(&others),
        })
    }

    /// What is said of others that measured when this one began.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.own {
            // The next one removes what could not be removed.
            fs::remove_file(path).ok();
        }
    }
}

/// What the others do: `waggle run a.yaml (pid 123)`. Files of processes that are over are removed.
fn others(folder: &Path, own_file: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut others: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| path != own_file)
        .filter_map(|path| read_other(&path))
        .collect();
    others.sort();
    others
}

fn read_other(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    // It has no text before it is locked.
    if file.metadata().ok()?.len() == 0 {
        return None;
    }
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let mut text = Vec::new();
            file.take(TEXT_MAX).read_to_end(&mut text).ok()?;
            let text = String::from_utf8_lossy(&text);
            let pid = path.file_name()?.to_string_lossy();
            Some(format!("{text} (pid {pid})"))
        }
        Ok(()) => {
            fs::remove_file(path).ok();
            None
        }
        Err(TryLockError::Error(_)) => None,
    }
}

fn note(others: &[String]) -> Option<String> {
    let (first, more) = others.split_first()?;
    let more = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!(
        "another waggle measures on this machine: {first}{more}; each disturbs what the other measures"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_one_is_named_while_it_measures() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("measuring");
        let alone = Measuring::begin(&folder, "waggle run a.yaml").unwrap();
        assert_eq!(alone.note(), None);
        // A process that was killed, and one that runs.
        fs::write(folder.join("1"), "waggle run killed.yaml").unwrap();
        let mut file = File::create(folder.join("2")).unwrap();
        file.lock().unwrap();
        file.write_all(b"waggle load 127.0.0.1:8080").unwrap();
        drop(alone);
        let beside = Measuring::begin(&folder, "waggle run b.yaml").unwrap();
        assert_eq!(
            beside.note(),
            Some(
                "another waggle measures on this machine: waggle load 127.0.0.1:8080 (pid 2); each disturbs what the \
                 other measures"
            )
        );
        assert!(!folder.join("1").exists());
        drop(beside);
        drop(file);
        fs::remove_file(folder.join("2")).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}

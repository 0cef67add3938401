//! Which waggles of this user measure now: two that measure at the same time disturb each other, and the results of both say so. So do
//! processes that follow a run while it measures.
//!
//! Each has a file with what it does, and in the second line the folder of its run, which it locks until its process ends. A file without a lock is of a process that was killed. One
//! that begins leaves a note to each that measures already, which may outlast it.

use std::{
    ffi::OsStr,
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use waggle_results::private_file;

/// Longest text of a file that is read.
const TEXT_MAX: u64 = 200;
/// Longest path of a run that is read, and what of a longer text lies before it.
const PATH_MAX: u64 = 8 << 10;
/// In the name of a note: `123.from.456`.
const FROM: &str = ".from.";

/// This process measures, until this is dropped.
#[derive(Debug, Default)]
pub struct Measuring {
    file: Option<OwnFile>,
    /// Those that measured when others were last looked for.
    before: Mutex<Vec<String>>,
    followers: Followers,
}

/// Processes that follow what is measured.
#[derive(Debug, Default)]
struct Followers {
    now: AtomicUsize,
    /// The most since they were last asked for.
    most: AtomicUsize,
}

/// A waggle that measures, as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuringProcess {
    pub pid: u32,
    /// `waggle run a.yaml`.
    pub what: String,
    /// The folder of its run; `None`: it has none, or is about to make it.
    pub run: Option<PathBuf>,
}

#[derive(Debug)]
struct OwnFile {
    folder: PathBuf,
    path: PathBuf,
    /// Locked.
    file: File,
    /// Length of its first line.
    what_bytes: u64,
}

impl Measuring {
    /// `what`: the command, as others are told. Without a folder to write to, nothing is known of others.
    #[must_use]
    pub fn new(folder: Option<&Path>, what: &str) -> Self {
        let begun = folder.and_then(|folder| Self::begin(folder, what).ok());
        begun.unwrap_or_default()
    }

    fn begin(folder: &Path, what: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let pid = std::process::id();
        let path = folder.join(pid.to_string());
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)?;
        file.try_lock()?;
        file.set_len(0)?;
        let what = what.replace(char::is_control, " ");
        file.write_all(what.as_bytes())?;
        let others = others(folder, &path);
        for other in &others {
            let note = folder.join(format!("{}{FROM}{pid}", other.pid));
            private_file::write_file(&note, &what)?;
        }
        Ok(Self {
            file: Some(OwnFile {
                folder: folder.to_path_buf(),
                path,
                file,
                what_bytes: what.len() as u64,
            }),
            before: Mutex::new(others.iter().map(Other::text).collect()),
            followers: Followers::default(),
        })
    }

    /// Tells others where the run is. An error is ignored: they then find it by its folder alone.
    pub fn set_run(&self, run: &Path) {
        let Some(file) = &self.file else {
            return;
        };
        let run = std::path::absolute(run).unwrap_or_else(|_| run.to_path_buf());
        let line = [b"\n", run.as_os_str().as_bytes()].concat();
        // That of a run before is replaced.
        let emptied = file.file.set_len(file.what_bytes);
        emptied
            .and_then(|()| file.file.write_all_at(&line, file.what_bytes))
            .ok();
    }

    /// So many processes follow from now on.
    pub fn set_followers(&self, count: usize) {
        self.followers.now.store(count, Ordering::Relaxed);
        self.followers.most.fetch_max(count, Ordering::Relaxed);
    }

    /// What is said of processes that have followed since the last call.
    #[must_use]
    pub fn follower_note(&self) -> Option<String> {
        let now = self.followers.now.load(Ordering::Relaxed);
        match self.followers.most.swap(now, Ordering::Relaxed) {
            0 => None,
            1 => Some("one process on this machine followed the run meanwhile".to_owned()),
            most => Some(format!(
                "{most} processes on this machine followed the run meanwhile"
            )),
        }
    }

    /// What is said of others that have measured since the last call, or since this one began.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let measuring = self.file.as_ref()?;
        let now: Vec<String> = others(&measuring.folder, &measuring.path)
            .iter()
            .map(Other::text)
            .collect();
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = std::mem::replace(&mut *before, now.clone());
        all.extend(now);
        all.extend(take_notes(measuring));
        all.sort();
        all.dedup();
        note(&all)
    }
}

impl Measuring {
    /// It measures no more. A thread that still holds this when the process ends would leave the file behind.
    pub fn end(&self) {
        if let Some(file) = &self.file {
            // The next one removes what could not be removed.
            take_notes(file);
            fs::remove_file(&file.path).ok();
        }
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        self.end();
    }
}

/// The waggles that measure now, by their process. Files of those that are over are removed.
#[must_use]
pub fn measuring_processes(folder: &Path) -> Vec<MeasuringProcess> {
    let own_file = folder.join(std::process::id().to_string());
    let others = others(folder, &own_file).into_iter();
    let others = others.filter_map(|other| {
        Some(MeasuringProcess {
            pid: other.pid.parse().ok()?,
            what: other.what,
            run: other.run,
        })
    });
    let mut all: Vec<MeasuringProcess> = others.collect();
    all.sort_by_key(|process| process.pid);
    all
}

/// Another process that measures.
struct Other {
    pid: String,
    /// `waggle run a.yaml`.
    what: String,
    run: Option<PathBuf>,
}

impl Other {
    fn text(&self) -> String {
        format!("{} (pid {})", self.what, self.pid)
    }
}

/// What others left to this one, which is removed.
fn take_notes(receiver: &OwnFile) -> Vec<String> {
    let name = receiver.path.file_name().unwrap_or_default();
    let prefix = format!("{}{FROM}", name.to_string_lossy());
    let entries = fs::read_dir(&receiver.folder).into_iter().flatten();
    let entries = entries.flatten();
    entries
        .filter_map(|entry| take_note(&entry, &prefix))
        .collect()
}

fn take_note(entry: &fs::DirEntry, prefix: &str) -> Option<String> {
    let name = entry.file_name().into_string().ok()?;
    let pid = name.strip_prefix(prefix)?.to_owned();
    let (what, run) = read_text(File::open(entry.path()).ok()?)?;
    fs::remove_file(entry.path()).ok();
    Some(Other { pid, what, run }.text())
}

/// Those that measure now. Files of processes that are over are removed.
fn others(folder: &Path, own_file: &Path) -> Vec<Other> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // A note is removed after the file of the process that it is for.
    paths.sort_by_key(|path| is_note(path));
    let mut others: Vec<Other> = paths
        .into_iter()
        .filter(|path| path != own_file)
        .filter_map(|path| read_other(folder, &path))
        .collect();
    others.sort_by_cached_key(Other::text);
    others
}

fn is_note(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().contains(FROM)
}

fn read_other(folder: &Path, path: &Path) -> Option<Other> {
    let name = path.file_name()?.to_str()?;
    if let Some((receiver, _)) = name.split_once(FROM) {
        if !folder.join(receiver).exists() {
            fs::remove_file(path).ok();
        }
        return None;
    }
    let file = File::open(path).ok()?;
    // It has no text before it is locked.
    if file.metadata().ok()?.len() == 0 {
        return None;
    }
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let (what, run) = read_text(file)?;
            let pid = name.to_owned();
            Some(Other { pid, what, run })
        }
        Ok(()) => {
            fs::remove_file(path).ok();
            None
        }
        Err(TryLockError::Error(_)) => None,
    }
}

/// What the process does, and the folder of its run.
fn read_text(file: File) -> Option<(String, Option<PathBuf>)> {
    let mut text = Vec::new();
    let most = TEXT_MAX + PATH_MAX;
    file.take(most).read_to_end(&mut text).ok()?;
    let mut lines = text.splitn(2, |byte| *byte == b'\n');
    let what = lines.next().unwrap_or_default();
    let what = &what[..what
        .len()
        .min(usize::try_from(TEXT_MAX).unwrap_or(usize::MAX))];
    let run = lines.next().filter(|path| !path.is_empty());
    let run = run.map(|path| PathBuf::from(OsStr::from_bytes(path)));
    Some((String::from_utf8_lossy(what).into_owned(), run))
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
                    .to_owned()
            )
        );
        // The other one is told, too.
        let left = folder.join(format!("2.from.{}", std::process::id()));
        assert_eq!(fs::read_to_string(&left).unwrap(), "waggle run b.yaml");
        // One that began and ended meanwhile.
        fs::write(
            folder.join(format!("{}.from.3", std::process::id())),
            "waggle load x",
        )
        .unwrap();
        drop(file);
        let note = beside.note().unwrap();
        assert!(note.contains("127.0.0.1:8080 (pid 2) and 1 more"), "{note}");
        assert!(!left.exists() && !folder.join("2").exists());
        assert_eq!(beside.note(), None, "each note is told once");
        assert!(!folder.join("1").exists());
        drop(beside);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn others_are_told_where_the_run_is() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("measuring");
        let here = Measuring::begin(&folder, "waggle run a.yaml").unwrap();
        here.set_run(Path::new("/runs/a-1"));
        // As the file of another process.
        let (own_file, other) = (
            folder.join(std::process::id().to_string()),
            folder.join("7"),
        );
        fs::rename(own_file, other).unwrap();
        let expected = MeasuringProcess {
            pid: 7,
            what: "waggle run a.yaml".to_owned(),
            run: Some(PathBuf::from("/runs/a-1")),
        };
        assert_eq!(measuring_processes(&folder), [expected]);
        drop(here);
        assert_eq!(measuring_processes(&folder), []);
    }

    #[test]
    fn followers_are_told_while_there_are_any() {
        let alone = Measuring::default();
        assert_eq!(alone.follower_note(), None);
        alone.set_followers(1);
        alone.set_followers(0);
        let note = alone.follower_note().unwrap();
        assert!(note.starts_with("one process on this machine"), "{note}");
        assert_eq!(alone.follower_note(), None);
        alone.set_followers(2);
        for _ in 0..2 {
            let note = alone.follower_note().unwrap();
            assert!(note.starts_with("2 processes"), "they still follow: {note}");
        }
    }
}

//! The rows of the folder, kept so that ten thousand runs are not read for one page. The file of the index is a cache: without it, or if it
//! is damaged or of another version, the folder is read again.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use waggle_results::{parallel_map, private_file};

use super::{
    read::{self, EntryStamp},
    row::{Content, Row},
    running::{RunningRun, is_running},
};

/// Of the file; another one is read as none.
const FORMAT: u32 = 2;
/// Of the sum of a folder, in the name of its file.
const NAME_BYTES: usize = 12;
const FILE_MAX_BYTES: u64 = 256 << 20;
/// Entries of the folder that are shown; further ones are not.
pub(crate) const ENTRIES_MAX: usize = 100_000;
/// The folder is looked at again after this time.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// The name of the file for a folder.
#[must_use]
pub fn index_name(folder: &Path) -> String {
    let sum = digest(&SHA256, folder.as_os_str().as_bytes());
    let start = sum.as_ref().iter().take(NAME_BYTES);
    let name: String = start.map(|byte| format!("{byte:02x}")).collect();
    format!("{name}.json")
}

/// The rows of one folder.
#[derive(Debug)]
pub(crate) struct Index {
    folder: PathBuf,
    /// `None`: it is kept in memory alone.
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<String, Entry>,
    rows: Arc<Vec<Row>>,
    looked: Option<Instant>,
    is_loaded: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    stamp: EntryStamp,
    content: Content,
}

#[derive(Serialize, Deserialize)]
struct File {
    format: u32,
    waggle: String,
    folder: String,
    entries: HashMap<String, Entry>,
}

impl Index {
    /// Of a folder, with a file for it.
    pub(crate) fn new(folder: &Path, file: Option<PathBuf>) -> Self {
        Self {
            folder: folder.to_path_buf(),
            file,
            state: Mutex::default(),
        }
    }

    /// The rows, at most a second old. Reads what is new in the folder, and waits for it.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn rows(&self, running: &[RunningRun]) -> io::Result<Arc<Vec<Row>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |looked: Instant| looked.elapsed() < REFRESH_INTERVAL;
        if !state.looked.is_some_and(is_fresh) {
            self.refresh(&mut state)?;
            let rows = state.entries.iter();
            let rows = rows.map(|(name, entry)| self.row(name, entry, running));
            state.rows = Arc::new(rows.collect());
            state.looked = Some(Instant::now());
        }
        Ok(Arc::clone(&state.rows))
    }

    fn row(&self, name: &str, entry: &Entry, running: &[RunningRun]) -> Row {
        let mut content = entry.content.clone();
        let path = self.folder.join(name);
        match &mut content {
            Content::Run(facts) => facts.is_running = is_running(&path, facts.has_socket, running),
            Content::Refused(why) if is_running(&path, false, running) => {
                "it has just begun: its plan is being written".clone_into(why);
            }
            Content::Refused(_) => {}
        }
        Row {
            name: name.to_owned(),
            content,
        }
    }

    /// What has changed is read at the next request.
    pub(crate) fn look_again(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.looked = None;
    }

    fn refresh(&self, state: &mut State) -> io::Result<()> {
        if !state.is_loaded {
            state.entries = self.load().unwrap_or_default();
            state.is_loaded = true;
        }
        let names = names(&self.folder)?;
        let known = &state.entries;
        let begun = SystemTime::now();
        let looked = parallel_map(&names, |name| self.look(name, known.get(name)));
        let mut is_changed = false;
        let mut entries = HashMap::with_capacity(names.len());
        for (name, looked) in names.into_iter().zip(looked) {
            let before = state.entries.remove(&name);
            let entry = match looked {
                None => before,
                Some((stamp, content)) => {
                    let is_settled = stamp.is_settled(begun);
                    is_changed |= is_settled;
                    // What is being changed is read again next time.
                    let stamp = if is_settled {
                        stamp
                    } else {
                        EntryStamp::default()
                    };
                    content.map(|content| Entry { stamp, content })
                }
            };
            entries.extend(entry.map(|entry| (name, entry)));
        }
        // Those that are left are not in the folder any more.
        is_changed |= !state.entries.is_empty();
        state.entries = entries;
        if is_changed {
            // Without the file the folder is read again.
            self.save(&state.entries).ok();
        }
        Ok(())
    }

    /// What an entry has now; `None`: it is as it was.
    fn look(&self, name: &str, known: Option<&Entry>) -> Option<(EntryStamp, Option<Content>)> {
        let entry = self.folder.join(name);
        let stamp = EntryStamp::read(&entry);
        let is_known = known.is_some_and(|known| known.stamp == stamp);
        (!is_known).then(|| (stamp, read::content(&entry)))
    }

    fn load(&self) -> Option<HashMap<String, Entry>> {
        let bytes = private_file::read_file(self.file.as_ref()?, FILE_MAX_BYTES).ok()?;
        let file: File = serde_json::from_slice(&bytes).ok()?;
        let is_own = file.format == FORMAT
            && file.waggle == env!("CARGO_PKG_VERSION")
            && Path::new(&file.folder) == self.folder;
        is_own.then_some(file.entries)
    }

    fn save(&self, entries: &HashMap<String, Entry>) -> io::Result<()> {
        let Some(path) = &self.file else {
            return Ok(());
        };
        if let Some(folder) = path.parent() {
            private_file::create_folder(folder)?;
        }
        let partial = path.with_extension(format!("{}.partial", std::process::id()));
        let file = File {
            format: FORMAT,
            waggle: env!("CARGO_PKG_VERSION").to_owned(),
            folder: self.folder.display().to_string(),
            entries: entries.clone(),
        };
        private_file::write_file(&partial, serde_json::to_vec(&file)?)?;
        fs::rename(partial, path)
    }
}

/// Of the entries of the folder, without hidden ones.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)?.take(ENTRIES_MAX) {
        let entry = entry?;
        let name = match entry.file_name().into_string() {
            Ok(name) => name,
            // It gets a row, which says why it cannot be opened.
            Err(name) if entry.file_type().is_ok_and(|kind| kind.is_dir()) => {
                name.to_string_lossy().into_owned()
            }
            Err(_) => continue,
        };
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        os::unix::fs::{MetadataExt, symlink},
        thread,
    };

    use super::*;

    /// Nothing here takes longer, on any machine.
    const WAIT_MAX: Duration = Duration::from_mins(3);

    /// Looks until the file of the index is there: what has just changed is not kept in it.
    fn wait_for_file(index: impl Fn() -> Index, file: &Path) {
        let begun = Instant::now();
        while !file.is_file() {
            assert!(begun.elapsed() < WAIT_MAX);
            reasons(&index());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn reasons(index: &Index) -> Vec<(String, String)> {
        index.look_again();
        let rows = index.rows(&[]).unwrap();
        let mut reasons: Vec<(String, String)> = (rows.iter())
            .map(|row| match &row.content {
                Content::Run(_) => (row.name.clone(), "a run".to_owned()),
                Content::Refused(why) => (row.name.clone(), why.clone()),
            })
            .collect();
        reasons.sort();
        reasons
    }

    #[test]
    fn what_is_no_run_is_a_row_with_its_reason() {
        let around = tempfile::tempdir().unwrap();
        let (runs, outside) = (around.path().join("runs"), around.path().join("outside"));
        for folder in ["begun", "damaged", "empty", "other-format", ".hidden"] {
            fs::create_dir_all(runs.join(folder)).unwrap();
        }
        fs::create_dir(&outside).unwrap();
        fs::write(runs.join("begun/study.yaml"), "").unwrap();
        fs::write(runs.join("damaged/run.json"), "{").unwrap();
        fs::write(runs.join("other-format/run.json"), r#"{"format": 99}"#).unwrap();
        fs::write(runs.join("a-file"), "").unwrap();
        fs::write(outside.join("run.json"), "secret").unwrap();
        symlink(&outside, runs.join("link")).unwrap();
        let strange = OsStr::from_bytes(b"z-\xff");
        fs::create_dir(runs.join(strange)).unwrap();
        fs::write(runs.join(OsStr::from_bytes(b"z-file-\xff")), "").unwrap();
        let index = Index::new(&runs, None);
        let expected = [
            ("begun", "half written: it has no run.json"),
            ("damaged", "run.json: line 1"),
            ("empty", "no run: it has no run.json"),
            ("link", "it is a link, and links are not followed"),
            ("other-format", "run.json: written in format 99"),
            ("z-\u{fffd}", "its name is not UTF-8"),
        ];
        let reasons = reasons(&index);
        assert_eq!(reasons.len(), expected.len(), "{reasons:?}");
        for ((name, why), (expected_name, expected_why)) in reasons.iter().zip(expected) {
            assert_eq!(name, expected_name);
            assert!(why.starts_with(expected_why), "{name}: {why}");
        }
    }

    #[test]
    fn a_run_that_begins_is_not_called_half_written() {
        let around = tempfile::tempdir().unwrap();
        let run = around.path().join("new");
        fs::create_dir(&run).unwrap();
        fs::write(run.join("study.yaml"), "").unwrap();
        let index = Index::new(around.path(), None);
        let running = RunningRun {
            pid: 1,
            what: "run".to_owned(),
            run: Some(run),
        };
        let rows = index.rows(&[running]).unwrap();
        let Content::Refused(why) = &rows[0].content else {
            panic!("{rows:?}");
        };
        assert!(why.starts_with("it has just begun"), "{why}");
    }

    #[test]
    fn the_file_is_only_a_cache() {
        let around = tempfile::tempdir().unwrap();
        let (runs, file) = (around.path().join("runs"), around.path().join("c/index"));
        fs::create_dir_all(runs.join("a")).unwrap();
        let index = || Index::new(&runs, Some(file.clone()));
        wait_for_file(index, &file);
        let first = reasons(&index());
        assert_eq!(reasons(&index()), first);
        fs::write(&file, "{damaged").unwrap();
        assert_eq!(reasons(&index()), first);
        fs::remove_file(&file).unwrap();
        assert_eq!(reasons(&index()), first);
        // A folder that comes and one that goes are seen at once.
        let kept = index();
        fs::rename(runs.join("a"), runs.join("b")).unwrap();
        assert_eq!(reasons(&kept)[0].0, "b");
    }

    #[test]
    fn the_file_is_not_written_again_while_an_entry_changes() {
        let around = tempfile::tempdir().unwrap();
        let (runs, file) = (around.path().join("runs"), around.path().join("index"));
        fs::create_dir_all(runs.join("a")).unwrap();
        let folder = fs::File::open(runs.join("a")).unwrap();
        let index = || Index::new(&runs, Some(file.clone()));
        wait_for_file(index, &file);
        let index = index();
        let inode = || fs::metadata(&file).unwrap().ino();
        let written = inode();
        // As the folder of a run that goes on; later than the test, so that it is never settled.
        folder
            .set_modified(SystemTime::now() + Duration::from_secs(3_600))
            .unwrap();
        for _ in 0..3 {
            reasons(&index);
        }
        assert_eq!(inode(), written);
    }
}

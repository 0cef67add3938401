//! What was read of studies, kept until one of the files changes: a page would otherwise read all studies of the folder again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use waggle_serve::FileStamp;

/// The name and the question of a study.
pub(super) type Titles = (String, String);

/// A study that could be read.
#[derive(Debug)]
struct Kept {
    /// The study and its system.
    files: Vec<(PathBuf, FileStamp)>,
    titles: Titles,
}

/// By the file of the study.
#[derive(Debug, Default)]
pub(super) struct KeptStudies(Mutex<BTreeMap<PathBuf, Kept>>);

impl KeptStudies {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// What is kept of a study, if its files are as they were.
    pub(super) fn titles(&self, study: &Path) -> Option<Titles> {
        let all = self.lock();
        let kept = all.get(study)?;
        let mut files = kept.files.iter();
        let is_same = files.all(|(path, stamp)| FileStamp::read(path).as_ref() == Some(stamp));
        is_same.then(|| kept.titles.clone())
    }

    /// Keeps what was read of these files from `begun` on, unless they changed then or shortly before. The first one is the study.
    pub(super) fn keep(&self, files: &[&Path], titles: &Titles, begun: SystemTime) {
        let stamps = files.iter().map(|path| {
            let stamp = FileStamp::read(path).filter(|stamp| stamp.is_settled(begun))?;
            Some((path.to_path_buf(), stamp))
        });
        let (Some(files), Some(study)) = (stamps.collect(), files.first()) else {
            return;
        };
        let titles = titles.clone();
        self.lock()
            .insert(study.to_path_buf(), Kept { files, titles });
    }

    /// Forgets all other studies.
    pub(super) fn keep_only(&self, studies: &[PathBuf]) {
        self.lock().retain(|study, _| studies.contains(study));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::UNIX_EPOCH};

    use waggle_testkit::wait_until;

    use super::*;

    #[test]
    fn what_is_kept_is_forgotten_when_a_file_changes_or_goes() {
        let folder = tempfile::tempdir().unwrap();
        let [study, system] = ["study.yaml", "system.yaml"].map(|name| folder.path().join(name));
        let write = |path: &Path, text: &str| fs::write(path, text).unwrap();
        write(&study, "a");
        write(&system, "b");
        let titles = ("shop".to_owned(), "Is it fast?".to_owned());
        let kept = KeptStudies::new();
        let keep = || {
            wait_until("the files are settled", || {
                kept.keep(&[&study, &system], &titles, SystemTime::now());
                kept.titles(&study).is_some()
            });
        };
        keep();
        assert_eq!(kept.titles(&study), Some(titles.clone()));
        write(&system, "c");
        assert_eq!(kept.titles(&study), None, "the system has changed");
        // What was read before that is not kept.
        kept.keep(&[&study, &system], &titles, UNIX_EPOCH);
        assert_eq!(kept.titles(&study), None);
        keep();
        write(&study, "d");
        assert_eq!(kept.titles(&study), None, "the study has changed");
        keep();
        fs::remove_file(&system).unwrap();
        assert_eq!(kept.titles(&study), None, "the system is gone");
        write(&system, "b");
        keep();
        kept.keep_only(&[]);
        assert_eq!(kept.titles(&study), None, "the study is not listed");
    }
}

//! What a run looks like on disk. `UPDATE_GOLDEN=1` writes the files anew.

use std::{collections::BTreeMap, fs, path::Path};

use waggle_results::Run;

use crate::sample;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");

#[test]
fn the_folder_is_the_golden_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    sample::write_run(&run);
    let found = files_under(&run);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(GOLDEN);
        for (name, bytes) in &found {
            let path = Path::new(GOLDEN).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    let expected = files_under(Path::new(GOLDEN));
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &found {
        // How well zlib compresses is not part of the format: logs are compared by what they say.
        if !name.ends_with(".hlog") {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            assert_eq!(text(bytes), text(&expected[name]), "{name}");
        }
    }
    let (found, expected) = (
        Run::read(&run).unwrap(),
        Run::read(Path::new(GOLDEN)).unwrap(),
    );
    for (found, expected) in found.trials.iter().zip(&expected.trials) {
        sample::assert_same_logs(found, expected);
    }
}

/// Hidden files (the lock) are not part of what a run says.
fn files_under(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next)
            .unwrap_or_else(|_| panic!("{}: run with UPDATE_GOLDEN=1", next.display()))
        {
            let entry = entry.unwrap();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            } else {
                let name = entry
                    .path()
                    .strip_prefix(folder)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

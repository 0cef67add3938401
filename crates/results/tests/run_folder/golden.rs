//! What a run looks like on disk. `UPDATE_GOLDEN=1` rewrites the files.

use std::{collections::BTreeMap, fs, path::Path};

use waggle_results::Run;

use crate::sample;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
const GOLDEN_SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden-scenario");

#[test]
fn the_folder_is_the_golden_one() {
    check(sample::write_run, Path::new(GOLDEN));
    check(
        |path| drop(sample::write_scenario_run(path)),
        Path::new(GOLDEN_SCENARIO),
    );
}

/// Writes a run and compares its folder with the golden one.
fn check(write: impl Fn(&Path), golden: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    write(&run);
    let actual = files_under(&run);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(golden);
        for (name, bytes) in &actual {
            let path = golden.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    let expected = files_under(golden);
    assert_eq!(
        actual.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &actual {
        // How well zlib compresses is not part of the format: logs are compared by their content.
        if !name.ends_with(".hlog") {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            assert_eq!(text(bytes), text(&expected[name]), "{name}");
        }
    }
    let (actual, expected) = (Run::read(&run).unwrap(), Run::read(golden).unwrap());
    for (actual, expected) in actual.trials.iter().zip(&expected.trials) {
        sample::assert_same_logs(actual, expected);
    }
}

/// Hidden files (the lock) are not part of a run.
fn files_under(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
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
                files.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

//! The files that a study or a scenario names, read from disk for its checker.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use waggle_study::Source;

/// A file of a scenario or of a feed longer than this is refused.
pub const NAMED_FILE_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reads files relative to the folder of the file `beside`; for `waggle_study::read_study_and_files` and `read_scenario`.
pub fn files_beside(beside: &Path) -> impl Fn(&str) -> Result<Source, String> + use<> {
    let folder = beside.parent().map(Path::to_path_buf).unwrap_or_default();
    move |name| read(&folder.join(name))
}

fn read(path: &PathBuf) -> Result<Source, String> {
    let name = path.display().to_string();
    let failed = |problem: &dyn std::fmt::Display| format!("cannot read {name}: {problem}");
    let file = File::open(path).map_err(|problem| failed(&problem))?;
    let mut bytes = Vec::new();
    file.take(NAMED_FILE_MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|problem| failed(&problem))?;
    if bytes.len() as u64 > NAMED_FILE_MAX_BYTES {
        return Err(failed(&format_args!(
            "longer than {NAMED_FILE_MAX_BYTES} bytes"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed(&"not UTF-8"))?;
    Ok(Source { name, text })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_read_next_to_the_study_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, expected: Result<&str, &str>| {
            let read = files_beside(&folder.path().join("study.yaml"))(name);
            match (read, expected) {
                (Ok(source), Ok(text)) => {
                    assert_eq!(source.text, text);
                    assert_eq!(source.name, folder.path().join(name).display().to_string());
                }
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                (read, _) => panic!("{name}: {read:?}"),
            }
        };
        fs::create_dir(folder.path().join("data")).unwrap();
        fs::write(folder.path().join("data/users.csv"), "n\n1\n").unwrap();
        fs::write(folder.path().join("bytes.csv"), b"n\n\xff\n").unwrap();
        // A sparse file takes no space on the disk.
        let large = File::create(folder.path().join("large.csv")).unwrap();
        large.set_len(NAMED_FILE_MAX_BYTES + 1).unwrap();
        check("data/users.csv", Ok("n\n1\n"));
        check("none.csv", Err("No such file"));
        check("bytes.csv", Err("not UTF-8"));
        check("large.csv", Err("longer than 67108864 bytes"));
        check("data", Err("cannot read"));
    }
}

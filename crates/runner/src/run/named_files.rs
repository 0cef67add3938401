//! The files that a study or a scenario names, read from disk for its checker.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use waggle_study::{Problem, Source};

/// A file of a scenario or of a feed longer than this is refused.
pub const NAMED_FILE_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reads files relative to the folder of the file `beside`; for `waggle_study::read_study_and_files` and `read_scenario`.
pub fn files_beside(beside: &Path) -> impl Fn(&str) -> Result<Source, Problem> + use<> {
    let folder = beside.parent().map(Path::to_path_buf).unwrap_or_default();
    move |name| read(&folder.join(name))
}

/// The file in the same folder of whose path this one is most likely a misspelling; `None`: this one is there, or none is like
/// it.
pub fn nearest_file(file: &Path) -> Option<String> {
    if file.exists() {
        return None;
    }
    let folder = match file.parent()? {
        here if here.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    // The names without their endings are alike, too: two endings that agree are no likeness.
    let stem = file.file_stem()?.to_str()?;
    let is_like = |name: &&str| {
        let other = Path::new(name).file_stem().and_then(|stem| stem.to_str());
        other.is_some_and(|other| waggle_study::nearest_word(stem, [other]).is_some())
    };
    let names = names.iter().map(String::as_str).filter(is_like);
    let near = waggle_study::nearest_word(file.file_name()?.to_str()?, names)?;
    Some(file.with_file_name(near).display().to_string())
}

fn read(path: &PathBuf) -> Result<Source, Problem> {
    let name = path.display().to_string();
    let failed =
        |problem: &dyn std::fmt::Display| Problem(format!("cannot read {name}: {problem}"));
    let file = File::open(path).map_err(|problem| match nearest_file(path) {
        Some(near) => Problem(format!("{}; did you mean {near}?", failed(&problem))),
        None => failed(&problem),
    })?;
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
                (Err(why), Err(part)) => assert!(why.0.contains(part), "{why}"),
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

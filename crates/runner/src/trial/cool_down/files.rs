//! Numbers in files, whose paths may have `*` and `?` within a name.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use waggle_system::problem::Problem;

/// Bytes of a file that are read; a number is at its beginning.
const READ_MAX_BYTES: u64 = 4_096;
/// Most files that match a pattern.
const FILES_MAX: usize = 1_000;

/// The number at the beginning of each file that matches.
///
/// # Errors
/// No file, too many of them, or one without a number.
pub(super) fn read(pattern: &str) -> Result<Vec<f64>, Problem> {
    let files = matching(pattern)?;
    if files.is_empty() {
        return Err(Problem(format!("no file is {pattern}")));
    }
    files.iter().map(|file| number_of(file)).collect()
}

fn number_of(file: &Path) -> Result<f64, Problem> {
    let shown = file.display();
    let mut text = String::new();
    File::open(file)
        .and_then(|file| file.take(READ_MAX_BYTES).read_to_string(&mut text))
        .map_err(|problem| Problem(format!("cannot read {shown}: {problem}")))?;
    number(&text).ok_or_else(|| Problem(format!("{shown} does not begin with a number")))
}

/// The number with which a text begins.
pub(super) fn number(text: &str) -> Option<f64> {
    let first = text.split_whitespace().next()?;
    let number: f64 = first.parse().ok()?;
    number.is_finite().then_some(number)
}

/// The files that match, in the order of their names.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, Problem> {
    let mut paths = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for folder in &paths {
            if !part.contains(['*', '?']) {
                next.extend(Some(folder.join(part)).filter(|path| path.exists()));
                continue;
            }
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let mut names: Vec<String> = entries
                .filter_map(|entry| entry.file_name().into_string().ok())
                .filter(|name| matches(part, name))
                .collect();
            names.sort_unstable();
            next.extend(names.into_iter().map(|name| folder.join(name)));
            if next.len() > FILES_MAX {
                return Err(Problem(format!(
                    "more than {FILES_MAX} files are {pattern}"
                )));
            }
        }
        paths = next;
    }
    Ok(paths)
}

/// Whether a name has the pattern: `*` is any text, `?` any character. A pattern of `*` does not match hidden names.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    // The pattern so far matches so many first characters of the name.
    let mut ends = vec![false; name.len() + 1];
    ends[0] = true;
    for sign in pattern {
        let before = ends.clone();
        for end in 0..=name.len() {
            ends[end] = match sign {
                '*' => before[end] || (end > 0 && ends[end - 1]),
                _ => end > 0 && before[end - 1] && (sign == '?' || sign == name[end - 1]),
            };
        }
    }
    ends[name.len()]
}

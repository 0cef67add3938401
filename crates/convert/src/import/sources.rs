//! The cells of an import, from the words of the command line.

use std::{collections::HashSet, path::PathBuf};

use anyhow::{Result, bail};

/// The most trials of an import.
const TRIALS_MAX: usize = 1_000;

/// A cell: its levels, and its trials, each with its files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CellSource {
    pub(crate) levels: Vec<(String, String)>,
    pub(crate) trials: Vec<Vec<PathBuf>>,
}

/// `FACTOR=LEVEL` words name the cell of the files after them.
pub(crate) fn cells(words: &[String]) -> Result<Vec<CellSource>> {
    let mut cells: Vec<CellSource> = Vec::new();
    for word in words {
        match level(word) {
            Some((factor, level)) => {
                if cells.last().is_none_or(|cell| !cell.trials.is_empty()) {
                    cells.push(CellSource::default());
                }
                let levels = cells.last_mut().map(|cell| &mut cell.levels);
                levels.into_iter().for_each(|levels| {
                    levels.push((factor.to_owned(), level.to_owned()));
                });
            }
            None => {
                if cells.is_empty() {
                    cells.push(CellSource::default());
                }
                let trials = cells.last_mut().map(|cell| &mut cell.trials);
                trials
                    .into_iter()
                    .for_each(|trials| trials.push(files(word)));
            }
        }
    }
    check(&cells)?;
    Ok(cells)
}

/// `FACTOR=LEVEL`; a file whose name looks like that is written `./a=b`.
fn level(word: &str) -> Option<(&str, &str)> {
    let (factor, level) = word.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_factor = factor.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_factor && factor.chars().all(is_name)).then_some((factor, level))
}

/// Files joined by commas, unless there is a file of the whole name.
fn files(word: &str) -> Vec<PathBuf> {
    let whole = PathBuf::from(word);
    if whole.exists() {
        return vec![whole];
    }
    word.split(',').map(PathBuf::from).collect()
}

fn check(cells: &[CellSource]) -> Result<()> {
    let factors = |cell: &CellSource| -> Vec<String> {
        cell.levels.iter().map(|(name, _)| name.clone()).collect()
    };
    for cell in cells {
        let named = factors(cell);
        let levels: Vec<String> = cell
            .levels
            .iter()
            .map(|(factor, level)| format!("{factor}={level}"))
            .collect();
        let levels = levels.join(" ");
        if cell.trials.is_empty() {
            bail!("{levels} has no files: write FACTOR=LEVEL before its files");
        }
        if named != factors(&cells[0]) {
            bail!("{levels}: each cell must name the same factors in the same order");
        }
        if (1..named.len()).any(|index| named[..index].contains(&named[index])) {
            bail!("{levels}: a factor is named twice");
        }
        let same = cells.iter().filter(|other| other.levels == cell.levels);
        if same.count() > 1 {
            bail!("{levels} is named twice: write its files after one another");
        }
    }
    check_files(cells)?;
    check_count(cells.iter().map(|cell| cell.trials.len()).sum())
}

/// Refuses more trials than an import has.
pub(crate) fn check_count(trials: usize) -> Result<()> {
    if trials > TRIALS_MAX {
        bail!("{trials} trials are more than {TRIALS_MAX}");
    }
    Ok(())
}

/// A file that is two trials would make them agree.
fn check_files(cells: &[CellSource]) -> Result<()> {
    let files = cells.iter().flat_map(|cell| cell.trials.iter().flatten());
    let mut known = HashSet::new();
    for file in files {
        let same = file.canonicalize().unwrap_or_else(|_| file.clone());
        if !known.insert(same) {
            bail!("{} is named twice", file.display());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Vec<CellSource>> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        cells(&words)
    }

    #[test]
    fn words_are_cells_and_files() {
        type Cells<'a> = [(&'a [(&'a str, &'a str)], &'a [&'a [&'a str]])];
        let check = |line: &str, expected: &Cells<'_>| {
            let expected: Vec<CellSource> = expected
                .iter()
                .map(|(levels, trials)| CellSource {
                    levels: levels
                        .iter()
                        .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()))
                        .collect(),
                    trials: trials
                        .iter()
                        .map(|files| files.iter().map(PathBuf::from).collect())
                        .collect(),
                })
                .collect();
            assert_eq!(parse(line).unwrap(), expected, "{line}");
        };
        check("a b", &[(&[], &[&["a"], &["b"]])]);
        check(
            "a.txt,a.tsv ./x=y",
            &[(&[], &[&["a.txt", "a.tsv"], &["./x=y"]])],
        );
        check(
            "v=1 n=2 a b v=2 n=2 c",
            &[
                (&[("v", "1"), ("n", "2")], &[&["a"], &["b"]]),
                (&[("v", "2"), ("n", "2")], &[&["c"]]),
            ],
        );
    }

    #[test]
    fn mistakes_are_named() {
        let check = |line: &str, expected: &str| {
            let message = parse(line).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{line}: {message}");
        };
        check("v=1", "v=1 has no files");
        check("a v=1 b", "v=1: each cell must name the same factors");
        check("v=1 v=2 a", "v=1 v=2: a factor is named twice");
        check("v=1 a v=2 a", "a is named twice");
        check("v=1 a v=1 b", "v=1 is named twice");
    }
}

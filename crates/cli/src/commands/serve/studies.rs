//! The studies of a folder, and what can be chosen of one: by the code that reads a study for a plan.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use waggle_serve::{Reason, StudyEntry, StudyForm, StudyParameter};
use waggle_study::{Parameter, ParameterKind, Study, System};

use super::{
    TRUSTED,
    kept::{KeptStudies, Titles},
};
use crate::{
    arguments::{Choice, TrustFlags},
    inputs::{filter::levels_of, study},
};

/// Studies that are listed.
const STUDIES_MAX: usize = 500;

/// Levels of a parameter that are named.
const LEVELS_MAX: usize = 5;

/// Of the studies that were listed last.
static KEPT: KeptStudies = KeptStudies::new();

/// The files below the folder, one folder deep. A link is none.
pub(super) fn list(folder: &Path) -> Result<Vec<StudyEntry>, Reason> {
    let mut files = yaml_files(folder, folder)?;
    let inner = entries(folder)?.into_iter();
    for inner in inner.filter(|path| is_folder(path)) {
        files.extend(yaml_files(folder, &inner)?);
    }
    files.sort();
    files.truncate(STUDIES_MAX);
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
    KEPT.keep_only(&paths);
    let all = files.into_iter().map(|file| study_entry(folder, file));
    // What is no study by its keys is another kind of file.
    Ok(all.filter(is_study).collect())
}

fn study_entry(folder: &Path, file: String) -> StudyEntry {
    let content = titles(&folder.join(&file));
    StudyEntry { file, content }
}

/// The name and the question of a study. What else it names than its system is read again when its form is opened.
fn titles(file: &Path) -> Result<Titles, Reason> {
    if let Some(titles) = KEPT.titles(file) {
        return Ok(titles);
    }
    let begun = SystemTime::now();
    let loaded = study::load_to_show(&choice(file)).map_err(|why| Reason(format!("{why:#}")))?;
    let system = Path::new(&loaded.system_source.name);
    let files = match loaded.system.external {
        Some(_) => vec![file],
        None => vec![file, system],
    };
    let titles = (loaded.study.name, loaded.study.question);
    KEPT.keep(&files, &titles, begun);
    Ok(titles)
}

fn is_study(entry: &StudyEntry) -> bool {
    match &entry.content {
        Ok(_) => true,
        Err(why) => !why.0.contains("missing key \"study\""),
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Reason> {
    let problem = |why: std::io::Error| Reason(format!("cannot read {}: {why}", folder.display()));
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(problem)? {
        paths.push(entry.map_err(problem)?.path());
    }
    Ok(paths)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

fn yaml_files(top: &Path, folder: &Path) -> Result<Vec<String>, Reason> {
    let paths = entries(folder)?.into_iter().filter(|path| is_yaml(path));
    let names = paths.filter_map(|path| {
        let below = path.strip_prefix(top).ok()?;
        below.to_str().map(str::to_owned)
    });
    Ok(names.collect())
}

fn is_yaml(path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
    is_file
        && path
            .extension()
            .is_some_and(|end| end == "yaml" || end == "yml")
}

/// The path of a study below the folder.
pub(super) fn path_below(folder: &Path, study: &str) -> Result<PathBuf, Reason> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    match !study.is_empty() && Path::new(study).components().all(is_plain) {
        true => Ok(folder.join(study)),
        false => Err(Reason(format!(
            "expected a study below {}, and not {study:?}",
            folder.display()
        ))),
    }
}

pub(super) fn form(folder: &Path, study: &str) -> Result<StudyForm, Reason> {
    let file = path_below(folder, study)?;
    let loaded = study::load_to_show(&choice(&file)).map_err(|why| Reason(format!("{why:#}")))?;
    let study = &loaded.study;
    Ok(StudyForm {
        name: study.name.clone(),
        question: study.question.clone(),
        cells: study.cells.len(),
        factors: factors(study),
        system: loaded.system.name.clone(),
        parameters: parameters(study, &loaded.system),
        is_search: study.search.is_some(),
    })
}

fn factors(study: &Study) -> Vec<(String, Vec<String>)> {
    let names = study.factors.iter();
    names
        .map(|name| (name.clone(), levels_of(study, name)))
        .collect()
}

fn parameters(study: &Study, system: &System) -> Vec<StudyParameter> {
    let all = system.parameters.iter();
    all.map(|known| parameter(known, study)).collect()
}

/// The levels that the cells have of a parameter of the system: `2 or 4`.
fn unchanged_levels(study: &Study, parameter: &Parameter) -> String {
    let mut levels: Vec<String> = Vec::new();
    for cell in &study.cells {
        let level = cell.parameters.get(&parameter.name);
        let level = level.unwrap_or(&parameter.default).to_string();
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let more = match levels.len() > LEVELS_MAX {
        true => " or others",
        false => "",
    };
    levels.truncate(LEVELS_MAX);
    format!("{}{more}", levels.join(" or "))
}

fn parameter(parameter: &Parameter, study: &Study) -> StudyParameter {
    let mut values = match &parameter.kind {
        ParameterKind::OneOf(words) => words.clone(),
        ParameterKind::Boolean => vec!["true".to_owned(), "false".to_owned()],
        _ => Vec::new(),
    };
    if parameter.is_optional && !values.is_empty() {
        values.push("none".to_owned());
    }
    StudyParameter {
        name: parameter.name.clone(),
        summary: parameter.summary.clone(),
        kind: parameter.accepted_values(),
        values,
        default: parameter.default.to_string(),
        unchanged: unchanged_levels(study, parameter),
    }
}

/// All of a study.
fn choice(study: &Path) -> Choice {
    Choice {
        study: study.to_path_buf(),
        filter: Vec::new(),
        quick: false,
        pilot: false,
        against: Vec::new(),
        design: None,
        trust: TrustFlags {
            folders: TRUSTED.get().cloned().unwrap_or_default(),
            within: None,
        },
        seed: None,
    }
}

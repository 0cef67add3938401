//! Finds and reads the files that a command line names: the study, its system, a run folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use waggle_convert::{
    MARK,
    input::{self, question},
};
use waggle_runner::{ChangedSystem, RecordsError};
use waggle_study::{
    BODY_MAX_BYTES, Body, EnvironmentError, ExternalComponent, Files, Named, Place, Source, Study,
    System, Values, What, nearest_word,
};

use crate::{
    arguments::Choice,
    inputs::{
        against::{self, Changes},
        filter,
    },
};

/// A checked study and its system, with their texts.
pub(crate) struct Loaded {
    pub(crate) study: Study,
    pub(crate) study_source: Source,
    pub(crate) system: System,
    pub(crate) system_source: Source,
    /// The folder of `system.yaml`.
    pub(crate) system_folder: PathBuf,
    /// The system of the changed version, if it is another one.
    pub(crate) changed: Option<ChangedSystem>,
}

impl Loaded {
    /// Reads the values from outside, for a study in this file.
    pub(crate) fn take_values(&mut self, study: &Path) -> Result<()> {
        take_values(&mut self.study, study, &self.study_source)?;
        self.locate_external();
        Ok(())
    }

    /// Puts in where components run already, when the study knows all of it.
    fn locate_external(&mut self) {
        let external = &self.study.external;
        let changed = self.changed.as_mut().map(|changed| &mut changed.system);
        for system in std::iter::once(&mut self.system).chain(changed) {
            *system = system.clone().with_external(external);
        }
    }
}

/// Reads the values from outside into the study, which is in this file.
pub(crate) fn take_values(study: &mut Study, file: &Path, source: &Source) -> Result<()> {
    let files = waggle_runner::files_beside(file);
    let taken = study.take_from_environment(Values {
        variable: &|name| std::env::var(name).ok(),
        file: &files,
    });
    taken.map_err(|why| error_with_position(&why, source, &files))
}

/// Refuses a study, scenario, system or file of a body in which a secret that `waggle init` did not write still has to be set.
pub(crate) fn check_marks(loaded: &Loaded, study: &Path) -> Result<()> {
    let beside_study = waggle_runner::files_beside(study);
    let marked = waggle_study::mark_place(&loaded.study_source, &beside_study, MARK)
        .or_else(|| mark_in_system(&loaded.system_source, &loaded.system_folder))
        .or_else(|| mark_in_changed(loaded))
        .or_else(|| mark_in_bodies(&loaded.study, study));
    let Some((place, word)) = marked else {
        return Ok(());
    };
    let suffix = match &*word {
        "" => String::new(),
        word => format!(" of {word:?}"),
    };
    bail!(
        "{}:{}:{}: {MARK} is in place of the value{suffix}, a secret that was not written; replace it by the value",
        place.file,
        place.line,
        place.column
    )
}

fn mark_in_system(source: &Source, folder: &Path) -> Option<(Place, String)> {
    let beside = waggle_runner::files_beside(&folder.join("system.yaml"));
    waggle_study::mark_place(source, &beside, MARK)
}

fn mark_in_changed(loaded: &Loaded) -> Option<(Place, String)> {
    let changed = loaded.changed.as_ref()?;
    let source = Source {
        name: changed.folder.join("system.yaml").display().to_string(),
        text: changed.text.clone(),
    };
    mark_in_system(&source, &changed.folder)
}

/// The first mark in a file that is a body; one that cannot be read is reported when it is sent.
fn mark_in_bodies(study: &Study, file: &Path) -> Option<(Place, String)> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut names: Vec<&String> = Vec::new();
    for cell in &study.cells {
        if let What::Request(request) = &cell.what
            && let Body::File(name) = &request.body
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    let mut names = names.into_iter();
    names.find_map(|name| mark_in_body(&folder.join(name), name))
}

fn mark_in_body(path: &Path, name: &str) -> Option<(Place, String)> {
    let bytes = input::file_within(path, name, BODY_MAX_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (before, _) = text.split_once(MARK)?;
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next()?.chars().count() + 1;
    let place = Place {
        file: path.display().to_string(),
        line: u32::try_from(line).ok()?,
        column: u32::try_from(column).ok()?,
    };
    Some((place, waggle_study::last_word(before).to_owned()))
}

/// The error, with its position in the study or scenario.
pub(crate) fn error_with_position(
    why: &EnvironmentError,
    source: &Source,
    files: Files<'_>,
) -> anyhow::Error {
    match why.place(source, files) {
        Some(place) => anyhow!("{}:{}:{}: {why}", place.file, place.line, place.column),
        None => anyhow!("{}: {why}", source.name),
    }
}

/// The error, with the place in the study if it is a file that the study names and that cannot be read.
pub(crate) fn records_error(why: RecordsError, study: &Path, source: &Source) -> anyhow::Error {
    let (file, key) = match &why {
        RecordsError::Io { file, .. } => (file, "file"),
        RecordsError::Body { file, .. } => (file, "body_file"),
        _ => return why.into(),
    };
    let folder = study.parent().unwrap_or(Path::new(""));
    let files = waggle_runner::files_beside(study);
    let is_file = |name: &str| folder.join(name) == *file;
    match waggle_study::file_place(source, &files, key, &is_file) {
        Some(place) => anyhow!("{}:{}:{}: {why}", place.file, place.line, place.column),
        None => why.into(),
    }
}

/// Reads and checks the study of `choice` and its system, and applies the filters of `choice`.
pub(crate) fn load(choice: &Choice) -> Result<Loaded> {
    let study_source = read(&choice.study)?;
    let (system, system_source, system_folder) = system(&study_source, &choice.study)?;
    let files = waggle_runner::files_beside(&choice.study);
    let read = |system: &System| -> Result<Study> {
        let mut study = waggle_study::read_study_and_files(&study_source, system, &files)?;
        filter::select(&mut study, &choice.filter, choice.form())?;
        Ok(study)
    };
    let mut study = read(&system)?;
    if let Some(seed) = choice.seed {
        study.seed = seed;
        study.has_own_seed = true;
    }
    let system = system.with_external(&study.external);
    let changed = match against::changed_system(&choice.against) {
        Some(folder) => Some(changed_system(folder, &study.external)?),
        None => None,
    };
    let study_on_changed = match &changed {
        Some(changed) => {
            let study = read(&changed.system);
            let file = changed.folder.join("system.yaml");
            Some(study.with_context(|| format!("the study on {}", file.display()))?)
        }
        None => None,
    };
    let other = study_on_changed
        .as_ref()
        .zip(changed.as_ref().map(|changed| &changed.system));
    let changes = Changes {
        texts: &choice.against,
        design: choice.design,
        other,
    };
    against::add_versions(&mut study, &system, &changes)?;
    study.add_sentinel();
    Ok(Loaded {
        study,
        study_source,
        system,
        system_source,
        system_folder,
        changed,
    })
}

/// The system in another folder.
fn changed_system(folder: &Path, external: &[ExternalComponent]) -> Result<ChangedSystem> {
    let source = read(&folder.join("system.yaml"))?;
    let system = waggle_study::read_system(&source)?;
    Ok(ChangedSystem {
        system: system.with_external(external),
        text: source.text,
        folder: folder.to_path_buf(),
    })
}

/// The system that a study names, with its text and its folder.
fn system(study: &Source, file: &Path) -> Result<(System, Source, PathBuf)> {
    let name = match waggle_study::system_of(study)? {
        Named::System(name) => name,
        Named::Server(server) => {
            let source = Source {
                name: "system.url".to_owned(),
                text: format!("# {}: {}\n", server.name, server.summary),
            };
            return Ok((*server, source, PathBuf::new()));
        }
    };
    let system_file = system_file(&name, study, file)?;
    let source = read(&system_file)?;
    let system = waggle_study::read_system(&source)?;
    let folder = system_file.parent().map(Path::to_path_buf);
    Ok((system, source, folder.unwrap_or_default()))
}

/// A system by its name, with its folder.
pub(crate) fn system_named(name: &str) -> Result<(System, PathBuf)> {
    let here = std::env::current_dir().context("cannot determine the current folder")?;
    let folders = systems_folders(None, &here);
    let file = folders
        .iter()
        .map(|systems| systems.join(name).join("system.yaml"))
        .find(|file| file.is_file());
    let Some(file) = file else {
        let known = names_in(&folders);
        if known.is_empty() {
            bail!(
                "there is no system \"{name}\": no folder systems/ here or above, and none installed with waggle"
            );
        }
        let near = nearest_word(name, known.iter().map(String::as_str));
        bail!(
            "there is no system \"{name}\"; expected {}{}",
            known.join(", "),
            question(near)
        );
    };
    let source = read(&relative_path(&file, &here))?;
    let system = waggle_study::read_system(&source)?;
    let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok((system, folder))
}

/// Asks for the system that was meant if there is none of this name here; else empty.
pub(crate) fn meant_system(name: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let known = names_in(&systems_folders(None, &here));
    match known.iter().any(|known| known == name) {
        true => String::new(),
        false => question(nearest_word(name, known.iter().map(String::as_str))),
    }
}

pub(crate) fn read(file: &Path) -> Result<Source> {
    let text = fs::read_to_string(file).map_err(|problem| {
        let near = waggle_runner::nearest_file(file);
        let near = question(near.as_deref());
        anyhow!("cannot read {}: {problem}{near}", file.display())
    })?;
    Ok(Source {
        name: file.display().to_string(),
        text,
    })
}

/// `systems/NAME/system.yaml` in the study's folder or one above it, then from the current folder, then from the program's, then
/// among those that were installed with the program.
fn system_file(name: &str, study: &Source, file: &Path) -> Result<PathBuf> {
    let here = std::env::current_dir().context("cannot determine the current folder")?;
    let folders = systems_folders(Some(file), &here);
    let path = folders
        .iter()
        .map(|systems| systems.join(name).join("system.yaml"))
        .find(|file| file.is_file());
    match path {
        Some(file) => Ok(relative_path(&file, &here)),
        None => Err(waggle_study::unknown_system(study, &names_in(&folders)).into()),
    }
}

/// The folders that may contain systems, the nearest first.
fn systems_folders(study: Option<&Path>, here: &Path) -> Vec<PathBuf> {
    let study = study.and_then(|study| fs::canonicalize(study).ok());
    let study = study.unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_default();
    let installed = installed_folder(&program);
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in [study.as_path(), here, &program]
        .into_iter()
        .flat_map(Path::ancestors)
        .chain(installed.as_deref())
    {
        let systems = folder.join("systems");
        if systems.is_dir() && !folders.contains(&systems) {
            folders.push(systems);
        }
    }
    folders
}

/// What was installed with the program `PREFIX/bin/waggle`: `PREFIX/share/waggle`, with `systems` and `studies`.
fn installed_folder(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.join("share/waggle"))
}

/// The names of the systems in these folders, sorted.
fn names_in(folders: &[PathBuf]) -> Vec<String> {
    let entries = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(Result::ok);
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("system.yaml").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The path of the file, relative to `here` if it is below it.
fn relative_path(file: &Path, here: &Path) -> PathBuf {
    file.strip_prefix(here).unwrap_or(file).to_path_buf()
}

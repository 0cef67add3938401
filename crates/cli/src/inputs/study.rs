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
    BODY_MAX_BYTES, Body, EnvironmentError, ExternalComponent, Files, Named, Place, Problem,
    Source, Study, System, Values, What,
};

use crate::{
    arguments::Choice,
    inputs::{
        against::{self, Changes},
        filter,
        systems::{SystemFile, system_file},
        trust::{Objection, Trust, refusal},
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
    pub(crate) trust: Trust,
    /// What others may have written, the study or a system, and why its programs are not started.
    pub(crate) foreign: Vec<(PathBuf, Objection)>,
}

impl Loaded {
    /// Reads the values from outside, for a study in this file.
    pub(crate) fn take_values(&mut self, study: &Path) -> Result<()> {
        take_values(&mut self.study, study, &self.study_source)?;
        self.locate_external();
        Ok(())
    }

    /// `system shop: systems/shop/system.yaml`.
    pub(crate) fn system_line(&self) -> String {
        let name = &self.system.name;
        match self.system.external {
            Some(_) => format!("system {name}: a server that runs already"),
            None => format!("system {name}: {}", self.system_source.name),
        }
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

/// Reads and checks the study of `choice` and its system, and applies the filters of `choice`. Both are of the caller or of root.
pub(crate) fn load(choice: &Choice) -> Result<Loaded> {
    let loaded = load_to_show(choice)?;
    match loaded.foreign.first() {
        None => Ok(loaded),
        Some((path, objection)) => Err(refusal(
            path,
            "a study and a system start programs",
            objection,
        )),
    }
}

/// The same, whoever wrote them: nothing of it is started.
pub(crate) fn load_to_show(choice: &Choice) -> Result<Loaded> {
    let trust = Trust::new(&choice.trust.folders)?;
    let study_source = read(&choice.study)?;
    let (system, system_source, system_file) = system(&study_source, &choice.study, &trust)?;
    let system_folder = folder_of(&system_file.path);
    let foreign_study = trust.objection(&choice.study);
    let mut foreign: Vec<(PathBuf, Objection)> = Vec::new();
    foreign.extend(foreign_study.map(|why| (choice.study.clone(), why)));
    foreign.extend(system_file.objection.map(|why| (system_file.path, why)));
    let files = files_of_choice(choice);
    let read = |system: &System| read_cells(choice, &study_source, system, &files);
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
    for path in against::named_paths(&choice.against) {
        foreign.extend(trust.objection(path).map(|why| (path.to_path_buf(), why)));
    }
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
        trust,
        foreign,
    })
}

/// The files beside the study, within the folder to which they are limited.
pub(crate) fn files_of_choice(choice: &Choice) -> impl Fn(&str) -> Result<Source, Problem> {
    let read = waggle_runner::files_beside(&choice.study);
    let beside = folder_of(&choice.study);
    let within = choice.trust.within.clone();
    move |name| {
        check_within(&beside, name, within.as_deref())?;
        read(name)
    }
}

/// What is not there is no mistake yet: it cannot be read either.
fn check_within(beside: &Path, name: &str, within: Option<&Path>) -> Result<(), Problem> {
    let (Some(within), Ok(file)) = (within, fs::canonicalize(beside.join(name))) else {
        return Ok(());
    };
    match file.starts_with(within) {
        true => Ok(()),
        false => Err(Problem(format!(
            "{name} is outside of {}",
            within.display()
        ))),
    }
}

/// Reads the study again with the cells of `choice`, and with these files.
#[cfg(any(feature = "cluster", feature = "mcp"))]
pub(crate) fn read_study(choice: &Choice, loaded: &Loaded, files: Files<'_>) -> Result<Study> {
    read_cells(choice, &loaded.study_source, &loaded.system, files)
}

fn read_cells(
    choice: &Choice,
    source: &Source,
    system: &System,
    files: Files<'_>,
) -> Result<Study> {
    let mut study = waggle_study::read_study_and_files(source, system, files)?;
    filter::select(&mut study, &choice.filter, choice.form())?;
    Ok(study)
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

/// The system that a study names, with its text and its file.
fn system(study: &Source, file: &Path, trust: &Trust) -> Result<(System, Source, SystemFile)> {
    let name = match waggle_study::system_of(study)? {
        Named::System(name) => name,
        Named::Server(server) => {
            let source = Source {
                name: "system.url".to_owned(),
                text: format!("# {}: {}\n", server.name, server.summary),
            };
            return Ok((*server, source, SystemFile::default()));
        }
    };
    let system_file = system_file(&name, study, file, trust)?;
    let source = read(&system_file.path)?;
    let system = waggle_study::read_system(&source)?;
    Ok((system, source, system_file))
}

fn folder_of(file: &Path) -> PathBuf {
    file.parent().map(Path::to_path_buf).unwrap_or_default()
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

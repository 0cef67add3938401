//! `--against`: a study with two versions of its system in every repetition, the given one and a changed one.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, path::Path};

use anyhow::{Result, bail};
use waggle_spec::Restart;
use waggle_study::{
    Cell, CellVersion, Design, DuetCpus, Level, PROGRAM_OVERRIDE, Schedule, Study, System, Version,
    Versions, parameter_levels,
};

use crate::arguments::DesignChoice;

/// The factor that has the two versions.
pub(crate) const VERSION: &str = "version";
const BASELINE: &str = "baseline";
const CHANGED: &str = "changed";
/// Before the folder of another system.
const SYSTEM: &str = "system=";

/// The changed version, as the user asks for it.
pub(crate) struct Changes<'a> {
    /// `PARAMETER=LEVEL`, `program.COMPONENT=PATH` or `system=FOLDER`.
    pub(crate) texts: &'a [String],
    pub(crate) design: Option<DesignChoice>,
    /// The cells of the study on another system, and that system; `None`: both versions are of the study's own.
    pub(crate) other: Option<(&'a Study, &'a System)>,
}

/// The folder of `system=FOLDER`.
pub(crate) fn changed_system(changes: &[String]) -> Option<&Path> {
    let mut folders = changes
        .iter()
        .filter_map(|change| change.strip_prefix(SYSTEM));
    folders.next_back().map(Path::new)
}

/// The folders and programs that the changes name.
pub(crate) fn named_paths(changes: &[String]) -> impl Iterator<Item = &Path> {
    changes.iter().filter_map(|change| {
        let program = || Some(change.strip_prefix(PROGRAM_OVERRIDE)?.split_once('=')?.1);
        change.strip_prefix(SYSTEM).or_else(program).map(Path::new)
    })
}

/// Makes two cells of each: one as it is, one with the changes.
pub(crate) fn add_versions(
    study: &mut Study,
    system: &System,
    changes: &Changes<'_>,
) -> Result<()> {
    if changes.texts.is_empty() {
        if changes.design.is_some() {
            bail!("--design is how two versions are run; --against names the second one");
        }
        return Ok(());
    }
    let design = match changes.design.unwrap_or(DesignChoice::Blocks) {
        DesignChoice::Blocks => Design::Blocks,
        DesignChoice::Duet => Design::Duet(DuetCpus::Shared),
        DesignChoice::DuetSwapped => Design::Duet(DuetCpus::Swapped),
    };
    refuse_study(study, system)?;
    refuse_pods(study, changes.texts, design)?;
    if let Design::Duet(_) = design {
        refuse_duet(study)?;
    }
    let changed_system = changes.other.map_or(system, |(_, other)| other);
    let parameters = changed_parameters(study, changed_system, changes.texts)?;
    let changes_nothing = |cell: &Cell| {
        let mut parameters = parameters.iter();
        parameters.all(|(name, level)| cell.parameters.get(name) == Some(level))
    };
    if changes.other.is_none() && study.cells.iter().all(changes_nothing) {
        bail!("--against: the study has these levels already, so both versions would be alike");
    }
    study.factors.push(VERSION.to_owned());
    study.versions = Some(Versions {
        design,
        changes: changes.texts.to_vec(),
    });
    let cells = std::mem::take(&mut study.cells);
    for cell in cells {
        let mut changed = match changes.other {
            Some((other, _)) => twin(other, &cell)?,
            None => cell.clone(),
        };
        changed.parameters.extend(parameters.clone());
        let (first, second) = (2 * cell.number - 1, 2 * cell.number);
        let baseline = set_version(cell, first, Version::Baseline, second);
        let changed = set_version(changed, second, Version::Changed, first);
        study.cells.extend([baseline, changed]);
    }
    Ok(())
}

/// The cell with the number and the version.
fn set_version(mut cell: Cell, number: u32, version: Version, partner: u32) -> Cell {
    let level = match version {
        Version::Baseline => BASELINE,
        Version::Changed => CHANGED,
    };
    cell.number = number;
    cell.version = Some(CellVersion { version, partner });
    cell.levels
        .push((VERSION.to_owned(), Level::Text(level.to_owned())));
    if let Some(name) = &mut cell.short_name {
        *name = format!("{name}, {level}");
    }
    cell
}

/// The same cell of the study on another system.
fn twin(other: &Study, cell: &Cell) -> Result<Cell> {
    let twin = other
        .cells
        .iter()
        .find(|candidate| candidate.levels == cell.levels);
    match twin {
        Some(twin) => Ok(twin.clone()),
        None => bail!(
            "--against: the study on the other system lacks the cell {}",
            cell.name()
        ),
    }
}

/// Refuses versions that pods cannot have: their image has one system, and its programs.
fn refuse_pods(study: &Study, texts: &[String], design: Design) -> Result<()> {
    if study.system_pods.is_none() {
        return Ok(());
    }
    if let Design::Duet(_) = design {
        bail!(
            "--design duet cannot be combined with system.pods: its two versions share the CPUs of this machine"
        );
    }
    match named_paths(texts).next() {
        None => Ok(()),
        Some(path) => bail!(
            "--against: {} is of this machine, and the components of the study are pods of the image of its system",
            path.display()
        ),
    }
}

/// Refuses studies without two versions.
fn refuse_study(study: &Study, system: &System) -> Result<()> {
    if study.search.is_some() {
        bail!(
            "--against: a search has levels of its own in each cell; compare two runs of it instead"
        );
    }
    if system.external.is_some() {
        bail!("--against: a server that runs already has no versions to start");
    }
    let derived = study.derived.iter().map(|factor| &factor.name);
    if study
        .factors
        .iter()
        .chain(derived)
        .any(|name| name == VERSION)
    {
        bail!("--against: the study has a factor {VERSION:?} already");
    }
    Ok(())
}

/// Refuses studies whose trials cannot run side by side from beginning to end.
fn refuse_duet(study: &Study) -> Result<()> {
    let any = |is: &dyn Fn(&Schedule) -> bool| study.cells.iter().any(|cell| is(&cell.schedule));
    let why = if study.restart == Restart::EveryCell {
        "a system that is kept up over trials (schedule.restart: every_cell)"
    } else if study.sentinel_every.is_some() {
        "a sentinel, which has no second version (schedule.sentinel)"
    } else if any(&|schedule| schedule.requests_in_all().is_some()) {
        "a load that ends after a number of requests, at another time for each version"
    } else if any(&|schedule| !schedule.stop_when.is_empty()) {
        "a load that may end early (schedule.stop_when)"
    } else {
        return Ok(());
    };
    bail!(
        "--design: two versions at the same time need the same times, and the study has {why}; use --design blocks"
    );
}

/// The parameters that differ, with their levels in the changed version.
fn changed_parameters(
    study: &Study,
    system: &System,
    changes: &[String],
) -> Result<BTreeMap<String, Level>> {
    let mut parameters = Vec::new();
    let mut changed = BTreeMap::new();
    for change in changes.iter().filter(|change| !change.starts_with(SYSTEM)) {
        let Some((name, level)) = change.split_once('=') else {
            bail!(
                "--against {change}: expected PARAMETER=LEVEL, program.COMPONENT=PATH or system=FOLDER"
            );
        };
        match name.strip_prefix(PROGRAM_OVERRIDE) {
            Some(component) => {
                let path = program(system, component, level)?;
                changed.insert(name.to_owned(), Level::Text(path));
            }
            None => parameters.push((name.to_owned(), level.to_owned())),
        }
    }
    let levels = parameter_levels(system, &parameters);
    let levels = levels.map_err(|why| anyhow::anyhow!("--against: {why}"))?;
    for (name, _) in parameters {
        let of_cell = |cell: &Cell| cell.parameters.get(&name).cloned();
        let first = study.cells.first().and_then(of_cell);
        if study.cells.iter().any(|cell| of_cell(cell) != first) {
            bail!(
                "--against: the cells of the study differ in {name} already; change another parameter"
            );
        }
        changed.insert(name.clone(), levels[&name].clone());
    }
    Ok(changed)
}

/// The absolute path of another program for a component that is started.
fn program(system: &System, component: &str, path: &str) -> Result<String> {
    let known = || {
        system
            .components
            .iter()
            .filter(|candidate| candidate.external.is_none() && candidate.workload.is_none())
    };
    if !known().any(|candidate| candidate.name == component) {
        let names: Vec<&str> = known().map(|candidate| candidate.name.as_str()).collect();
        bail!(
            "--against: {} starts no component {component:?}; expected {}",
            system.name,
            names.join(", ")
        );
    }
    let file = Path::new(path);
    if !file.is_file() {
        bail!("--against: there is no program {path}");
    }
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o111 == 0 {
        bail!("--against: {path} is no program: it is not executable");
    }
    let path = std::path::absolute(file)?;
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => bail!("--against: the path {} is no text", path.display()),
    }
}

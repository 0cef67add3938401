//! `--against`: a study with two versions of its system in every repetition, the given one and a changed one.

use std::path::Path;

use anyhow::{Result, bail};
use waggle_study::{Level, PROGRAM_OVERRIDE, Study, System, parameter_levels};

/// The factor that has the two versions.
pub(crate) const VERSION: &str = "version";
const BASELINE: &str = "baseline";
const CHANGED: &str = "changed";

/// Makes two cells of each: one as it is, one with these changes, `PARAMETER=LEVEL` or `program.COMPONENT=PATH`.
pub(crate) fn add_versions(study: &mut Study, system: &System, changes: &[String]) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    if study.search.is_some() {
        bail!(
            "--against: a search has levels of its own in each cell; compare two runs of it instead"
        );
    }
    if system.external.is_some() {
        bail!("--against: a server that runs already has no versions to start");
    }
    if study.factors.iter().any(|factor| factor == VERSION) {
        bail!("--against: the study has a factor {VERSION:?} already");
    }
    let mut parameters = Vec::new();
    let mut programs = Vec::new();
    for change in changes {
        let Some((name, level)) = change.split_once('=') else {
            bail!("--against {change}: expected PARAMETER=LEVEL or program.COMPONENT=PATH");
        };
        match name.strip_prefix(PROGRAM_OVERRIDE) {
            Some(component) => programs.push((name, program(system, component, level)?)),
            None => parameters.push((name.to_owned(), level.to_owned())),
        }
    }
    let levels = parameter_levels(system, &parameters);
    let levels = levels.map_err(|why| anyhow::anyhow!("--against: {why}"))?;
    for (name, _) in &parameters {
        let first = study
            .cells
            .first()
            .and_then(|cell| cell.parameters.get(name));
        if study
            .cells
            .iter()
            .any(|cell| cell.parameters.get(name) != first)
        {
            bail!(
                "--against: the cells of the study differ in {name} already; change another parameter"
            );
        }
    }
    study.factors.push(VERSION.to_owned());
    let cells = std::mem::take(&mut study.cells);
    for mut cell in cells {
        let mut changed = cell.clone();
        cell.number = 2 * cell.number - 1;
        changed.number = cell.number + 1;
        for (name, _) in &parameters {
            changed
                .parameters
                .insert(name.clone(), levels[name].clone());
        }
        for (name, path) in &programs {
            let path = Level::Text(path.clone());
            changed.parameters.insert((*name).to_owned(), path);
        }
        for (one, version) in [(&mut cell, BASELINE), (&mut changed, CHANGED)] {
            let level = Level::Text(version.to_owned());
            one.levels.push((VERSION.to_owned(), level));
            if let Some(name) = &mut one.short_name {
                *name = format!("{name}, {version}");
            }
        }
        study.cells.extend([cell, changed]);
    }
    Ok(())
}

/// The absolute path of another program for a component that is started.
fn program(system: &System, component: &str, path: &str) -> Result<String> {
    let known = || {
        system
            .components
            .iter()
            .filter(|one| one.external.is_none())
    };
    if !known().any(|one| one.name == component) {
        let names: Vec<&str> = known().map(|one| one.name.as_str()).collect();
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
    let path = std::path::absolute(file)?;
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => bail!("--against: the path {} is no text", path.display()),
    }
}

//! The programs of the two versions of a system.

use std::path::Path;

use waggle_results::{ArtifactInfo, ComponentInfo};
use waggle_study::{Cell, System};
use waggle_system::components::driver::{ProgramError, Programs, Search, distinct};

use crate::run::{request::RunRequest, schedule};

/// The programs of the study's system, and of the changed version's, if that is another one.
#[derive(Debug, Clone)]
pub(crate) struct VersionPrograms {
    pub(crate) baseline: Programs,
    pub(crate) changed: Option<Programs>,
}

impl VersionPrograms {
    pub(crate) fn find(request: &RunRequest) -> Result<Self, ProgramError> {
        let cells = request.study.cells.iter();
        let (system, folder) = (&request.system, &request.system_folder);
        // The programs of pods are those of their image.
        if request.study.system_pods.is_some() {
            return Ok(Self {
                baseline: Programs::default(),
                changed: None,
            });
        }
        let Some(changed) = &request.changed else {
            return Ok(Self {
                baseline: find_programs(request, system, folder, cells)?,
                changed: None,
            });
        };
        let of_changed = cells.clone().filter(|cell| schedule::is_changed(cell));
        let of_baseline = cells.filter(|cell| !schedule::is_changed(cell));
        Ok(Self {
            baseline: find_programs(request, system, folder, of_baseline)?,
            changed: Some(find_programs(
                request,
                &changed.system,
                &changed.folder,
                of_changed,
            )?),
        })
    }

    /// The components of both.
    pub(crate) async fn versions(&self, request: &RunRequest) -> Vec<ComponentInfo> {
        if let Some(pods) = &request.study.system_pods {
            return versions_of_pods(request, &pods.image);
        }
        let mut components = self.baseline.versions(&request.system).await;
        if let (Some(programs), Some(changed)) = (&self.changed, &request.changed) {
            let others = programs.versions(&changed.system).await;
            components.extend(others.into_iter().map(|other| ComponentInfo {
                name: format!("{} (changed)", other.name),
                ..other
            }));
        }
        components
    }

    /// The artifacts whose programs the cells run.
    pub(crate) fn artifacts(&self, request: &RunRequest) -> Vec<ArtifactInfo> {
        let mut all: Vec<ArtifactInfo> = Vec::new();
        let cells = request.study.cells.iter();
        for cell in cells.filter(|cell| !cell.is_sentinel) {
            let (programs, system) = match (&self.changed, &request.changed) {
                (Some(programs), Some(changed)) if schedule::is_changed(cell) => {
                    (programs, &changed.system)
                }
                _ => (&self.baseline, &request.system),
            };
            if system.artifacts.is_empty() {
                continue;
            }
            for (name, version) in programs.artifacts(system, &cell.parameters) {
                let is_known = |artifact: &&mut ArtifactInfo| {
                    artifact.name == name && artifact.version == version
                };
                match all.iter_mut().find(is_known) {
                    Some(known) => known.cells.push(cell.number),
                    None => all.push(ArtifactInfo {
                        name,
                        version,
                        cells: vec![cell.number],
                    }),
                }
            }
        }
        all
    }
}

/// The components of all cells, each with its image or with its addresses.
fn versions_of_pods(request: &RunRequest, image: &str) -> Vec<ComponentInfo> {
    let cells = request.study.cells.iter();
    let configured = distinct(&request.system, cells.map(|cell| &cell.parameters));
    let mut components: Vec<ComponentInfo> = Vec::new();
    for component in configured.iter().flat_map(|system| &system.components) {
        if components.iter().any(|known| known.name == component.name) {
            continue;
        }
        let external = component.external.iter().flatten();
        components.push(ComponentInfo {
            name: component.name.clone(),
            version: match component.external {
                Some(_) => "unknown".to_owned(),
                None => format!("image {image}"),
            },
            external: external.map(ToString::to_string).collect(),
        });
    }
    components
}

/// A system may bring programs in its own folder.
fn find_programs<'a>(
    request: &RunRequest,
    system: &System,
    folder: &Path,
    cells: impl Iterator<Item = &'a Cell>,
) -> Result<Programs, ProgramError> {
    let mut folders = request.program_folders.clone();
    folders.push(folder.to_path_buf());
    let search = Search {
        folders: &folders,
        path: &std::env::var_os("PATH").unwrap_or_default(),
        artifacts: request.artifacts_folder.as_deref(),
    };
    Programs::find(system, cells.map(|cell| &cell.parameters), search)
}

//! How the system of a run was there: started, running already, or twice at the same time.

use waggle_results::{RunInfo, VersionDesign};

/// Whether two versions of the system ran at the same time.
pub(crate) fn is_duet(info: &RunInfo) -> bool {
    let versions = info.versions.as_ref();
    versions.is_some_and(|versions| versions.design != VersionDesign::Blocks)
}

/// Whether the system is one server that ran already, without components.
pub fn is_external(info: &RunInfo) -> bool {
    info.components.is_empty() && !info.system_manifests
}

/// Whether nothing of the system was started: it is a server that ran already, or so did all components.
pub fn ran_already(info: &RunInfo) -> bool {
    external_components(info).len() == info.components.len() && !info.system_manifests
}

/// Names of the components that waggle did not start, where it started others or could have.
pub fn external_components(info: &RunInfo) -> Vec<&str> {
    let components = info.components.iter();
    components
        .filter(|component| !component.external.is_empty())
        .map(|component| component.name.as_str())
        .collect()
}

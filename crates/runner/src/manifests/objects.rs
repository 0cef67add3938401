//! The objects of a system, ready to be applied: their manifests with all patches, and what the cluster calls their kinds.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    path::Path,
};

use serde_json::json;
use waggle_cluster::{
    Access, ApiError, ApiKind, Awaited, ForeignKind, KindRight, Manifest, ObjectError, guess_kind,
};
use waggle_study::{Level, Manifests, ObjectName, System};

use super::{
    patch::{PatchError, apply_patches, names},
    source::{Rendered, SourceError, read_objects},
};

/// Why a system of manifests cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ManifestsError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Patch(#[from] PatchError),
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(
        "{object}: the cluster has no kind {kind} of {api_version}; what defines it is to be installed before the run"
    )]
    NoKind {
        object: String,
        kind: String,
        api_version: String,
    },
    #[error(
        "{0} is of the whole cluster, and waggle makes objects of one namespace alone: install it before the run, and take it out of \
         the manifests"
    )]
    ClusterWide(String),
    #[error(
        "{object} is written for namespace {written}, and the system is applied in {namespace}"
    )]
    OtherNamespace {
        object: String,
        written: String,
        namespace: String,
    },
    #[error("{0} is there twice")]
    Twice(String),
    #[error("{key}: there is no {object} among the objects; there are {known}")]
    NotThere {
        key: String,
        object: String,
        known: String,
    },
    #[error("there is no object at all")]
    Nothing,
}

/// Where manifests are read, and for which namespace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) system: &'a System,
    pub(super) folder: &'a Path,
    pub(super) namespace: &'a str,
    pub(super) rendered: Option<&'a Rendered>,
}

/// An object, and what the cluster calls its kind.
#[derive(Debug, Clone)]
pub(super) struct SystemObject {
    pub(super) manifest: Manifest,
    pub(super) kind: ForeignKind,
}

impl Reading<'_> {
    /// Reads the manifests for these levels, and changes them. The cluster is not asked.
    pub(super) async fn manifests(
        self,
        levels: &BTreeMap<String, Level>,
    ) -> Result<Vec<Manifest>, ManifestsError> {
        let system = self.system;
        let Some(manifests) = &system.manifests else {
            return Err(ManifestsError::Nothing);
        };
        let filled = manifests.fill(&system.parameters, levels);
        let mut objects = read_objects(&filled, self.folder, self.namespace, self.rendered).await?;
        apply_patches(&mut objects, &filled.patches)?;
        for object in &mut objects {
            self.complete(object)?;
        }
        check_names(&objects)?;
        let present = system.configure(levels);
        let workloads = present.components.iter().filter_map(|component| {
            let key = format!("components.{}.workload", component.name);
            Some((key, &component.workload.as_ref()?.object))
        });
        let conditions = filled.conditions.iter();
        let conditions = conditions.map(|(object, _)| (format!("wait.{object}"), object));
        for (key, object) in workloads.chain(conditions) {
            find(&objects, object).ok_or_else(|| ManifestsError::NotThere {
                key,
                object: object.to_string(),
                known: names(&objects),
            })?;
        }
        Ok(objects)
    }

    /// Adds what every object needs.
    fn complete(self, object: &mut Manifest) -> Result<(), ManifestsError> {
        let title = object.title();
        if let Some(written) = object
            .namespace
            .as_ref()
            .filter(|name| *name != self.namespace)
        {
            return Err(ManifestsError::OtherNamespace {
                object: title,
                written: written.clone(),
                namespace: self.namespace.to_owned(),
            });
        }
        object.object["metadata"]["namespace"] = json!(self.namespace);
        if object.kind == "StatefulSet" {
            // The next trial begins with fresh volumes, also if this process is killed.
            let policy = &mut object.object["spec"]["persistentVolumeClaimRetentionPolicy"];
            policy["whenDeleted"] = json!("Delete");
        }
        Ok(())
    }
}

fn check_names(objects: &[Manifest]) -> Result<(), ManifestsError> {
    if objects.is_empty() {
        return Err(ManifestsError::Nothing);
    }
    let mut seen = BTreeSet::new();
    for object in objects {
        if !seen.insert((&object.kind, &object.name)) {
            return Err(ManifestsError::Twice(object.title()));
        }
    }
    Ok(())
}

fn find<'o>(objects: &'o [Manifest], name: &ObjectName) -> Option<&'o Manifest> {
    objects
        .iter()
        .find(|known| known.is_named(&name.kind, &name.name))
}

/// Asks the cluster what it calls the kinds of objects.
pub(super) async fn with_kinds(
    access: &Access,
    manifests: Vec<Manifest>,
) -> Result<Vec<SystemObject>, ManifestsError> {
    let mut kinds: BTreeMap<String, Vec<ApiKind>> = BTreeMap::new();
    let mut objects = Vec::with_capacity(manifests.len());
    for manifest in manifests {
        let version = &manifest.api_version;
        let known = match kinds.entry(version.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(access.api_kinds(version).await?),
        };
        let mut known = known.iter();
        let Some(api_kind) = known.find(|known| known.kind.kind == manifest.kind) else {
            return Err(ManifestsError::NoKind {
                object: manifest.title(),
                kind: manifest.kind.clone(),
                api_version: version.clone(),
            });
        };
        if !api_kind.is_namespaced {
            return Err(ManifestsError::ClusterWide(manifest.title()));
        }
        objects.push(SystemObject {
            kind: api_kind.kind.clone(),
            manifest,
        });
    }
    Ok(objects)
}

/// What is waited for: every object, and the named conditions.
pub(super) fn to_await<'o>(
    objects: impl Iterator<Item = &'o SystemObject>,
    manifests: &Manifests,
) -> Vec<Awaited> {
    objects.map(|object| object.to_await(manifests)).collect()
}

impl SystemObject {
    fn to_await(&self, manifests: &Manifests) -> Awaited {
        let manifest = &self.manifest;
        let mut named = manifests.conditions.iter();
        let named = named.find(|(name, _)| manifest.is_named(&name.kind, &name.name));
        Awaited {
            kind: self.kind.clone(),
            name: manifest.name.clone(),
            condition: named.map(|(_, condition)| condition.clone()),
        }
    }
}

/// The rights that a system's manifests need, by the names that Kubernetes gives to kinds as a rule.
///
/// # Errors
/// They cannot be read or rendered.
pub async fn rights_of(
    system: &System,
    folder: &Path,
    namespace: &str,
    levels: &BTreeMap<String, Level>,
) -> Result<Vec<KindRight>, ManifestsError> {
    let reading = Reading {
        system,
        folder,
        namespace,
        rendered: None,
    };
    let mut rights: Vec<KindRight> = Vec::new();
    for manifest in reading.manifests(levels).await? {
        let kind = guess_kind(&manifest.api_version, &manifest.kind);
        let right = KindRight {
            group: kind.group,
            resource: kind.resource,
        };
        if !rights.contains(&right) {
            rights.push(right);
        }
    }
    rights.sort();
    Ok(rights)
}

//! Where the API has the objects of a call: kinds that waggle knows, kinds that the cluster names, and the lists of these.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use url::form_urlencoded::byte_serialize;

use super::kind::Kind;

/// A kind of objects as the cluster names it: any of Kubernetes, or one that was added to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForeignKind {
    /// Empty: of the core.
    pub group: String,
    pub version: String,
    /// As it is written in a manifest.
    pub kind: String,
    /// As a Role names it.
    pub resource: String,
}

/// What a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    Known(Kind),
    Foreign(&'a ForeignKind),
    /// The list of the kinds of an API version: `v1`, `apps/v1`.
    Kinds(&'a str),
}

impl ForeignKind {
    /// As it is written in a manifest.
    #[must_use]
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Whether its objects may make pods, so that they are gone only when these are.
    pub(crate) fn may_have_pods(&self) -> bool {
        let group = self.group.as_str();
        !matches!(group, "" | "policy" | "autoscaling") && !group.ends_with(".k8s.io")
    }
}

impl<'a> Resource<'a> {
    pub(crate) fn name(self) -> &'a str {
        match self {
            Self::Known(kind) => kind.resource(),
            Self::Foreign(kind) => &kind.resource,
            Self::Kinds(_) => "API resources",
        }
    }

    /// The path of all objects, in a namespace if one is given.
    pub(crate) fn path(self, namespace: Option<&str>) -> String {
        let (version, resource) = match self {
            Self::Known(kind) => return kind.path(namespace),
            Self::Foreign(kind) => (Cow::Owned(kind.api_version()), Some(&kind.resource)),
            Self::Kinds(version) => (Cow::Borrowed(version), None),
        };
        let mut path = match version.contains('/') {
            true => format!("/apis/{version}"),
            false => format!("/api/{version}"),
        };
        if let Some(namespace) = namespace {
            let namespace: String = byte_serialize(namespace.as_bytes()).collect();
            path.push_str(&format!("/namespaces/{namespace}"));
        }
        if let Some(resource) = resource {
            path.push('/');
            path.push_str(resource);
        }
        path
    }
}

impl From<Kind> for Resource<'_> {
    fn from(kind: Kind) -> Self {
        Self::Known(kind)
    }
}

impl<'a> From<&'a ForeignKind> for Resource<'a> {
    fn from(kind: &'a ForeignKind) -> Self {
        Self::Foreign(kind)
    }
}

//! Kinds of objects, and where the API has them.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::form_urlencoded::byte_serialize;

/// A kind of objects that waggle asks for or makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    Namespace,
    ConfigMap,
    Secret,
    Service,
    Pod,
    Event,
    Node,
    Job,
    Lease,
    EndpointSlice,
    StatefulSet,
    PersistentVolumeClaim,
}

/// What a right allows, as a Role names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Get,
    List,
    Create,
    Update,
    /// Here: server-side apply.
    Patch,
    Delete,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::Namespace,
        Self::ConfigMap,
        Self::Secret,
        Self::Service,
        Self::Pod,
        Self::Event,
        Self::Node,
        Self::Job,
        Self::Lease,
        Self::EndpointSlice,
        Self::StatefulSet,
        Self::PersistentVolumeClaim,
    ];

    /// The name of its resource, as a Role names it.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::Namespace => "namespaces",
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
            Self::Service => "services",
            Self::Pod => "pods",
            Self::Event => "events",
            Self::Node => "nodes",
            Self::Job => "jobs",
            Self::Lease => "leases",
            Self::EndpointSlice => "endpointslices",
            Self::StatefulSet => "statefulsets",
            Self::PersistentVolumeClaim => "persistentvolumeclaims",
        }
    }

    /// Its API group; that of the core is empty.
    #[must_use]
    pub fn group(self) -> &'static str {
        match self {
            Self::Job => "batch",
            Self::Lease => "coordination.k8s.io",
            Self::EndpointSlice => "discovery.k8s.io",
            Self::StatefulSet => "apps",
            _ => "",
        }
    }

    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::Job => "batch/v1",
            Self::Lease => "coordination.k8s.io/v1",
            Self::EndpointSlice => "discovery.k8s.io/v1",
            Self::StatefulSet => "apps/v1",
            _ => "v1",
        }
    }

    /// As it is written in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespace => "Namespace",
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::Service => "Service",
            Self::Pod => "Pod",
            Self::Event => "Event",
            Self::Node => "Node",
            Self::Job => "Job",
            Self::Lease => "Lease",
            Self::EndpointSlice => "EndpointSlice",
            Self::StatefulSet => "StatefulSet",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
        }
    }

    /// The path of all objects, in a namespace if one is given.
    pub(crate) fn path(self, namespace: Option<&str>) -> String {
        let root = match self.group() {
            "" => "/api/v1".to_owned(),
            _ => format!("/apis/{}", self.api_version()),
        };
        let resource = self.resource();
        match namespace {
            Some(namespace) => {
                let namespace: String = byte_serialize(namespace.as_bytes()).collect();
                format!("{root}/namespaces/{namespace}/{resource}")
            }
            None => format!("{root}/{resource}"),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Verb {
    /// As it is written in a Role.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    pub(crate) fn method(self) -> http::Method {
        match self {
            Self::Get | Self::List => http::Method::GET,
            Self::Create => http::Method::POST,
            Self::Update => http::Method::PUT,
            Self::Patch => http::Method::PATCH,
            Self::Delete => http::Method::DELETE,
        }
    }

    /// Of the body that goes with it.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            // JSON is YAML, too.
            Self::Patch => "application/apply-patch+yaml",
            _ => "application/json",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

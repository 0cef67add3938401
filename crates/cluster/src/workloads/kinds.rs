//! The kinds of objects that a cluster has, by its discovery: every user may read it.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    access::Access,
    api::{ApiError, Call, ForeignKind, Resource, Verb},
};

/// A kind of objects of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKind {
    pub kind: ForeignKind,
    /// Else its objects are of the whole cluster.
    pub is_namespaced: bool,
}

#[derive(Deserialize)]
struct RawKind {
    name: String,
    kind: String,
    #[serde(default)]
    namespaced: bool,
}

impl RawKind {
    fn into_kind(self, group: &str, version: &str) -> ApiKind {
        ApiKind {
            kind: ForeignKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: self.kind,
                resource: self.name,
            },
            is_namespaced: self.namespaced,
        }
    }
}

impl Access {
    /// The kinds of an API version (`v1`, `apps/v1`); empty: the cluster does not have it.
    ///
    /// # Errors
    /// The API does not answer.
    pub async fn api_kinds(&self, api_version: &str) -> Result<Vec<ApiKind>, ApiError> {
        let call = Call::new(Verb::Get, Resource::Kinds(api_version), None);
        let what = call.target();
        let mut list = match self.call(call).await {
            Err(why) if why.is_not_found() => return Ok(Vec::new()),
            answer => answer?.value,
        };
        let raw: Result<Vec<RawKind>, _> = serde_json::from_value(list["resources"].take());
        let raw = raw.map_err(|why| ApiError::Unreadable {
            what,
            why: why.to_string(),
        })?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        // Others are parts of objects: `deployments/scale`.
        let whole = raw.into_iter().filter(|raw| !raw.name.contains('/'));
        Ok(whole.map(|raw| raw.into_kind(group, version)).collect())
    }

    /// An object of any kind; `None`: it is not there.
    ///
    /// # Errors
    /// It may not be read, or the API does not answer.
    pub async fn find_object(
        &self,
        kind: &ForeignKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        self.find(kind, Some(namespace), name).await
    }
}

//! The keys of a system that is the user's own manifests or chart.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Level,
    at::{At, Key},
};

/// The fields of one object, each with its value.
pub(crate) type PatchedFields = IndexMap<String, At<Level>>;

/// A chart, which `helm template` renders for each start of the system: it is never installed by helm, and its hooks are not run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Helm {
    /// The folder or archive of the chart, beside this file.
    #[schemars(required)]
    pub chart: Key<String>,
    /// The name of the release, which templates use; that of the system by default.
    pub release: Key<String>,
    /// A file of values, beside this file.
    pub values: Key<String>,
    /// Single values in place of those of the file, as helm's `--set` names them, e.g. `gateway.replicas: ${replicas}`.
    pub set: Key<IndexMap<String, At<Level>>>,
}

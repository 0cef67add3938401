//! Labels and annotations of what waggle makes.

use std::collections::BTreeMap;

/// Of the run that an object belongs to.
pub const RUN_LABEL: &str = "waggle/run";
/// Of the trial that an object belongs to.
pub const TRIAL_LABEL: &str = "waggle/trial";
/// The system that an object belongs to, if it is one of the user's manifests.
pub const PART_LABEL: &str = "waggle/system";
/// The part that a pod plays, as Kubernetes recommends: `waggle-agent`, `waggle-component`, `waggle-runner`.
pub const APP_LABEL: &str = "app.kubernetes.io/name";
/// The component of the system that a pod is a replica of.
pub const COMPONENT_LABEL: &str = "waggle/component";
/// The start of the system that a pod belongs to.
pub const START_LABEL: &str = "waggle/start";
pub(crate) const COMPONENT_APP: &str = "waggle-component";
pub(crate) const RUNNER_APP: &str = "waggle-runner";
pub(crate) const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
pub(crate) const MANAGER: &str = "waggle";

/// Labels, annotations or selectors: names with values.
pub(crate) type Pairs = BTreeMap<String, String>;

/// The form in which the API takes a selector.
pub(crate) fn selector(pairs: &Pairs) -> String {
    let parts: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    parts.join(",")
}

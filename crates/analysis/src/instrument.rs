//! What of a run is the load generator and not the system.

/// The name under which its own resources are written.
pub(crate) const INSTRUMENT: &str = "waggle";

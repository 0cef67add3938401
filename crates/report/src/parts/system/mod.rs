//! The system under the load: delivery of records, resources, bottlenecks, limits of components, nodes.

pub(crate) mod bottlenecks;
pub(crate) mod delivery;
pub(crate) mod limits;
pub(crate) mod placement;
pub(crate) mod resources;

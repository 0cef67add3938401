//! The system under the load: delivery of records, resources, bottlenecks, limits of components.

pub(crate) mod bottlenecks;
pub(crate) mod delivery;
pub(crate) mod limits;
pub(crate) mod resources;

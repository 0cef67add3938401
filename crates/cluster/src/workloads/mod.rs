//! Workloads of others: the kinds that a cluster has, whether an object is ready, why it is not, its pods, what they use, and how they
//! are reached.

mod evictions;
mod kinds;
mod pods;
mod readiness;
mod service;
mod usage;
mod wait;

pub use evictions::EvictionError;
pub use kinds::ApiKind;
pub use pods::EndError;
pub use readiness::selector_of;
pub use service::{Service, ServicePort, TargetPort};
pub use usage::PodUsage;
pub use wait::{Awaited, NotReady, Scope};

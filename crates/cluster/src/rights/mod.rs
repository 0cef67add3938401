//! What an administrator allows: the rights that waggle needs, and the traffic of its pods. Pure texts.

mod network;
mod role;

pub use network::network_policy;
pub use role::{ClusterRight, KindRight, guess_kind, rbac};

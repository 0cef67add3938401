//! What an administrator allows: the rights that waggle needs, and the traffic of its pods. Texts, and what the API says of them.

mod network;
mod review;
mod role;

pub use network::network_policy;
pub(crate) use role::rbac_options;
pub use role::{ClusterRight, KindRight, guess_kind, rbac};

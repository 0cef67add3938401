//! How waggle itself asks servers: a small client, the ports that it connects to with their TLS, and what is expected of an answer.
//! The load has its own connections.

pub(crate) mod address;
pub(crate) mod answer;
pub(crate) mod client;
pub(crate) mod json;
pub(crate) mod peer;
pub(crate) mod transport;

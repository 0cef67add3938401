//! How waggle itself asks servers: a small client, the ports that it connects to with their TLS, and what is expected of an answer.
//! The load has its own connections.

pub mod address;
pub mod answer;
pub mod client;
pub mod json;
pub mod peer;
pub mod transport;

//! HTTP/2 (RFC 9113): frames, header blocks in HPACK (RFC 7541), and both sides of a connection: `client`, `server`.

pub mod client;
mod dropped_streams;
pub mod error;
pub mod fields;
pub mod flood;
pub mod frame;
pub mod hpack;
mod last_block;
pub mod reader;
pub mod server;

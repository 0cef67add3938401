//! HTTP/2 (RFC 9113): frames, header blocks in HPACK (RFC 7541), and a client's side of a connection.

pub mod client;
pub mod error;
pub mod fields;
pub mod flood;
pub mod frame;
pub mod hpack;
pub mod reader;
pub mod server;

//! HTTP/1.1 (RFC 9112): answers out of bytes.

pub mod answer;

//! HTTP/2 (RFC 9113): frames, and header blocks in HPACK (RFC 7541).

pub mod error;
pub mod frame;

//! HTTP/1.1 (RFC 9112): answers for clients, and requests for servers, out of bytes.

pub mod answer;
mod bytes;
mod chunked;
pub mod request;

//! HTTP on the wire: what the bytes of requests and answers mean, for clients and servers, as pure functions.
//!
//! No socket, no clock, no task: bytes in, events and bytes out. Nothing is allocated per request. `http2` is HTTP/2 (RFC 9113, HPACK of
//! RFC 7541).

pub mod http2;

//! HTTP on the wire: what the bytes of requests and answers mean, for clients and servers, as pure functions.
//!
//! No socket, no clock, no task: bytes in, events and bytes out. Nothing is allocated per request. `http1` is HTTP/1.1 (RFC 9112), `http2`
//! HTTP/2 (RFC 9113, HPACK of RFC 7541).

mod decimal;
pub mod http1;
pub mod http2;

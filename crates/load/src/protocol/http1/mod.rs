//! HTTP/1: answers from bytes. No socket, no clock.
//!
//! In reading order: `reader`, `head` (where a head ends, and how its body is framed), `chunked`.

mod chunked;
pub(crate) mod head;
pub mod reader;

//! Raw HTTP/2 for hostile servers: a test sends the bytes it wants, and the client is held to RFC 9113.
//!
//! - [`frame`] writes frames, [`block`] writes header blocks without Huffman coding: no parser or writer of a client is used.
//! - [`FrameServer`] hands each connection to a function of the test as a [`FrameSocket`], which reads the client's frames and panics if
//!   they break the limits that the server has set: concurrent streams, windows, sizes, stream numbers.

pub mod block;
pub mod frame;
mod limits;
mod server;
mod socket;

pub use server::{FrameServer, Log};
pub use socket::{FrameSocket, Refill, Request};

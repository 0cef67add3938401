//! A server's side of a connection: bytes to requests, answers to bytes.
//!
//! [`Server::next`] takes what was received and gives [`Event`]s; what the rules of the protocol want said at once it appends to the
//! output. Answers are begun by [`Server::answer`] and their bodies handed out in pieces by [`Server::send_body`], which takes what
//! the windows of flow control allow. Nothing is queued here: the caller stops calling `next` while too much output waits, and keeps
//! what is left of a body.

mod answers;
mod bodies;
mod connection;
mod control;
mod head;
mod requests;
mod rules;
mod state;
mod streams;
#[cfg(test)]
mod tests;

pub use answers::Then;
pub use connection::Server;
pub use head::RequestHead;

/// Limits on what a client may do.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Streams that are open at the same time (SETTINGS_MAX_CONCURRENT_STREAMS).
    pub streams: u32,
    /// Of a request's fields, by the rule of RFC 9113, section 6.5.2. Larger ones are an [`Event::TooLarge`].
    pub head_bytes: usize,
    /// Of one request, without pseudo fields. More are an [`Event::TooLarge`].
    pub fields: usize,
    /// Window of a stream, in bytes: at least 65,535, at most 2^31-1.
    pub stream_window: u32,
    /// Window of the connection, in bytes: as that of a stream.
    pub connection_window: u32,
    /// Streams that the client resets, or has reset by its mistakes, beyond those that were answered.
    pub resets: u32,
    /// Frames in a row that lead nowhere.
    pub idle_frames: u32,
}

/// What a client has cost and paid since the last look at it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waste {
    /// Streams that were reset by its doing, and frames that led nowhere, but for the first in a row.
    pub vain: u32,
    /// Streams that were answered.
    pub answered: u32,
}

/// What a client did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'input> {
    /// A request began; [`Server::head`] has its head.
    Request {
        stream: u32,
        /// It has no body.
        is_end: bool,
    },
    /// The same, with a head above the limits; nothing of it is kept. It is to be answered with 431.
    TooLarge { stream: u32 },
    /// The next bytes of a request's body.
    Body {
        stream: u32,
        bytes: &'input [u8],
        /// The request is complete.
        is_end: bool,
    },
    /// The stream is over and can no longer be answered.
    Reset { stream: u32 },
}

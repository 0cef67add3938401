//! A parser of HTTP/1.1 requests: pure, without sockets, clocks or routing, so that it can be fuzzed.
//!
//! [`Reader::next`] gets everything received and not yet consumed. It needs more, returns one complete request, or refuses. If
//! RFC 9112 lets a server choose between leniency and refusal, and leniency could make two parties see different requests, this
//! parser refuses.

mod authority;
mod chunked;
mod head;
mod reader;
#[cfg(test)]
mod tests;

pub use head::{Head, Line, Persistence, SLOTS, Sender, Slots};
pub use reader::{Limits, Reader, Refusal, Request, Step};

//! A client's connection over HTTP/2: each stream is a request, and is answered as soon as its answer is known.
//!
//! `waggle-wire` knows the protocol; here are the socket, the clocks, and what requests cost. A request is dispatched when its body is
//! complete, by the same code as one of HTTP/1.1 (`take`). Calls of the router run beside each other. `state` is the
//! connection, `requests` has what arrives, `answers` what is answered, `sending` bodies that wait for the client's windows, `wait`
//! what the connection waits for; `bodies`, `heads` and `parts` are the values of these.

mod answers;
mod bodies;
mod heads;
mod parts;
mod requests;
mod sending;
mod state;
mod wait;

pub(super) use state::{Http2, Parts};

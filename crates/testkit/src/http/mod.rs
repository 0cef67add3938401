//! HTTP/1.1 for tests: a server that does what a test asks of it, and a client that sends exactly the bytes it is given.

mod client;
mod message;
mod server;

pub use client::{Answer, Connection, get, put};
pub use message::{Request, answer, field, ok, text_between};
pub use server::{Reply, Server};

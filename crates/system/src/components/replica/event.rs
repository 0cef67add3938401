//! What the process beside a replica hears: from drivers, and of what it has begun itself.

use tokio::sync::mpsc;

use super::{
    hosts::UnknownHost,
    message::{Greeting, StartOrder},
};

pub(super) enum Event {
    /// A driver has said who it is.
    Greeted {
        connection: u64,
        greeting: Greeting,
        lines: mpsc::Sender<String>,
    },
    Line {
        connection: u64,
        line: String,
    },
    Closed {
        connection: u64,
    },
    /// The hosts of a start are known, or not in time.
    Hosts {
        order: Box<StartOrder>,
        known: Result<(), UnknownHost>,
    },
    Started(Result<(), String>),
    Gone,
}

//! The capacity of the engine on this machine, measured against a server that does next to nothing.

pub(crate) mod calibrate;
pub(crate) mod null_server;

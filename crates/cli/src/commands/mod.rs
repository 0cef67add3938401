//! The commands, a file or folder for each.

pub(crate) mod agent;
pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod documents;
pub(crate) mod history;
#[cfg(feature = "cluster")]
mod image;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod load;
pub(crate) mod mcp;
pub(crate) mod null_server;
pub(crate) mod plan;
pub(crate) mod replica;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod system;

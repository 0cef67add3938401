//! A replica that is started elsewhere: the process beside it (`server`), and its side of the driver (`remote`). Between them are
//! messages (`message`) over a connection that may break: `mailbox` numbers them, so that none is lost and none is obeyed twice.
//!
//! How a connection is made is not known here: whoever starts replicas elsewhere gives it ([`opener::Opener`]).

mod error;
mod event;
mod files;
mod folder_copy;
mod hosts;
mod lines;
mod log_copy;
mod mailbox;
pub mod message;
pub mod opener;
pub mod remote;
pub mod server;
#[cfg(test)]
mod tests;

pub(in crate::components) use self::folder_copy::{fetch_folder, send_folder};
pub use self::{
    error::ServeError,
    files::IMAGE_FILE,
    folder_copy::{pack, unpack},
    message::{Facts, Sample},
    opener::{Errand, Opener, PodState, Streams},
    remote::RemoteReplica,
    server::{join, serve},
};

//! Requests → pages: who may ask (`guard`), what answers have in common (`reply`), and the pages by their subjects. `server` listens.

mod compared;
mod guard;
mod launches;
mod live;
mod login;
mod reply;
mod runs;
pub(crate) mod server;
pub(crate) mod state;

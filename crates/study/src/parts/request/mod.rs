//! What a request has, and what the steps of a scenario have in common with it.

pub(crate) mod feeds;
mod made_rows;

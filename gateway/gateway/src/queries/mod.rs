//! Queries of stored records: aggregates, their text, and the database that answers them.

pub(crate) mod aggregate;
pub(crate) mod database;
pub(crate) mod render;

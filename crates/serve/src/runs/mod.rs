//! What lies in the folder: a row for each entry (`row`, read by `read`), kept in an `index`, chosen and sorted by a `query`; and which
//! runs go on (`running`).

pub(crate) mod index;
pub(crate) mod query;
pub(crate) mod read;
pub(crate) mod row;
pub(crate) mod running;

//! What lies in the folder: a row for each entry (`row`, read by `read`), kept in an `index` while its files are as they were (`stamp`),
//! chosen and sorted by a `query`; and which runs go on (`running`).

pub(crate) mod index;
pub(crate) mod query;
pub(crate) mod read;
pub(crate) mod row;
pub(crate) mod running;
pub(crate) mod stamp;

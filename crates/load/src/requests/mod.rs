//! *What*: requests whose bytes are made before the clock starts, the stamps that are written into them, and the answers that are
//! expected.

pub(crate) mod expect;
pub(crate) mod frames;
pub(crate) mod head_block;
pub(crate) mod prepared;
pub(crate) mod uuid;
pub(crate) mod writer;

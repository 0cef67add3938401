//! Files of a run: their names, how each is written as a whole, read and checked.

pub(crate) mod disk;
pub(crate) mod folder;
pub(crate) mod names;
pub(crate) mod notes;
pub(crate) mod parallel;
pub(crate) mod parse;
pub(crate) mod read;
pub(crate) mod trial_files;
pub(crate) mod writer;

//! Versions and runs against each other: by `waggle compare` and `waggle run --against`, in a pull request, over many runs.

mod action;
mod compare;
pub(crate) mod history;

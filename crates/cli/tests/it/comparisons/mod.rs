//! Versions and runs against each other: by `waggle compare` and `waggle run --against`, over many runs.

mod compare;
mod history;

//! The project's own chores; `cargo xtask check` is what CI runs.

fn main() {}

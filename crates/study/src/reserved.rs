//! Keys that have a meaning of their own where names of factors are expected.

/// Keys of a row in `cells` that are no factor. No factor is called so.
pub(crate) const CELL_KEYS: [&str; 2] = ["name", "expect_verdict"];

//! Keys and names that a later version gives a meaning. They are refused until then, so that no file changes its meaning.

use crate::renamed::ends_with;

/// Keys, each with the end of the path of the mapping that it belongs to.
const KEYS: [(&str, &str); 1] = [("schedule.repeat", "max")];

/// Names that no factor may have: keys of a row in `cells`.
pub(crate) const FACTORS: [&str; 2] = ["name", "expect_verdict"];

/// Whether a key of a mapping is not yet read. `path` is that of the mapping, whose first step is the name of the tree.
pub(crate) fn is_planned(path: &[String], key: &str) -> bool {
    let mut rows = KEYS.iter().filter(|(_, planned)| *planned == key);
    rows.any(|(parent, _)| ends_with(path, parent))
}

//! The path from the root of a tree to a part of a scenario, with its places in lists.

use crate::check::shown;

/// Keys, and places in lists from 0, in digits.
#[derive(Debug, Clone)]
pub(super) struct Path(Vec<String>);

impl Path {
    pub(super) fn new(steps: &[&str]) -> Self {
        Self(steps.iter().map(ToString::to_string).collect())
    }

    /// One key further.
    pub(super) fn to(&self, key: &str) -> Self {
        let mut longer = self.clone();
        longer.0.push(key.to_owned());
        longer
    }

    /// An entry of a list, counted from 0.
    pub(super) fn at(&self, place: usize) -> Self {
        self.to(&place.to_string())
    }

    pub(super) fn steps(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// As messages name it; the root has the name given.
    pub(super) fn shown(&self, root: &str) -> String {
        if self.0.is_empty() {
            root.to_owned()
        } else {
            shown(&self.steps())
        }
    }
}

//! The path from the root of a tree to a part of it, with its places in lists.

use crate::check::path_text;

/// Keys, and places in lists from 0, in digits.
#[derive(Debug, Clone)]
pub(crate) struct Path(Vec<String>);

impl Path {
    pub(crate) fn new(steps: &[&str]) -> Self {
        Self(steps.iter().map(ToString::to_string).collect())
    }

    /// One key further.
    pub(crate) fn child(&self, key: &str) -> Self {
        let mut longer = self.clone();
        longer.0.push(key.to_owned());
        longer
    }

    /// An entry of a list, counted from 0.
    pub(crate) fn entry(&self, place: usize) -> Self {
        self.child(&place.to_string())
    }

    pub(crate) fn steps(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// As messages name it; the root has the name given.
    pub(crate) fn to_text(&self, root: &str) -> String {
        if self.0.is_empty() {
            root.to_owned()
        } else {
            path_text(&self.steps())
        }
    }
}

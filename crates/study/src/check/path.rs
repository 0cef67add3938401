//! The path from the root of a tree to one of its nodes.

use crate::check::path_text;

/// Keys, and indices in lists (from 0, in digits).
#[derive(Debug, Clone)]
pub(crate) struct Path(Vec<String>);

impl Path {
    pub(crate) fn new(steps: &[&str]) -> Self {
        Self(steps.iter().map(ToString::to_string).collect())
    }

    /// The path of a key below this one.
    pub(crate) fn child(&self, key: &str) -> Self {
        let mut longer = self.clone();
        longer.0.push(key.to_owned());
        longer
    }

    /// An entry of a list, counted from 0.
    pub(crate) fn entry(&self, index: usize) -> Self {
        self.child(&index.to_string())
    }

    pub(crate) fn steps(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// The path as messages show it; `root` is the name of the root.
    pub(crate) fn to_text(&self, root: &str) -> String {
        if self.0.is_empty() {
            root.to_owned()
        } else {
            path_text(&self.steps())
        }
    }
}

//! Levels that are compared along scaling curves.

/// Two levels of a factor; the second is compared with the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub factor: String,
    /// As cells have them.
    pub levels: [String; 2],
}

//! What a study asks of its scaling curves.

use crate::Threshold;

/// Bounds that curves may cross, and levels that are compared along them.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Nothing is judged by them; none asks for equality.
    pub bounds: Vec<Threshold>,
    pub pairs: Vec<Pair>,
}

/// Two levels of a factor; the second is compared with the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub factor: String,
    /// As cells have them.
    pub levels: [String; 2],
}

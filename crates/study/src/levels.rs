//! The levels of a cell.

use crate::{Level, mistake::Position};

/// One level for each factor, with its position; then the derived levels.
pub(crate) type Levels = Vec<(String, Level, Position)>;

//! Rows of values, and who takes which.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which row of a feed a session takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedOrder {
    /// The next one, and after the last the first again. Of n workers, worker w takes rows w, w + n, w + 2n and so on.
    Cycle,
    /// A random one, uniformly distributed.
    Random,
    /// A random one: the first row most often, row k, counted from 1, with a weight of 1 ÷ k^skew. The skew is above 0.
    Zipf { skew: f64 },
    /// The next one of the worker's part, each row once in the whole run. A worker without rows left starts no more sessions.
    Once,
    /// A random one, the last row most often: `Zipf`, counted from the end.
    Recent { skew: f64 },
    /// The row of the user: user number n has row n in all of its sessions. There must be at least as many rows as users.
    PerUser,
}

impl fmt::Display for FeedOrder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Cycle => "cycle",
            Self::Random => "random",
            Self::Once => "once",
            Self::PerUser => "per user",
            Self::Zipf { .. } => "by Zipf",
            Self::Recent { .. } => "recent first",
        })
    }
}

/// Rows that are made from their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedRows {
    /// At least 1.
    pub count: usize,
    pub seed: u64,
    /// At least one, each with its name.
    pub columns: Vec<(String, RowValue)>,
}

/// How a value of a row is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowValue {
    /// The texts with the number of the row, counted from 1, between them.
    Numbered(Vec<String>),
    /// A random number from the first to the second.
    Integer { min: i64, max: i64 },
    /// So many random letters and digits.
    Text { min: usize, max: usize },
    /// A random one of these, by weight; the sum of the weights is at least 1.
    Choice(Vec<(String, u32)>),
}

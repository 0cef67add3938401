//! Closed sets of the files: each value has one word on disk, and a word that is not one of them is refused.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What decides when the next request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadModel {
    /// An answer makes room for the next request.
    Closed,
    /// Requests fall due at a rate.
    Open,
    /// Users think between an answer and the next request.
    Users,
    /// Clients send a number of requests each and end.
    Clients,
}

impl LoadModel {
    /// Which number is the level of such a load.
    #[must_use]
    pub fn level_kind(self) -> LevelKind {
        match self {
            Self::Closed | Self::Clients => LevelKind::Connections,
            Self::Open => LevelKind::Rate,
            Self::Users => LevelKind::Users,
        }
    }
}

/// How the requests of an open load are spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    #[default]
    Poisson,
    Uniform,
}

/// The number that is the level of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelKind {
    /// Requests, or sessions, per second.
    Rate,
    Users,
    Connections,
}

impl fmt::Display for LevelKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Rate => "rate",
            Self::Users => "users",
            Self::Connections => "connections",
        })
    }
}

/// The order of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialOrder {
    Shuffled,
    AsListed,
}

/// How often the system is restarted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    #[default]
    EveryTrial,
    /// It is kept up over the trials of a cell.
    EveryCell,
}

/// The verdict that a cell is expected to have, if not `valid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedVerdict {
    Unsteady,
    Overloaded,
    InstrumentLimited,
    Incomplete,
    Inconsistent,
    Failed,
}

/// The order in which sessions take the rows of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedOrder {
    Cycle,
    Random,
    Once,
    PerUser,
    Zipf,
    Recent,
}

impl fmt::Display for FeedOrder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Cycle => "cycle",
            Self::Random => "random",
            Self::Once => "once",
            Self::PerUser => "per user",
            Self::Zipf => "by Zipf",
            Self::Recent => "recent first",
        })
    }
}

/// How a condition compares a number with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    LessOrEqual,
    #[serde(rename = ">")]
    Greater,
    #[serde(rename = ">=")]
    GreaterOrEqual,
    #[serde(rename = "==")]
    Equal,
}

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
        })
    }
}

impl Comparison {
    /// Whether the comparison holds.
    #[must_use]
    pub fn holds(self, number: f64, limit: f64) -> bool {
        match self {
            Self::Less => number < limit,
            Self::LessOrEqual => number <= limit,
            Self::Greater => number > limit,
            Self::GreaterOrEqual => number >= limit,
            #[expect(
                clippy::float_cmp,
                reason = "equality is asked of counts, which are integers and exact"
            )]
            Self::Equal => number == limit,
        }
    }

    /// Whether the limit is the highest that holds, or the first that does not.
    #[must_use]
    pub fn is_upper_bound(self) -> bool {
        match self {
            Self::Less | Self::LessOrEqual => true,
            Self::Greater | Self::GreaterOrEqual | Self::Equal => false,
        }
    }
}

//! What a fault does to a component.

use serde::{Deserialize, Serialize};

/// What is done to a component in mid-trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A replica ends at once, and is restarted.
    #[default]
    Kill,
    /// The replicas are replaced by those of another version, one after the other.
    Upgrade,
    /// A replica's node is cordoned, and the system's pods have to leave it.
    Drain,
}

impl FaultKind {
    pub const ALL: [Self; 3] = [Self::Kill, Self::Upgrade, Self::Drain];

    /// As studies and files name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Upgrade => "upgrade",
            Self::Drain => "drain",
        }
    }
}

/// What a fault is of: a replica (`orders-0`), or the whole component.
#[must_use]
pub fn fault_target(component: &str, replica: Option<u32>) -> String {
    match replica {
        Some(replica) => format!("{component}-{replica}"),
        None => component.to_owned(),
    }
}

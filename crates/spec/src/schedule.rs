//! The phases of a trial, and the order of trials.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::seconds;

/// The order of trials within each repetition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrialOrder {
    /// At random, by the seed.
    #[default]
    Shuffled,
    /// As the file lists them.
    AsListed,
}

/// How often the system is started from scratch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// For every trial.
    #[default]
    EveryTrial,
    /// For every cell: its trials follow one another on the same processes and their files. After a trial that failed or left
    /// records behind, the system is restarted nevertheless.
    EveryCell,
}

/// A level before the load's own one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RampUp {
    /// Requests per second if the load is open, else users; more than 0. A lower load does not change.
    pub level: f64,
    /// Whole intervals, less than the warm-up.
    #[serde(rename = "duration_s", with = "seconds")]
    pub duration: Duration,
}

/// What ends the warm-up before its time is up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum WarmUpUntil {
    #[default]
    Steady,
    /// Nothing; it has a fixed length.
    Duration,
    /// The answers to this many requests.
    Requests(u64),
}

/// Its two keys in `run.json`.
#[derive(Serialize, Deserialize)]
struct Written {
    warm_up_until: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warm_up_requests: Option<u64>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Steady,
    Duration,
    Requests,
}

/// The two keys contradict each other.
#[derive(Debug, thiserror::Error)]
#[error("warm_up_requests is there if and only if warm_up_until is \"requests\"")]
struct Contradiction;

impl TryFrom<Written> for WarmUpUntil {
    type Error = Contradiction;

    fn try_from(written: Written) -> Result<Self, Contradiction> {
        match (written.warm_up_until, written.warm_up_requests) {
            (Word::Steady, None) => Ok(Self::Steady),
            (Word::Duration, None) => Ok(Self::Duration),
            (Word::Requests, Some(requests)) => Ok(Self::Requests(requests)),
            (Word::Steady | Word::Duration, Some(_)) | (Word::Requests, None) => Err(Contradiction),
        }
    }
}

impl From<WarmUpUntil> for Written {
    fn from(until: WarmUpUntil) -> Self {
        let (warm_up_until, warm_up_requests) = match until {
            WarmUpUntil::Steady => (Word::Steady, None),
            WarmUpUntil::Duration => (Word::Duration, None),
            WarmUpUntil::Requests(requests) => (Word::Requests, Some(requests)),
        };
        Self {
            warm_up_until,
            warm_up_requests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WarmUpUntil;

    #[test]
    fn it_is_a_word_and_a_number() {
        let check = |until: WarmUpUntil, json: &str| {
            assert_eq!(serde_json::to_string(&until).unwrap(), json);
            assert_eq!(serde_json::from_str::<WarmUpUntil>(json).unwrap(), until);
        };
        check(WarmUpUntil::Steady, r#"{"warm_up_until":"steady"}"#);
        check(WarmUpUntil::Duration, r#"{"warm_up_until":"duration"}"#);
        check(
            WarmUpUntil::Requests(7),
            r#"{"warm_up_until":"requests","warm_up_requests":7}"#,
        );
        for wrong in [
            r#"{"warm_up_until":"requests"}"#,
            r#"{"warm_up_until":"steady","warm_up_requests":7}"#,
            r#"{"warm_up_until":"soon"}"#,
        ] {
            assert!(
                serde_json::from_str::<WarmUpUntil>(wrong).is_err(),
                "{wrong}"
            );
        }
    }
}

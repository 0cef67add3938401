//! What a checked system needs besides its processes, and the conditions under which a part of it exists.

use std::{collections::BTreeMap, time::Duration};

use crate::{Expect, Level};

/// In which configurations something exists: each of these parameters has one of the levels; empty: in all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct When(pub Vec<(String, Vec<Level>)>);

impl When {
    /// Whether it exists if parameters have these levels.
    #[must_use]
    pub fn holds(&self, parameters: &BTreeMap<String, Level>) -> bool {
        self.0.iter().all(|(name, levels)| {
            parameters
                .get(name)
                .is_some_and(|level| contains(levels, level))
        })
    }

    /// The condition that both hold.
    pub(crate) fn intersect(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&other.0).cloned().collect())
    }

    /// Whether it holds in every configuration in which `other` holds.
    pub(crate) fn follows_from(&self, other: &Self) -> bool {
        (self.0.iter()).all(|(name, levels)| other.narrows(name, levels))
    }

    /// Whether a parameter has only levels of these where it holds.
    fn narrows(&self, name: &str, levels: &[Level]) -> bool {
        let mut conditions = self.0.iter().filter(|(known, _)| known == name);
        conditions.any(|(_, narrower)| narrower.iter().all(|level| contains(levels, level)))
    }
}

impl std::fmt::Display for When {
    /// `backend is kafka and writer is telegraf or sink`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (name, levels)) in self.0.iter().enumerate() {
            let and = if index == 0 { "" } else { " and " };
            let levels: Vec<String> = levels.iter().map(ToString::to_string).collect();
            write!(f, "{and}{name} is {}", levels.join(" or "))?;
        }
        Ok(())
    }
}

/// Levels are compared as they are written.
fn contains(levels: &[Level], level: &Level) -> bool {
    let written = level.to_string();
    levels.iter().any(|known| known.to_string() == written)
}

/// A program, or several, that is fetched if it is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub name: String,
    pub version: String,
    /// The programs of it that components run, by `${program.NAME}`.
    pub programs: Vec<String>,
    /// A script, relative to the system's folder: called with the version and a folder, it puts them into the folder's `bin`.
    pub fetch: String,
    /// Programs that the script or the artifact needs.
    pub requires: Vec<String>,
    /// Variables that the script has from waggle's environment.
    pub environment_from: Vec<String>,
    /// What else to know before it is fetched.
    pub note: Option<String>,
}

/// Words of a command in some configurations.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    pub when: When,
    pub add: Vec<String>,
}

/// A request made once, unless [`Self::retry_on`] says otherwise, to the first replica of a component, before the components that depend
/// on it start.
#[derive(Debug, Clone, PartialEq)]
pub struct SetupStep {
    pub name: String,
    pub when: When,
    pub port: String,
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub expect: Expect,
    /// Names of secrets in the answer, each with its JSONPath.
    pub captures: Vec<(String, String)>,
    /// Statuses after which the request is sent again.
    pub retry_on: Vec<u16>,
    pub timeout: Duration,
    /// `None`: nothing of it remains when the component is gone.
    pub undo: Option<Undo>,
}

/// A request that removes what a setup step has made in a component that runs already. Its texts may have parameters and
/// `${secret.NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// The request is repeated until it is answered with one of these.
    pub status: Vec<u16>,
    /// How long that may take.
    pub timeout: Duration,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::When;
    use crate::Level;

    fn when_conditions(conditions: &[(&str, &[&str])]) -> When {
        let level = |text: &&str| Level::Text((*text).to_owned());
        When(
            conditions
                .iter()
                .map(|(name, levels)| ((*name).to_owned(), levels.iter().map(level).collect()))
                .collect(),
        )
    }

    #[test]
    fn every_parameter_has_one_of_its_levels() {
        let check = |conditions: &[(&str, &[&str])], expected: bool| {
            let parameters = BTreeMap::from([
                ("backend".to_owned(), Level::Text("kafka".to_owned())),
                ("workers".to_owned(), Level::Integer(2)),
            ]);
            assert_eq!(when_conditions(conditions).holds(&parameters), expected);
        };
        check(&[], true);
        check(&[("backend", &["kafka"])], true);
        check(&[("backend", &["embedded", "kafka"])], true);
        check(&[("backend", &["embedded"])], false);
        check(&[("backend", &["kafka"]), ("workers", &["2"])], true);
        check(&[("backend", &["kafka"]), ("workers", &["1"])], false);
        check(&[("other", &["kafka"])], false);
    }

    #[test]
    fn one_follows_from_another() {
        let check = |conditions: &[(&str, &[&str])], from: &[(&str, &[&str])], expected: bool| {
            assert_eq!(
                when_conditions(conditions).follows_from(&when_conditions(from)),
                expected
            );
        };
        check(&[], &[], true);
        check(&[("a", &["1"])], &[], false);
        check(&[], &[("a", &["1"])], true);
        check(&[("a", &["1", "2"])], &[("a", &["1"])], true);
        check(&[("a", &["1"])], &[("a", &["1", "2"])], false);
        check(&[("a", &["1"])], &[("a", &["1", "2"]), ("a", &["1"])], true);
        check(&[("a", &["1"]), ("b", &["x"])], &[("a", &["1"])], false);
    }
}

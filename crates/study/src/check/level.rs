//! A second level of the load, next to the load's own: that of the ramp-up or of the recovery.

use waggle_spec::LoadModel;

use super::{Checker, path_text};
use crate::{mistake::Finding, raw};

/// A level that a part of the study gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct GivenLevel<'a> {
    /// Path of that part.
    pub path: &'a [&'a str],
    pub rate: Option<raw::Rate>,
    pub users: Option<u32>,
    /// What the part does to the load; follows the path in messages.
    pub does: &'a str,
}

impl GivenLevel<'_> {
    /// The given level in the unit of the load model, and the load's own level.
    pub(super) fn level(self, checker: &mut Checker<'_>, load: &LoadModel) -> Option<(f64, f64)> {
        let rate = self.rate.map(|raw::Rate(per_s)| per_s);
        let users = self.users.map(f64::from);
        let path = path_text(self.path);
        let (name, level, load_level, foreign, example) = match load {
            LoadModel::Closed { .. } | LoadModel::Clients { .. } => {
                let name = match load {
                    LoadModel::Closed { .. } => "a closed load",
                    _ => "a load of clients",
                };
                let what = format!("{path} {}, and {name} has one level", self.does);
                let position = checker.key(self.path);
                checker
                    .report(Finding::new(position, what).with_expected("load.model open or users"));
                return None;
            }
            LoadModel::Open { rate_per_s, .. } => {
                let foreign = users.map(|_| "users");
                ("rate", rate, *rate_per_s, foreign, "rate: 100/s")
            }
            LoadModel::Users { users: all, .. } => {
                let foreign = rate.map(|_| "rate");
                ("users", users, f64::from(*all), foreign, "users: 50")
            }
        };
        if let Some(foreign) = foreign {
            let what = format!("{path}.{foreign} is of another load.model than this one");
            let position = checker.key(&self.key(foreign));
            checker.report(Finding::new(position, what).with_expected(name));
        }
        let Some(level) = level else {
            if !checker.is_invalid(&self.key(name)) && foreign.is_none() {
                let what = format!("{path} {} and has no level", self.does);
                checker.report(Finding::new(checker.key(self.path), what).with_expected(example));
            }
            return None;
        };
        if level <= 0.0 {
            let what = format!("{path}.{name} is {level}");
            let position = checker.position_of(&self.key(name));
            checker.report(Finding::new(position, what).with_expected("more than 0"));
            return None;
        }
        Some((level, load_level))
    }

    /// Reports a level above the load's own.
    pub(super) fn refuse_above_load(
        self,
        checker: &mut Checker<'_>,
        load: &LoadModel,
        (level, highest): (f64, f64),
    ) {
        if level <= highest {
            return;
        }
        let (name, unit) = match load {
            LoadModel::Open { .. } => ("rate", " per second"),
            LoadModel::Closed { .. } | LoadModel::Users { .. } | LoadModel::Clients { .. } => {
                ("users", "")
            }
        };
        let what = format!("{}.{name} is {level}{unit}", path_text(self.path));
        let expected = format!("more than 0 and at most load.{name}, {highest}{unit}");
        checker.report(
            Finding::new(checker.position_of(&self.key(name)), what).with_expected(expected),
        );
    }

    fn key<'k>(&'k self, name: &'k str) -> Vec<&'k str> {
        self.path.iter().copied().chain([name]).collect()
    }
}

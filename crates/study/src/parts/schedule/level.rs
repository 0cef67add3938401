//! A second level of the load, next to the load's own: that of the ramp-up or of the recovery.

use waggle_spec::LoadModel;

use crate::{
    at::{Key, Place},
    check::Checker,
    raw::Rate,
};

/// The keys by which a part of the schedule sets a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct LevelKeys<'a> {
    /// Of that part.
    pub place: &'a Place,
    pub rate: &'a Key<Rate>,
    pub users: &'a Key<u32>,
    /// What the part does to the load; follows the path in messages.
    pub does: &'a str,
}

/// A level in the unit of the load model.
#[derive(Debug, Clone, Copy)]
pub(super) struct SetLevel<'a> {
    place: &'a Place,
    pub level: f64,
    /// The level of the load itself, and its key.
    load_level: f64,
    key: &'static str,
}

impl<'a> LevelKeys<'a> {
    pub(super) fn level(self, checker: &mut Checker<'_>, load: &LoadModel) -> Option<SetLevel<'a>> {
        let rate = self.rate.content();
        let rate = rate.map(|rate| (&rate.place, rate.value.0));
        let users = self.users.content();
        let users = users.map(|users| (&users.place, f64::from(users.value)));
        let (key, level, is_invalid, load_level, foreign, example) = match load {
            LoadModel::Closed { .. } => return self.refuse(checker, "a closed load"),
            LoadModel::Clients { .. } => return self.refuse(checker, "a load of clients"),
            LoadModel::Open { rate_per_s, .. } => {
                let is_invalid = self.rate.is_invalid();
                ("rate", rate, is_invalid, *rate_per_s, users, "rate: 100/s")
            }
            LoadModel::Users { users: all, .. } => {
                let is_invalid = self.users.is_invalid();
                let all = f64::from(*all);
                ("users", users, is_invalid, all, rate, "users: 50")
            }
        };
        if let Some((place, _)) = foreign {
            let mistake = place.key_mistake("is of another load.model than this one");
            checker.report(mistake.with_expected(key));
        }
        let Some((place, level)) = level else {
            if !is_invalid && foreign.is_none() {
                let what = format!("{} and has no level", self.does);
                checker.report(self.place.key_mistake(what).with_expected(example));
            }
            return None;
        };
        if level <= 0.0 {
            let mistake = place.mistake(format!("is {level}"));
            checker.report(mistake.with_expected("more than 0"));
            return None;
        }
        Some(SetLevel {
            place,
            level,
            load_level,
            key,
        })
    }

    /// Reports the part in a study whose load cannot change its level.
    fn refuse<T>(self, checker: &mut Checker<'_>, load: &str) -> Option<T> {
        let what = format!("{}, and {load} has one level", self.does);
        let mistake = self.place.key_mistake(what);
        checker.report(mistake.with_expected("load.model open or users"));
        None
    }
}

impl SetLevel<'_> {
    /// Reports a level above the load's own.
    pub(super) fn refuse_above_load(self, checker: &mut Checker<'_>) {
        let (level, key, highest) = (self.level, self.key, self.load_level);
        if level > highest {
            let unit = if key == "rate" { " per second" } else { "" };
            let mistake = self.place.mistake(format!("is {level}{unit}"));
            let expected = format!("more than 0 and at most load.{key}, {highest}{unit}");
            checker.report(mistake.with_expected(expected));
        }
    }
}

//! The names that texts of a step use and that its captures take.

use waggle_template::variable::names;

use super::Flows;
use crate::{
    Condition,
    check::{
        path::Path,
        variables::{Known, Written},
    },
    mistake::Finding,
    scenario::{RECORD_KEY, RECORD_TIME},
};

/// Variables of the load that a check may only name where the step sends them: nobody else knows them.
const STAMPS: [&str; 2] = [RECORD_KEY, RECORD_TIME];

/// Names that the load has for itself, and nothing can be captured under.
const OF_THE_LOAD: [&str; 3] = ["session", "user", "round"];

impl Flows<'_, '_> {
    /// Reports what is wrong with the variables of a text; gives the text with a letter in place of each.
    pub(super) fn template(&mut self, text: &str, path: &Path, known: &Known) -> Option<String> {
        let written = Written { text, path };
        self.variables.template(self.checker, written, known)
    }

    /// Reports a stamp in the condition of a check that stands in nothing which the step sends.
    pub(super) fn refuse_unsent(&mut self, condition: &Condition, sent: &[&str], path: &Path) {
        let (text, key) = match condition {
            Condition::Equals(text) => (text, "equals"),
            Condition::Contains(text) => (text, "contains"),
            Condition::Exists | Condition::Matches(_) => return,
        };
        for stamp in STAMPS {
            if names(text, stamp) && !sent.iter().any(|sent| names(sent, stamp)) {
                let what = format!("{{{{{stamp}}}}} is in nothing that this step sends");
                let place = self.checker.position_of(&path.child(key).steps());
                let expected = "a variable that the step's path, headers or body name";
                self.checker
                    .report(Finding::new(place, what).with_expected(expected));
            }
        }
    }

    /// Reports a capture under a name that is not free.
    pub(super) fn refuse_own(&mut self, name: &str, path: &Path) {
        if OF_THE_LOAD.contains(&name) {
            let what = format!("nothing can be captured as {name:?}: the load has that name");
            let place = self.checker.key(&path.steps());
            self.checker
                .report(Finding::new(place, what).with_expected("another name"));
        }
    }
}

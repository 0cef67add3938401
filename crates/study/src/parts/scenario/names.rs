//! The names that texts of a step use and that its captures take.

use waggle_template::variable::names;

use super::{answer::Check, flows::Flows};
use crate::{
    Condition,
    at::{At, Place},
    mistake::Finding,
    parts::request::variables::Known,
    scenario::{RECORD_KEY, RECORD_TIME},
};

/// Variables of the load that a check may name only if the step sends them: their values differ from request to request.
const STAMPS: [&str; 2] = [RECORD_KEY, RECORD_TIME];

/// Names of the load's own variables, under which nothing can be captured.
const OF_THE_LOAD: [&str; 4] = ["session", "user", "round", "offset"];

impl Flows<'_, '_> {
    /// Reports mistakes in the variables of a text; returns the text with a letter in place of each variable.
    pub(super) fn template(&mut self, text: &At<String>, known: &Known) -> Option<String> {
        self.variables.template(self.checker, text, known)
    }

    /// Reports a record variable in the condition of a check if the step does not send it.
    pub(super) fn refuse_unsent(&mut self, condition: &Condition, sent: &[&str], keys: &Check) {
        let (text, place) = match condition {
            Condition::Equals(text) => (text, keys.equals.place()),
            Condition::Contains(text) => (text, keys.contains.place()),
            Condition::Exists | Condition::Matches(_) => return,
        };
        let Some(place) = place else {
            return;
        };
        for stamp in STAMPS {
            if names(text, stamp) && !sent.iter().any(|sent| names(sent, stamp)) {
                let what = format!("{{{{{stamp}}}}} is not in what this step sends");
                let expected = "a variable that the step's path, headers or body name";
                self.checker
                    .report(Finding::new(place.value, what).with_expected(expected));
            }
        }
    }

    /// Reports a capture whose name is one of the load's own.
    pub(super) fn refuse_reserved_capture(&mut self, name: &str, place: &Place) {
        if OF_THE_LOAD.contains(&name) {
            let what =
                format!("nothing can be captured as {name:?}: it is the load's own variable");
            self.checker
                .report(Finding::new(place.key, what).with_expected("another name"));
        }
    }
}

//! Which variables a step may use: what earlier steps of its flow captured, and columns of feeds.

use super::{Flows, feeds::OWN_FIRST, path::Path};
use crate::{
    Condition,
    mistake::Finding,
    nearest::{list, nearest},
    raw,
    scenario::{RECORD_KEY, RECORD_TIME},
    template::{SlipKind, names, variables},
};

/// Variables that the load makes itself. The load is not known here; a test of the program uses each of them.
const OWN: [&str; 4] = ["random.uuid", RECORD_KEY, "record.run", RECORD_TIME];

/// Those of them that a check may only name where the step sends them: nobody else knows them.
const STAMPS: [&str; 2] = [RECORD_KEY, RECORD_TIME];

/// Names that the load has for itself, and nothing can be captured under.
const OF_THE_LOAD: [&str; 3] = ["session", "user", "round"];

/// What is known at a place of a flow.
pub(super) struct Known {
    /// Captured so far.
    captured: Vec<String>,
    /// Captured anywhere in the flow.
    anywhere: Vec<String>,
}

impl Known {
    pub(super) fn new(anywhere: Vec<String>) -> Self {
        Self {
            captured: Vec::new(),
            anywhere,
        }
    }

    pub(super) fn capture(&mut self, variable: &str) {
        self.captured.push(variable.to_owned());
    }
}

/// Every variable that is captured by steps or steps within them.
pub(super) fn captured_below(steps: &[raw::Step]) -> Vec<String> {
    let mut found = Vec::new();
    for step in steps {
        found.extend(step.capture.iter().flatten().map(|(name, _)| name.clone()));
        found.extend(captured_below(step.steps.as_deref().unwrap_or_default()));
    }
    found
}

impl Flows<'_, '_> {
    /// Reports what is wrong with the variables of a text; gives the text with a letter in place of each.
    pub(super) fn template(&mut self, text: &str, path: &Path, known: &Known) -> Option<String> {
        match variables(text) {
            Ok(found) => {
                let mut fine = true;
                for variable in &found {
                    fine &= self.variable(variable.name, path, known);
                }
                fine.then(|| crate::template::without_variables(text, &found))
            }
            Err(slip) => {
                let (what, expected) = match slip.what {
                    SlipKind::NotClosed => ("a {{ without its }}".to_owned(), "{{variable}}"),
                    SlipKind::NoName(name) => (
                        format!("{name:?} is no name of a variable"),
                        "letters, digits, - and _ between {{ and }}; {{{{ for two braces",
                    ),
                };
                let place = self.checker.at(&path.steps());
                self.checker
                    .report(Finding::new(place, what).expected(expected));
                None
            }
        }
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
                let place = self.checker.at(&path.to(key).steps());
                let expected = "a variable that the step's path, headers or body name";
                self.checker
                    .report(Finding::new(place, what).expected(expected));
            }
        }
    }

    /// Reports a capture under a name that is not free.
    pub(super) fn refuse_own(&mut self, name: &str, path: &Path) {
        if OF_THE_LOAD.contains(&name) {
            let what = format!("nothing can be captured as {name:?}: the load has that name");
            let place = self.checker.key(&path.steps());
            self.checker
                .report(Finding::new(place, what).expected("another name"));
        }
    }

    /// Whether a variable has a value here; reports it where not.
    fn variable(&mut self, name: &str, path: &Path, known: &Known) -> bool {
        let place = self.checker.at(&path.steps());
        let finding = match name.split_once('.') {
            _ if OWN.contains(&name) => None,
            Some((feed, column)) => {
                self.feeds_used.insert(feed.to_owned());
                self.column(feed, column)
            }
            None if known.captured.iter().any(|captured| captured == name) => None,
            None if known.anywhere.iter().any(|captured| captured == name) => Some((
                format!("variable {name:?} is captured only later in this flow"),
                "a step that captures it before".to_owned(),
                None,
            )),
            None => Some(self.unknown(name, known)),
        };
        let Some((what, expected, meant)) = finding else {
            return true;
        };
        self.checker
            .report(Finding::new(place, what).expected(expected).meant(meant));
        false
    }

    fn unknown(&self, name: &str, known: &Known) -> (String, String, Option<String>) {
        let names: Vec<String> = known
            .captured
            .iter()
            .cloned()
            .chain(self.feeds.iter().flat_map(|feed| {
                let columns = feed.table.iter().flat_map(|table| &table.columns);
                columns.map(|column| format!("{}.{column}", feed.name))
            }))
            .collect();
        let words = || names.iter().map(String::as_str);
        let expected = if names.is_empty() {
            "a variable that an earlier step of this flow captures".to_owned()
        } else {
            list(words())
        };
        // A feed's column whose feed was left out is near enough.
        let of_feed = words().find(|word| {
            word.split_once('.')
                .is_some_and(|(_, column)| column == name)
        });
        let meant = nearest(name, words()).or(of_feed).map(str::to_owned);
        let what = format!("there is no variable {name:?} here");
        (what, expected, meant)
    }

    /// What is wrong with a feed's column, if anything is.
    fn column(&self, feed: &str, column: &str) -> Option<(String, String, Option<String>)> {
        let Some(known) = self.feeds.iter().find(|known| known.name == feed) else {
            if OWN_FIRST.contains(&feed) {
                let what = format!("there is no variable {:?}", format!("{feed}.{column}"));
                let like_it = || OWN.into_iter().filter(|own| own.starts_with(feed));
                return Some((
                    what,
                    list(like_it()),
                    nearest(&format!("{feed}.{column}"), like_it()).map(str::to_owned),
                ));
            }
            let names = || {
                let names = self.feeds.iter().map(|feed| feed.name.as_str());
                names.filter(|name| !name.is_empty())
            };
            let expected = if names().next().is_none() {
                "a name from feeds; there are none".to_owned()
            } else {
                list(names())
            };
            let meant = nearest(feed, names()).map(|feed| format!("{feed}.{column}"));
            return Some((format!("there is no feed {feed:?}"), expected, meant));
        };
        // One whose rows could not be read was reported.
        let columns = || {
            known
                .table
                .iter()
                .flat_map(|table| &table.columns)
                .map(String::as_str)
        };
        if known.table.is_none() || columns().any(|known| known == column) {
            return None;
        }
        let meant = nearest(column, columns()).map(|column| format!("{feed}.{column}"));
        Some((
            format!("feed {feed} has no column {column:?}"),
            list(columns()),
            meant,
        ))
    }
}

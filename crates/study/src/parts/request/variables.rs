//! Which variables a text may use: columns of feeds, the load's own, and in a scenario what earlier steps captured.

use std::collections::HashSet;

use waggle_template::variable::{SlipKind, variables, without_variables};

use super::feeds::{NamedFeed, OWN_FIRST};
use crate::{
    FeedRows,
    at::At,
    check::Checker,
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    raw,
    scenario::{RECORD_KEY, RECORD_TIME},
};

/// Variables that the load makes itself. The load is not known here; a test of the program uses each of them.
const OWN: [&str; 4] = ["random.uuid", RECORD_KEY, "record.run", RECORD_TIME];

/// The number of the session in the load, counted from 1.
const SESSION: &str = "session";
/// The number of the round, counted from 1; for steps within a repetition.
const ROUND: &str = "round";
/// How many elements of a list the rounds before have passed; for steps within a repetition that has `offset_step`.
const OFFSET: &str = "offset";

/// The captures that are known at a step of a flow; none for a single request.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Captured so far.
    captured: Vec<String>,
    /// Captured anywhere in the flow.
    anywhere: Vec<String>,
    /// The repetitions that the step is in: whether each has an offset.
    repetitions: Vec<bool>,
}

impl Known {
    pub(crate) fn new(anywhere: Vec<String>) -> Self {
        Self {
            captured: Vec::new(),
            anywhere,
            repetitions: Vec::new(),
        }
    }

    pub(crate) fn enter_repetition(&mut self, has_offset: bool) {
        self.repetitions.push(has_offset);
    }

    pub(crate) fn leave_repetition(&mut self) {
        self.repetitions.pop();
    }

    pub(crate) fn capture(&mut self, variable: &str) {
        self.captured.push(variable.to_owned());
    }
}

/// What texts can name besides columns of feeds and the load's own variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// What earlier steps of the flow captured.
    Captures,
    /// Nothing: the text belongs to a single request.
    Nothing,
}

/// The feeds whose columns texts can name, and those that were named.
pub(crate) struct Variables<'a> {
    feeds: &'a [NamedFeed<'a>],
    named: Named,
    feeds_used: HashSet<String>,
}

impl<'a> Variables<'a> {
    pub(crate) fn new(feeds: &'a [NamedFeed<'a>], named: Named) -> Self {
        Self {
            feeds,
            named,
            feeds_used: HashSet::new(),
        }
    }

    /// Reports the feeds that no text names; for use after all texts.
    pub(crate) fn refuse_unused(&self, checker: &mut Checker<'_>) {
        let part = match self.named {
            Named::Captures => "a step",
            Named::Nothing => "the path, a header or the body",
        };
        for feed in self.feeds {
            let Some(At { place, value }) = feed.keys.name.content() else {
                continue;
            };
            let raw::Name(name) = value;
            if !self.feeds_used.contains(name) {
                let what = format!("feed {name} is used nowhere");
                let columns = feed.rows.as_ref().map(FeedRows::columns);
                let column = columns.and_then(|columns| columns.first().copied());
                let column = column.unwrap_or("column");
                let expected = format!("{{{{{name}.{column}}}}} in {part}");
                checker.report(Finding::new(place.value, what).with_expected(expected));
            }
        }
    }

    /// Reports mistakes in the variables of a text; returns the text with a letter in place of each variable.
    pub(crate) fn template(
        &mut self,
        checker: &mut Checker<'_>,
        At { place, value: text }: &At<String>,
        known: &Known,
    ) -> Option<String> {
        match variables(text) {
            Ok(names) => {
                let mut fine = true;
                for name in names {
                    if let Some(mistake) = self.mistake(place.value, name, known) {
                        checker.report(mistake);
                        fine = false;
                    }
                }
                without_variables(text).filter(|_| fine)
            }
            Err(slip) => {
                let (what, expected) = match slip.kind {
                    SlipKind::NotClosed => ("a {{ without its }}".to_owned(), "{{variable}}"),
                    SlipKind::NoName(name) => (
                        format!("{name:?} is no name of a variable"),
                        "letters, digits, - and _ between {{ and }}; {{{{ for two braces",
                    ),
                };
                checker.report(Finding::new(place.value, what).with_expected(expected));
                None
            }
        }
    }

    /// The mistake in a variable that has no value here.
    fn mistake(&mut self, position: Position, name: &str, known: &Known) -> Option<Finding> {
        let mistake = match name.split_once('.') {
            _ if OWN.contains(&name) => None,
            _ if self.named == Named::Captures && name == SESSION => None,
            _ if !known.repetitions.is_empty() && name == ROUND => None,
            _ if known.repetitions.contains(&true) && name == OFFSET => None,
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
        let (what, expected, meant) = mistake?;
        let finding = Finding::new(position, what).with_expected(expected);
        Some(finding.with_suggestion(meant))
    }

    fn unknown(&self, name: &str, known: &Known) -> (String, String, Option<String>) {
        let mut names: Vec<String> = Vec::new();
        let all = known
            .captured
            .iter()
            .cloned()
            .chain(self.feeds.iter().flat_map(|feed| {
                let columns = feed.rows.iter().flat_map(FeedRows::columns);
                columns.map(|column| format!("{}.{column}", feed.name()))
            }));
        // Several steps may capture the same name.
        for name in all {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let words = || names.iter().map(String::as_str);
        let expected = match self.named {
            _ if !names.is_empty() => list(words()),
            Named::Captures => "a variable that an earlier step of this flow captures".to_owned(),
            Named::Nothing => "{{feed.column}} of one of its feeds".to_owned(),
        };
        // A column without its feed: the full name is suggested.
        let of_feed = words().find(|word| {
            word.split_once('.')
                .is_some_and(|(_, column)| column == name)
        });
        let meant = nearest_word(name, words()).or(of_feed).map(str::to_owned);
        let what = format!("there is no variable {name:?} here");
        (what, expected, meant)
    }

    /// The mistake in the name of a feed's column, if it has one.
    fn column(&self, feed: &str, column: &str) -> Option<(String, String, Option<String>)> {
        let Some(known) = self.feeds.iter().find(|known| known.name() == feed) else {
            if OWN_FIRST.contains(&feed) {
                let what = format!("there is no variable {:?}", format!("{feed}.{column}"));
                let like_it = || {
                    OWN.into_iter()
                        .filter(|variable| variable.starts_with(feed))
                };
                return Some((
                    what,
                    list(like_it()),
                    nearest_word(&format!("{feed}.{column}"), like_it()).map(str::to_owned),
                ));
            }
            let names = || {
                let names = self.feeds.iter().map(NamedFeed::name);
                names.filter(|name| !name.is_empty())
            };
            let expected = if names().next().is_none() {
                "a name from feeds; there are none".to_owned()
            } else {
                list(names())
            };
            let meant = nearest_word(feed, names()).map(|feed| format!("{feed}.{column}"));
            return Some((format!("there is no feed {feed:?}"), expected, meant));
        };
        // A feed whose rows could not be read was reported.
        let columns = || known.rows.iter().flat_map(FeedRows::columns);
        if known.rows.is_none() || columns().any(|known| known == column) {
            return None;
        }
        let meant = nearest_word(column, columns()).map(|column| format!("{feed}.{column}"));
        Some((
            format!("feed {feed} has no column {column:?}"),
            list(columns()),
            meant,
        ))
    }
}

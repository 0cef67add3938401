//! The checked scenario: names looked up, every `${factor}` replaced, the feeds' rows read.

use std::{sync::Arc, time::Duration};

use waggle_spec::{FeedOrder, GeneratedRows, OnFailure, Think};
use waggle_template::variable::names;

use crate::Expect;

/// The key of the record that a request carries.
pub(crate) const RECORD_KEY: &str = "record.key";
/// When a request was sent, in nanoseconds since 1970.
pub(crate) const RECORD_TIME: &str = "record.time";

/// What sessions do. Each goes through one flow, drawn by weight, on one connection, with variables and cookies of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// In thresholds and in the report, for all steps together.
    pub name: String,
    /// Names of the steps that send requests, each once, in the order of the file.
    pub steps: Vec<String>,
    pub feeds: Vec<Feed>,
    /// At least one.
    pub flows: Vec<Flow>,
}

/// Rows of values; each session whose flow uses the feed takes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Feed {
    pub name: String,
    pub order: FeedOrder,
    /// The file as it was named; `None`: the rows were in the scenario.
    pub from: Option<String>,
    pub rows: FeedRows,
}

/// Where the rows of a feed come from.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedRows {
    /// Shared by all cells of a study.
    Table(Arc<FeedTable>),
    Made(Arc<GeneratedRows>),
    /// What a load of the preparation keeps.
    Kept(KeptRows),
}

/// Rows that are known when a load of the preparation has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRows {
    /// The name of the load.
    pub load: String,
    /// At least one.
    pub columns: Vec<String>,
    /// How many there will be.
    pub count: usize,
}

impl Scenario {
    /// Whether a session may go on after a request that failed.
    #[must_use]
    pub fn may_continue(&self) -> bool {
        fn has_one(actions: &[Action]) -> bool {
            actions.iter().any(|action| match action {
                Action::Request(step) => step.on_failure == OnFailure::Continue,
                Action::Pause(_) => false,
                Action::Repeat { actions, .. } => has_one(actions),
            })
        }
        self.flows.iter().any(|flow| has_one(&flow.actions))
    }

    /// The names of the variables that its steps capture.
    #[must_use]
    pub fn captured_names(&self) -> Vec<String> {
        fn of_actions(actions: &[Action], names: &mut Vec<String>) {
            for action in actions {
                match action {
                    Action::Request(step) => {
                        let captured = step.captures.iter();
                        names.extend(captured.map(|capture| capture.variable.clone()));
                    }
                    Action::Pause(_) => {}
                    Action::Repeat { actions, .. } => of_actions(actions, names),
                }
            }
        }
        let mut names = Vec::new();
        for flow in &self.flows {
            of_actions(&flow.actions, &mut names);
        }
        names
    }
}

impl FeedRows {
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Table(table) => table.rows.len(),
            Self::Made(rows) => rows.count,
            Self::Kept(rows) => rows.count,
        }
    }

    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Self::Table(table) => table.columns.iter().map(String::as_str).collect(),
            Self::Made(rows) => rows.columns.iter().map(|(name, _)| name.as_str()).collect(),
            Self::Kept(rows) => rows.columns.iter().map(String::as_str).collect(),
        }
    }
}

/// The rows of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedTable {
    /// At least one.
    pub columns: Vec<String>,
    /// Each as long as `columns`; never empty.
    pub rows: Vec<Vec<String>>,
}

/// One way through the system.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    pub name: String,
    /// At least 1.
    pub weight: u32,
    /// At least one request is among them.
    pub actions: Vec<Action>,
}

/// One thing that a session does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Request(Box<Step>),
    Pause(Think),
    Repeat {
        rounds: Rounds,
        /// `{{offset}}` grows by this from round to round; 0: there is none.
        offset_step: u64,
        actions: Vec<Action>,
    },
}

/// How often actions are repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rounds {
    /// At least 1.
    Times(u32),
    While(WhileCaptured),
}

/// A round follows as long as the one before left something in a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhileCaptured {
    pub variable: String,
    /// The variable's value in the first round; may hold variables.
    pub first: String,
    /// At least 1.
    pub max_rounds: u32,
    /// If the last of them left something in the variable.
    pub on_limit: OnFailure,
}

/// A request of a session. Path, values of headers, body and conditions may hold variables, written `{{name}}`; `{{{{` is two
/// braces.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its index in [`Scenario::steps`].
    pub step: usize,
    /// As it is sent, such as `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    /// Empty: none.
    pub body: String,
    pub expect: Expect,
    pub checks: Vec<StepCheck>,
    pub captures: Vec<Capture>,
    pub on_failure: OnFailure,
    pub timeout: Duration,
    /// The names of values from outside in its texts, such as `env.TOKEN`, once they were taken.
    pub from_outside: Vec<String>,
}

/// Puts a part of an answer into a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    pub variable: String,
    pub from: Extractor,
    /// Whether the part may be missing; the variable is empty then.
    pub is_optional: bool,
}

/// How a value is extracted from an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extractor {
    /// A JSONPath.
    Json(String),
    Header(String),
    /// A regular expression and one of its groups, searched in the headers of a name.
    HeaderMatch {
        name: String,
        pattern: String,
        group: usize,
    },
    /// A regular expression and one of its groups, 0 being the whole match.
    Regex {
        pattern: String,
        group: usize,
    },
    Cookie(String),
}

/// A condition on an answer, in addition to [`Step::expect`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepCheck {
    pub part: CheckPart,
    pub holds: Condition,
}

/// What a check looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckPart {
    Status,
    Body,
    Value(Extractor),
}

/// The condition on that part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    Exists,
    Equals(String),
    Contains(String),
    /// A regular expression.
    Matches(String),
}

impl Scenario {
    /// The longest time that an answer is waited for.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let of_flow = |flow: &Flow| longest_timeout(&flow.actions);
        self.flows.iter().map(of_flow).max().unwrap_or_default()
    }

    /// The indices of the steps whose requests carry a record: path, headers or body have the record's key.
    #[must_use]
    pub fn steps_with_record(&self) -> Vec<usize> {
        let mut steps = Vec::new();
        for flow in &self.flows {
            add_steps_with_record(&flow.actions, &mut steps);
        }
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}

impl Step {
    fn carries_record(&self) -> bool {
        let values = self.headers.iter().map(|(_, value)| value);
        let mut texts = values.chain([&self.path, &self.body]);
        texts.any(|text| names(text, RECORD_KEY))
    }
}

fn add_steps_with_record(actions: &[Action], steps: &mut Vec<usize>) {
    for action in actions {
        match action {
            Action::Request(step) if step.carries_record() => steps.push(step.step),
            Action::Repeat { actions, .. } => add_steps_with_record(actions, steps),
            Action::Request(_) | Action::Pause(_) => {}
        }
    }
}

fn longest_timeout(actions: &[Action]) -> Duration {
    let timeout = |action: &Action| match action {
        Action::Request(step) => step.timeout,
        Action::Pause(_) => Duration::ZERO,
        Action::Repeat { actions, .. } => longest_timeout(actions),
    };
    actions.iter().map(timeout).max().unwrap_or_default()
}
